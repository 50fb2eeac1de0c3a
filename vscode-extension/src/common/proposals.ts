// The changes that are proposed in the workspace, as a list in the explorer: what saves most first. It is filled when somebody asks for it,
// and follows what is saved while it is shown.

import * as vscode from "vscode";
import type { Ask } from "./commands";

export interface Proposal {
    readonly uri: string;
    readonly line: number;
    readonly functionLine: number;
    readonly qualname: string;
    /** The function's name without those in which it is defined. */
    readonly name: string;
    readonly path: string;
    /** The place in words. */
    readonly place: string;
    /** It is not in a notebook that is closed, which no edit reaches. */
    readonly canChange: boolean;
    readonly title: string;
    readonly level: string;
    readonly reason: string;
    readonly assumptions: readonly string[];
    readonly secondsSaved: number | null;
}

const VIEW = "terra-refactor.proposals";
/** Milliseconds after a save until the list is asked for again. */
const AFTER_SAVE = 1000;
const ICONS: Readonly<Record<string, string>> = { safe: "pass", speculative: "question", coexec: "split-horizontal" };

export class Proposals implements vscode.TreeDataProvider<Proposal>, vscode.Disposable {
    private readonly changed = new vscode.EventEmitter<void>();
    private readonly view: vscode.TreeView<Proposal>;
    private readonly saved: vscode.Disposable;
    private timer: ReturnType<typeof setTimeout> | undefined;
    private found: readonly Proposal[] = [];
    readonly onDidChangeTreeData = this.changed.event;

    constructor(private readonly ask: Ask) {
        this.view = vscode.window.createTreeView(VIEW, { treeDataProvider: this, showCollapseAll: false });
        this.saved = vscode.workspace.onDidSaveTextDocument((document) => {
            if (document.languageId === "python" && this.view.visible) {
                clearTimeout(this.timer); // of several saves, as `files.autoSave` makes them, the last one counts
                this.timer = setTimeout(() => void this.refreshIfFilled(), AFTER_SAVE);
            }
        });
    }

    dispose(): void {
        clearTimeout(this.timer);
        this.saved.dispose();
        this.view.dispose();
        this.changed.dispose();
    }

    /** Asks the server again. */
    async refresh(): Promise<void> {
        this.found = ((await this.ask("proposals")) ?? []) as Proposal[];
        this.view.message = this.found.length === 0 ? vscode.l10n.t("There is nothing to change.") : "";
        this.view.badge = { value: this.found.length, tooltip: vscode.l10n.t("{0} proposed changes", this.found.length) };
        this.changed.fire();
    }

    /** Refreshes the list, if there is one. */
    async refreshIfFilled(): Promise<void> {
        if (this.found.length > 0) {
            await this.refresh();
        }
    }

    /** Makes one change and refreshes the list. */
    async apply(proposal: Proposal): Promise<void> {
        if ((await this.ask("applyFunction", proposal.uri, proposal.qualname, proposal.functionLine)) === true) {
            await this.refresh();
        }
    }

    getChildren(proposal?: Proposal): Proposal[] {
        return proposal === undefined ? [...this.found] : [];
    }

    getTreeItem(proposal: Proposal): vscode.TreeItem {
        const item = new vscode.TreeItem(`${proposal.name}: ${proposal.title}`);
        const saved = proposal.secondsSaved === null ? "" : vscode.l10n.t("saves {0} s", proposal.secondsSaved.toFixed(1));
        item.description = [saved, proposal.place].filter((part) => part !== "").join(" · ");
        item.iconPath = new vscode.ThemeIcon(ICONS[proposal.level] ?? "circle-outline");
        const parts = [`${proposal.level}: ${proposal.reason}`, ...proposal.assumptions.map((each) => `- ${each}`)];
        item.tooltip = parts.join("\n");
        const place = new vscode.Range(proposal.line - 1, 0, proposal.line - 1, 0);
        const options: vscode.TextDocumentShowOptions = { selection: place };
        item.command = { command: "vscode.open", title: "", arguments: [vscode.Uri.parse(proposal.uri), options] };
        item.contextValue = "proposal";
        return item;
    }
}
