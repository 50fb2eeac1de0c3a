// Starts the language server of terra-refactor for Python files, and stops it with the editor.

import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
    context.subscriptions.push(
        vscode.commands.registerCommand("terra-refactor.restart", restart),
        vscode.workspace.onDidChangeConfiguration(async (event) => {
            if (event.affectsConfiguration("terra-refactor.interpreter")) {
                await restart();
            }
        }),
    );
    await start();
}

export async function deactivate(): Promise<void> {
    await stop();
}

async function start(): Promise<void> {
    const interpreter = vscode.workspace.getConfiguration("terra-refactor").get<string>("interpreter", "python3");
    const server: ServerOptions = { command: interpreter, args: ["-m", "lsp_server"] };
    const options: LanguageClientOptions = {
        documentSelector: [
            { scheme: "file", language: "python" },
            { scheme: "untitled", language: "python" },
        ],
    };
    client = new LanguageClient("terra-refactor", "terra-refactor", server, options);
    try {
        await client.start();
    } catch (error) {
        client = undefined;
        const reason = error instanceof Error ? error.message : String(error);
        void vscode.window.showErrorMessage(
            `terra-refactor: ${interpreter} -m lsp_server did not start (${reason}). Is terra-refactor[lsp] installed there?`,
        );
    }
}

async function stop(): Promise<void> {
    const running = client;
    client = undefined;
    await running?.stop();
}

async function restart(): Promise<void> {
    await stop();
    await start();
}
