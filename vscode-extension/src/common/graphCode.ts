// A line at the left of the code that runs as a graph, where the settings want it. Semantic tokens would replace those of the extension for
// Python, of which the editor takes one set.

import * as vscode from "vscode";
import { SELECTOR, type ServerHolder } from "./server";
import { setting } from "./vscodeapi";
import { SECTION } from "./settings";

const SETTING = "graphCode.show";
const QUIET = 300; // milliseconds without a change of the text
const COLOR = new vscode.ThemeColor("terraRefactor.graphCode");

interface Lines {
    readonly range: { readonly start: { readonly line: number }; readonly end: { readonly line: number } };
    /** Another call runs them outside of graphs. */
    readonly eagerlyToo: boolean;
}

export class GraphCode implements vscode.Disposable {
    private readonly always = bar("solid");
    private readonly eagerlyToo = bar("dashed");
    private readonly watching: vscode.Disposable;
    private timer: NodeJS.Timeout | undefined;

    constructor(private readonly server: ServerHolder) {
        this.watching = vscode.Disposable.from(
            this.always,
            this.eagerlyToo,
            vscode.window.onDidChangeVisibleTextEditors(() => this.soon(0)),
            vscode.workspace.onDidChangeTextDocument(() => this.soon(QUIET)),
            vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration(`${SECTION}.${SETTING}`) && this.soon(0)),
            server.onMayDiffer(() => this.soon(0)),
        );
    }

    dispose(): void {
        clearTimeout(this.timer);
        this.watching.dispose();
    }

    /** Shows the lines, or hides them, from now on. */
    async toggle(): Promise<void> {
        const scope = vscode.window.activeTextEditor?.document.uri;
        const settings = vscode.workspace.getConfiguration(SECTION, scope);
        const inWorkspace = settings.inspect(SETTING)?.workspaceValue !== undefined;
        await settings.update(SETTING, !setting(SETTING, false, scope), inWorkspace ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global);
    }

    private soon(milliseconds: number): void {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => void this.showAll(), milliseconds);
    }

    private async showAll(): Promise<void> {
        const editors = vscode.window.visibleTextEditors.filter(({ document }) => vscode.languages.match(SELECTOR, document) > 0);
        await Promise.all(editors.map((editor) => this.show(editor)));
    }

    private async show(editor: vscode.TextEditor): Promise<void> {
        const { uri, version } = editor.document;
        const found = setting(SETTING, false, uri) ? await this.lines(uri) : [];
        if (editor.document.version === version) {
            const ranges = (eagerly: boolean): vscode.Range[] =>
                found.filter((each) => each.eagerlyToo === eagerly).map(({ range }) => new vscode.Range(range.start.line, 0, range.end.line, 0));
            editor.setDecorations(this.always, ranges(false));
            editor.setDecorations(this.eagerlyToo, ranges(true));
        }
    }

    private async lines(uri: vscode.Uri): Promise<readonly Lines[]> {
        if (this.server.current === undefined) {
            return [];
        }
        try {
            return ((await vscode.commands.executeCommand("terra-refactor.graphCode", uri.toString())) ?? []) as Lines[];
        } catch {
            return []; // the server ends or begins; it says so elsewhere, and the lines are asked for again
        }
    }
}

function bar(style: string): vscode.TextEditorDecorationType {
    return vscode.window.createTextEditorDecorationType({ isWholeLine: true, borderColor: COLOR, borderStyle: style, borderWidth: "0 0 0 2px" });
}
