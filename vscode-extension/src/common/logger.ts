// The log channel of the extension, where the server's own log goes as well, and the lazy channel of the trace.

import * as vscode from "vscode";

let trace: vscode.OutputChannel | undefined;

export const log = vscode.window.createOutputChannel("terra-refactor", { log: true });

/** The channel of the messages between editor and server; made when it is first needed. */
export function traceChannel(): vscode.OutputChannel {
    trace ??= vscode.window.createOutputChannel(vscode.l10n.t("terra-refactor: messages"));
    return trace;
}

export function disposeLogs(): void {
    log.dispose();
    trace?.dispose();
}
