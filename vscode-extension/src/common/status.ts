// The language status item: busy, ready, or failed, and what to do about it.

import * as vscode from "vscode";

export class Status implements vscode.Disposable {
    private readonly item: vscode.LanguageStatusItem;

    constructor(selector: vscode.DocumentSelector) {
        this.item = vscode.languages.createLanguageStatusItem("terra-refactor.status", selector);
        this.item.name = "terra-refactor";
        this.item.command = { command: "terra-refactor.showLog", title: vscode.l10n.t("Show log") };
    }

    busy(what: string): void {
        this.item.busy = true;
        this.item.severity = vscode.LanguageStatusSeverity.Information;
        this.item.text = "terra-refactor";
        this.item.detail = what;
    }

    ready(version: string, from: string): void {
        this.item.busy = false;
        this.item.severity = vscode.LanguageStatusSeverity.Information;
        this.item.text = `terra-refactor ${version}`.trim();
        this.item.detail = from;
    }

    failed(why: string): void {
        this.item.busy = false;
        this.item.severity = vscode.LanguageStatusSeverity.Error;
        this.item.text = vscode.l10n.t("terra-refactor: no server");
        this.item.detail = why;
    }

    dispose(): void {
        this.item.dispose();
    }
}
