// The calls along which effects and hazards travel, in the editor's own view of references. The editor takes a call hierarchy from one
// extension, the one for Python: this tree stands beside it.

import * as vscode from "vscode";
import type { Ask } from "./commands";
import { setContext } from "./vscodeapi";

/** Where effects come from, or to whom they go. */
export type Direction = "from" | "to";

interface Point {
    readonly line: number;
    readonly character: number;
}

interface Range {
    readonly start: Point;
    readonly end: Point;
}

/** A function, or a place with an effect, as the server says it. */
export interface EffectItem {
    readonly name: string;
    /** Of the protocol, which counts from 1. */
    readonly kind: number;
    readonly detail: string;
    readonly uri: string;
    readonly selectionRange: Range;
    /** In the file of the function that calls. */
    readonly calls: readonly Range[];
    readonly data: unknown;
}

/** The part of the API of the editor's references view that is used (vscode.references-view). */
interface SymbolTree {
    setInput(input: TreeInput): void;
    getInput(): TreeInput | undefined;
}

interface TreeInput {
    readonly contextValue: string;
    readonly title: string;
    readonly location: vscode.Location;
    resolve(): Promise<TreeModel | undefined>;
    with(location: vscode.Location): TreeInput;
}

interface TreeModel {
    readonly message: string | undefined;
    readonly provider: vscode.TreeDataProvider<Node>;
    readonly highlights: { getEditorHighlights(node: Node, uri: vscode.Uri): vscode.Range[] | undefined };
}

const PLACE = 24; // an event: an effect of a function's own code
const ICONS: Readonly<Record<number, string>> = { 2: "symbol-module", 5: "symbol-class", 6: "symbol-method", [PLACE]: "symbol-event" };

class Node {
    children: Promise<Node[]> | undefined;

    constructor(
        readonly item: EffectItem,
        readonly parent: Node | undefined,
    ) {}
}

/** Shows where the effects of the function at the cursor come from, or to whom they go. */
export class Effects {
    constructor(private readonly ask: Ask) {}

    async show(direction: Direction): Promise<void> {
        const editor = vscode.window.activeTextEditor;
        if (editor !== undefined) {
            await this.open(new vscode.Location(editor.document.uri, editor.selection.active), direction);
        }
    }

    /** Turns the tree around, with the function that it begins with. */
    async turn(direction: Direction): Promise<void> {
        const input = (await tree())?.getInput();
        if (input !== undefined) {
            await this.open(input.location, direction);
        }
    }

    private async open(location: vscode.Location, direction: Direction): Promise<void> {
        const shown = await tree();
        const at = location.range.start;
        const root = (await this.ask("effectsAt", location.uri.toString(), at.line, at.character)) as EffectItem | null | undefined;
        if (root === null) {
            void vscode.window.showInformationMessage(vscode.l10n.t("terra-refactor: no effect or hazard reaches this function."));
        }
        if (shown === undefined || root === null || root === undefined) {
            return;
        }
        setContext("effectsDirection", direction);
        const place = new vscode.Location(vscode.Uri.parse(root.uri), range(root.selectionRange).start);
        shown.setInput(this.input(place, direction));
    }

    private input(location: vscode.Location, direction: Direction): TreeInput {
        return {
            contextValue: "terra-refactor.effects",
            title: direction === "from" ? vscode.l10n.t("Effects Come From") : vscode.l10n.t("Effects Go To"),
            location,
            resolve: async () => {
                const at = location.range.start;
                const root = (await this.ask("effectsAt", location.uri.toString(), at.line, at.character)) as EffectItem | null | undefined;
                return root === null || root === undefined ? undefined : this.model(new Node(root, undefined), direction);
            },
            with: (other) => this.input(other, direction),
        };
    }

    private model(root: Node, direction: Direction): TreeModel {
        return {
            message: undefined,
            provider: {
                getChildren: (node?: Node) => (node === undefined ? [root] : this.children(node, direction)),
                getParent: (node) => node.parent,
                getTreeItem: (node) => treeItem(node, direction),
            },
            highlights: {
                getEditorHighlights: ({ item, parent }, uri) => {
                    const calling = direction === "from" ? parent?.item.uri : item.uri;
                    return calling !== undefined && vscode.Uri.parse(calling).toString() === uri.toString() ? item.calls.map(range) : undefined;
                },
            },
        };
    }

    private children(node: Node, direction: Direction): Promise<Node[]> {
        node.children ??= this.ask(direction === "from" ? "effectsFrom" : "effectsTo", node.item.data).then((found) =>
            ((found ?? []) as EffectItem[]).map((item) => new Node(item, node)),
        );
        return node.children;
    }
}

async function tree(): Promise<SymbolTree | undefined> {
    return vscode.extensions.getExtension<SymbolTree>("vscode.references-view")?.activate();
}

function treeItem({ item, parent }: Node, direction: Direction): vscode.TreeItem {
    const shown = new vscode.TreeItem(item.name);
    shown.description = item.detail;
    shown.tooltip = item.detail === "" ? item.name : `${item.name}: ${item.detail}`;
    shown.iconPath = new vscode.ThemeIcon(ICONS[item.kind] ?? "symbol-function");
    const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;
    shown.collapsibleState = item.kind === PLACE ? None : parent === undefined ? Expanded : Collapsed;
    const called = direction === "to" ? item.calls[0] : undefined;
    const start = range(called ?? item.selectionRange).start;
    const options: vscode.TextDocumentShowOptions = { selection: new vscode.Range(start, start), preserveFocus: true };
    shown.command = { command: "vscode.open", title: "", arguments: [vscode.Uri.parse(item.uri), options] };
    return shown;
}

function range({ start, end }: Range): vscode.Range {
    return new vscode.Range(start.line, start.character, end.line, end.character);
}
