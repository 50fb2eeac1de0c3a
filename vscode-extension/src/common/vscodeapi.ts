// A thin wall around the editor's API: what the rest of the extension asks of it.

import * as vscode from "vscode";
import { SECTION } from "./settings";

export function setting<T>(name: string, fallback: T, scope?: vscode.ConfigurationScope): T {
    return vscode.workspace.getConfiguration(SECTION, scope).get<T>(name) ?? fallback;
}

export function allSettings(scope?: vscode.ConfigurationScope): Record<string, unknown> {
    const configuration = vscode.workspace.getConfiguration(SECTION, scope);
    return JSON.parse(JSON.stringify(configuration)) as Record<string, unknown>;
}

export function workspaceFolders(): readonly vscode.WorkspaceFolder[] {
    return vscode.workspace.workspaceFolders ?? [];
}

/** Asks a question with buttons; the answer is a button's text, or undefined. */
export function askError(message: string, ...choices: string[]): Thenable<string | undefined> {
    return vscode.window.showErrorMessage(message, ...choices);
}

/** The same, where nothing is wrong. */
export function tell(message: string, ...choices: string[]): Thenable<string | undefined> {
    return vscode.window.showInformationMessage(message, ...choices);
}

/** Shows settings. Settings that name programs belong to the machine on which the extension runs; a remote machine has its own page. */
export async function openSettings(query: string): Promise<void> {
    const page = vscode.env.remoteName === undefined ? "openSettings" : "openRemoteSettings";
    await vscode.commands.executeCommand(`workbench.action.${page}`, { query });
}

export function withProgress<T>(title: string, work: () => Promise<T>): Thenable<T> {
    return vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title }, work);
}

export function setContext(name: string, value: boolean | string): void {
    void vscode.commands.executeCommand("setContext", `${SECTION}.${name}`, value);
}
