// All safe changes of the workspace, as a list in which everything is ticked: the editor's own preview begins with nothing ticked.

import * as vscode from "vscode";
import type { Ask } from "./commands";
import type { Proposal } from "./proposals";

interface Item extends vscode.QuickPickItem {
    readonly proposal: Proposal;
}

/** Lets somebody untick what they do not want, and makes the rest. */
export async function makeSafeChanges(ask: Ask): Promise<void> {
    const found = ((await ask("proposals")) ?? []) as readonly Proposal[];
    const safe = found.filter((proposal) => proposal.level === "safe");
    if (safe.length === 0) {
        await ask("applyAllSafe"); // which says so
        return;
    }
    const chosen = await choose(safe.map(itemOf));
    if (chosen.length > 0) {
        await ask("applyAllSafe", ...chosen.map(({ proposal }) => proposal));
    }
}

function itemOf(proposal: Proposal): Item {
    const saved = proposal.secondsSaved === null ? "" : vscode.l10n.t("saves {0} s", proposal.secondsSaved.toFixed(1));
    return {
        proposal,
        picked: proposal.canChange,
        label: `${proposal.name}: ${proposal.title}`,
        description: [saved, proposal.place].filter((part) => part !== "").join(" · "),
        detail: proposal.canChange ? proposal.reason : vscode.l10n.t("Open the notebook first: a closed one cannot be changed."),
        buttons: [{ iconPath: new vscode.ThemeIcon("go-to-file"), tooltip: vscode.l10n.t("Show the function") }],
    };
}

function choose(items: readonly Item[]): Promise<readonly Item[]> {
    const list = vscode.window.createQuickPick<Item>();
    list.title = vscode.l10n.t("Safe changes, without assumptions. The selected ones are made.");
    list.placeholder = vscode.l10n.t("Filter by function or file");
    list.canSelectMany = true;
    list.matchOnDescription = true;
    list.ignoreFocusOut = true;
    list.items = items;
    list.selectedItems = items.filter(({ proposal }) => proposal.canChange);
    return new Promise((resolve) => {
        let taken: readonly Item[] = [];
        list.onDidTriggerItemButton(({ item }) => {
            const place = new vscode.Range(item.proposal.line - 1, 0, item.proposal.line - 1, 0);
            const options: vscode.TextDocumentShowOptions = { selection: place, preserveFocus: true, preview: true };
            void vscode.commands.executeCommand("vscode.open", vscode.Uri.parse(item.proposal.uri), options);
        });
        list.onDidAccept(() => {
            taken = list.selectedItems;
            list.hide();
        });
        list.onDidHide(() => {
            list.dispose();
            resolve(taken);
        });
        list.show();
    });
}
