// A change that is proven before it is made: the server runs the program with and without it, and the comparison is shown.

import * as vscode from "vscode";
import type { Ask } from "./commands";
import { activeInterpreter, choosingCommand } from "./python";
import { askError, openSettings, setting } from "./vscodeapi";

const SCHEME = "terra-refactor-proof";
const AGREED = "terra-refactor.runsCode";
const RUN = vscode.l10n.t("Run It");
const COMPARISON = vscode.l10n.t("Show Comparison");
const ANYWAY = vscode.l10n.t("Apply Anyway");
const REVIEW = vscode.l10n.t("Review and Apply");
const CHOOSE = vscode.l10n.t("Select Interpreter");
const SETTINGS = vscode.l10n.t("Open Settings");
/** The status where no interpreter has TensorFlow; only the sentence is given then. */
const NO_TENSORFLOW = "no TensorFlow";

interface Proof {
    readonly status: string;
    readonly applied: boolean;
    /** The change assumes something: it is made once that has been confirmed. */
    readonly review: boolean;
    readonly sentence: string;
    readonly page: string;
    readonly qualname: string;
    /** The function's name without those in which it is defined. */
    readonly name: string;
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
        /** The interpreter of the settings; empty if none is set. */
        private readonly interpreter: () => string,
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
        const pythons = [await activeInterpreter(scope), this.interpreter()].filter((each) => each !== undefined && each !== "");
        const how = { python: pythons, run: setting("prove.command", "", scope) };
        const proof = (await this.ask("prove", uri, qualname, line, how)) as Proof | null | undefined;
        if (proof === null || proof === undefined) {
            return; // the server has said why, or it was cancelled
        }
        if (proof.status === NO_TENSORFLOW) {
            await chooseInterpreter(proof.sentence);
            return;
        }
        const place = `/${this.pages.size + 1}/${proof.name} with and without the change.md`;
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

/** Says that no interpreter has TensorFlow, and leads to where another one is chosen. */
async function chooseInterpreter(sentence: string): Promise<void> {
    const command = await choosingCommand();
    const choice = await askError(`terra-refactor: ${sentence}`, ...(command === undefined ? [] : [CHOOSE]), SETTINGS);
    if (choice === CHOOSE && command !== undefined) {
        await vscode.commands.executeCommand(command);
    } else if (choice === SETTINGS) {
        await openSettings("@id:terra-refactor.interpreter");
    }
}
