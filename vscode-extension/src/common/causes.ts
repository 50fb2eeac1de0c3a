// From a function to what keeps it from being a graph: the calls that lead there, in the editor's own list of places.

import * as vscode from "vscode";
import type { Ask } from "./commands";

interface Step {
    readonly uri: string;
    readonly range: { readonly start: Point; readonly end: Point };
    readonly message: string;
}

interface Point {
    readonly line: number;
    readonly character: number;
}

interface Way {
    readonly function: string;
    readonly rule: string;
    readonly message: string;
    readonly steps: readonly Step[];
}

/** Shows the way from the function around the cursor; asks which, if several things keep it from being a graph. */
export async function goToCause(ask: Ask): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) {
        return;
    }
    const at = editor.selection.active;
    const ways = ((await ask("causes", editor.document.uri.toString(), at.line + 1)) ?? []) as Way[];
    const way = ways.length > 1 ? await choose(ways) : ways[0];
    if (way === undefined) {
        if (ways.length === 0) {
            void vscode.window.showInformationMessage(vscode.l10n.t("terra-refactor: no known hazard keeps this function from being a graph."));
        }
        return;
    }
    const places = way.steps.map(({ uri, range }) => new vscode.Location(vscode.Uri.parse(uri), rangeOf(range)));
    await vscode.commands.executeCommand("editor.action.goToLocations", editor.document.uri, at, places, "peek", vscode.l10n.t("Nothing to show"));
}

async function choose(ways: readonly Way[]): Promise<Way | undefined> {
    const items = ways.map((way) => ({
        label: way.message,
        description: way.rule,
        detail: way.steps.length > 1 ? way.steps.slice(0, -1).map(({ message }) => message).join(" → ") : "",
        way,
    }));
    const title = vscode.l10n.t("Code that keeps {0} from being a graph", ways[0]?.function ?? "");
    return (await vscode.window.showQuickPick(items, { title, matchOnDetail: true }))?.way;
}

function rangeOf({ start, end }: Step["range"]): vscode.Range {
    return new vscode.Range(start.line, start.character, end.line, end.character);
}
