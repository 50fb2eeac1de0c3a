// The preview of a change to be confirmed: it groups by file at first, which shows no assumptions, and nothing in it is ticked, so that
// *Apply* does nothing. It is made to group by what is assumed, with everything ticked: *Apply* is the confirmation.

import * as vscode from "vscode";

/** The documents that the editor makes for a preview have a scheme of their own. */
const PREVIEW = "vscode-bulkeditpreview";
/** Milliseconds until the preview shows its tree; its commands do not wait for that. */
const SETTLED = 150;

export class Preview implements vscode.Disposable {
    private expected = false;
    private readonly watching = vscode.workspace.onDidOpenTextDocument(({ uri }) => {
        if (this.expected && uri.scheme.startsWith(PREVIEW)) {
            this.expected = false;
            void arrange().catch(() => undefined);
        }
    });

    /** One of our own changes is previewed next. */
    expect(): void {
        this.expected = true;
    }

    dispose(): void {
        this.watching.dispose();
    }
}

async function arrange(): Promise<void> {
    await vscode.commands.executeCommand("refactorPreview.groupByType");
    await settled();
    await vscode.commands.executeCommand("list.focusFirst"); // the entry of the assumptions, with all edits below it
    await vscode.commands.executeCommand("refactorPreview.toggleCheckedState");
}

function settled(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, SETTLED));
}
