// Wiring: finds and starts the language server of terra-refactor, and stops it with the editor.

import * as vscode from "vscode";
import { registerCommands } from "./common/commands";
import { disposeLogs } from "./common/logger";
import { onInterpreterChange } from "./common/python";
import { SELECTOR, ServerHolder } from "./common/server";
import { SERVER_SETTINGS, STARTING_SETTINGS } from "./common/settings";
import { Status } from "./common/status";

let server: ServerHolder | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
    const status = new Status(SELECTOR);
    const holder = (server = new ServerHolder(context, status));
    context.subscriptions.push(
        status,
        ...registerCommands(holder, context.workspaceState),
        vscode.workspace.onDidChangeConfiguration((event) => {
            if (STARTING_SETTINGS.some((name) => event.affectsConfiguration(name))) {
                void holder.restart(true);
            } else if (SERVER_SETTINGS.some((name) => event.affectsConfiguration(name))) {
                void holder.restart(false);
            }
        }),
        vscode.workspace.onDidGrantWorkspaceTrust(() => void holder.restart(false)),
        { dispose: disposeLogs },
    );
    const watching = onInterpreterChange(() => void holder.restart(false));
    await holder.restart(true);
    context.subscriptions.push(await watching);
}

export async function deactivate(): Promise<void> {
    await server?.stop();
}
