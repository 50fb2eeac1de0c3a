// The preview of a change groups by file at first, and then shows no assumptions: it is made to group by what is assumed.

import * as vscode from "vscode";

/** The documents that the editor makes for a preview have a scheme of their own. */
const PREVIEW = "vscode-bulkeditpreview";

export class Grouping implements vscode.Disposable {
    private expected = false;
    private readonly watching = vscode.workspace.onDidOpenTextDocument(({ uri }) => {
        if (this.expected && uri.scheme.startsWith(PREVIEW)) {
            this.expected = false;
            void vscode.commands.executeCommand("refactorPreview.groupByType").then(undefined, () => undefined);
        }
    });

    /** One of our own changes may be previewed next. */
    expect(): void {
        this.expected = true;
    }

    dispose(): void {
        this.watching.dispose();
    }
}
