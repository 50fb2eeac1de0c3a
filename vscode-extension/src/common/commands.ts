// The commands of the palette, and those that the server's actions call in the editor.

import * as vscode from "vscode";
import { goToCause } from "./causes";
import { Effects } from "./effects";
import { GraphCode } from "./graphCode";
import { log } from "./logger";
import { Proposals } from "./proposals";
import { Proving } from "./proving";
import { makeSafeChanges } from "./safeChanges";
import type { ServerHolder } from "./server";

/** Has the server run one of its commands. */
export type Ask = (command: string, ...args: unknown[]) => Promise<unknown>;

export function registerCommands(server: ServerHolder, state: vscode.Memento): vscode.Disposable[] {
    const asking: Ask = (command, ...args) => ask(server, command, ...args);
    const proving = new Proving(asking, state, () => server.interpreter);
    const register = (name: string, run: (...args: never[]) => unknown): vscode.Disposable =>
        vscode.commands.registerCommand(`terra-refactor.${name}`, run);
    const proposals = new Proposals(asking);
    const effects = new Effects(asking);
    const graphCode = new GraphCode(server);
    return [
        proving,
        proposals,
        graphCode,
        register("run.listProposals", async () => {
            await vscode.commands.executeCommand("terra-refactor.proposals.focus");
            await proposals.refresh();
        }),
        register("run.applyProposal", (proposal: Parameters<Proposals["apply"]>[0]) => proposals.apply(proposal)),
        register("run.goToCause", () => goToCause(asking)),
        register("run.showEffects", () => effects.show("from")),
        register("run.showEffectsFrom", () => effects.turn("from")),
        register("run.showEffectsTo", () => effects.turn("to")),
        register("run.toggleGraphCode", () => graphCode.toggle()),
        register("run.proveChange", () => {
            const editor = vscode.window.activeTextEditor;
            return editor && proving.prove(editor.document.uri.toString(), "", editor.selection.active.line + 1);
        }),
        register("proveChange", (uri: string, qualname: string, line: number) => proving.prove(uri, qualname, line)),
        register("restart", () => server.restart(true)),
        register("showLog", () => log.show()),
        register("installServer", () => server.install()),
        register("addPackage", () => server.addPackage()),
        register("run.analyzeWorkspace", async () => {
            await ask(server, "analyzeWorkspace");
            await vscode.commands.executeCommand("workbench.actions.view.problems");
        }),
        register("run.applyAllSafe", async () => {
            await makeSafeChanges(asking);
            await proposals.refreshIfFilled();
        }),
        register("run.clearCache", () => ask(server, "clearCache")),
        register("run.showReport", () => showReport(server)),
        register("suppressWithReason", (uri: string, request: unknown) => suppress(server, uri, request)),
    ];
}

/** Has the server run one of its commands; says so where there is no server. */
async function ask(server: ServerHolder, command: string, ...args: unknown[]): Promise<unknown> {
    if (server.current === undefined) {
        void vscode.window.showWarningMessage(vscode.l10n.t("terra-refactor: the server does not run. See the log."), vscode.l10n.t("Show Log")).then((choice) => {
            if (choice !== undefined) {
                log.show();
            }
        });
        return undefined;
    }
    return vscode.commands.executeCommand(`terra-refactor.${command}`, ...args);
}

async function suppress(server: ServerHolder, uri: string, request: unknown): Promise<void> {
    const reason = await vscode.window.showInputBox({
        title: vscode.l10n.t("Ignore this finding here"),
        prompt: vscode.l10n.t("Why is it no problem? The reason is written into the comment."),
        placeHolder: vscode.l10n.t("shown once on purpose"),
        ignoreFocusOut: true, // a reason that is half written is not thrown away
    });
    if (reason !== undefined) {
        await ask(server, "suppress", uri, request, reason);
    }
}

async function showReport(server: ServerHolder): Promise<void> {
    const page = await ask(server, "writeReport");
    if (typeof page !== "string") {
        return;
    }
    const html = new TextDecoder().decode(await vscode.workspace.fs.readFile(vscode.Uri.parse(page)));
    const panel = vscode.window.createWebviewPanel("terra-refactor.report", vscode.l10n.t("terra-refactor report"), vscode.ViewColumn.Active, {
        enableScripts: true,
        retainContextWhenHidden: true,
    });
    panel.webview.html = html;
}
