// A change that is proven before it is made: the server runs the program with and without it, and the comparison is shown.

import * as vscode from "vscode";
import type { Ask } from "./commands";
import { activeInterpreter } from "./python";
import { setting } from "./vscodeapi";

const SCHEME = "terra-refactor-proof";
const AGREED = "terra-refactor.runsCode";
const RUN = vscode.l10n.t("Run It");
const COMPARISON = vscode.l10n.t("Show Comparison");
const ANYWAY = vscode.l10n.t("Apply Anyway");
const REVIEW = vscode.l10n.t("Review and Apply");

interface Proof {
    readonly status: string;
    readonly applied: boolean;
    /** The change assumes something: it is made once that has been confirmed. */
    readonly review: boolean;
    readonly sentence: string;
    readonly page: string;
    readonly qualname: string;
    readonly line: number;
}

/** Proves and makes changes; holds the pages that show the last comparisons. */
export class Proving implements vscode.Disposable {
    private readonly pages = new Map<string, string>();
    private readonly provider = vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
        provideTextDocumentContent: ({ path }) => this.pages.get(path) ?? "",
    });

    constructor(
        private readonly ask: Ask,
        private readonly state: vscode.Memento,
    ) {}

    dispose(): void {
        this.provider.dispose();
    }

    /** The change of the innermost function around a line (from 1), or of the one that is named and begins there. */
    async prove(uri: string, qualname: string, line: number): Promise<void> {
        if (!vscode.workspace.isTrusted) {
            void vscode.window.showWarningMessage(vscode.l10n.t("terra-refactor: proving runs the program, and this workspace is not trusted."));
            return;
        }
        if (!(await this.agrees()) || !(await vscode.workspace.saveAll(false))) {
            return;
        }
        const scope = vscode.Uri.parse(uri);
        const how = { python: (await activeInterpreter(scope)) ?? "", run: setting("prove.command", "", scope) };
        const proof = (await this.ask("prove", uri, qualname, line, how)) as Proof | null | undefined;
        if (proof === null || proof === undefined) {
            return; // the server has said why, or it was cancelled
        }
        const place = `/proof ${this.pages.size + 1}.md`;
        this.pages.set(place, proof.page);
        const show = proof.status === "same" ? vscode.window.showInformationMessage : vscode.window.showWarningMessage;
        const made = proof.applied
            ? vscode.l10n.t("The change is made.")
            : proof.review
              ? vscode.l10n.t("Nothing is changed yet: confirm the assumptions of the change.")
              : vscode.l10n.t("Nothing is changed.");
        const further = proof.applied ? [] : [proof.review ? REVIEW : ANYWAY];
        let choice = await show(`${proof.sentence}. ${made}`, COMPARISON, ...further);
        if (choice === COMPARISON) {
            await vscode.commands.executeCommand("markdown.showPreview", vscode.Uri.from({ scheme: SCHEME, path: place }));
            choice = further.length === 0 ? undefined : await show(`${proof.sentence}. ${made}`, ...further);
        }
        if (choice === REVIEW || choice === ANYWAY) {
            await this.ask("applyFunction", uri, proof.qualname, proof.line);
        }
    }

    /** Whether the user lets the program run; asked once for a workspace. */
    private async agrees(): Promise<boolean> {
        if (this.state.get(AGREED) === true) {
            return true;
        }
        const detail = vscode.l10n.t("It runs in copies of the project, with your permissions: effects outside of its folder are real.");
        const answer = await vscode.window.showWarningMessage(vscode.l10n.t("Proving runs the program of this workspace."), { modal: true, detail }, RUN);
        if (answer === RUN) {
            await this.state.update(AGREED, true);
        }
        return answer === RUN;
    }
}
