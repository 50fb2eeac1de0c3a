// The life of the language server: find it, start it, stop it. Restarts are queued, and happen only if they would change something.

import { existsSync } from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import { LanguageClient, RevealOutputChannelOn, State, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";
import { log, traceChannel } from "./logger";
import { activeInterpreter, addPackage, bundledWheel, carries, installServer, interpreterOf, probe } from "./python";
import { Preview } from "./preview";
import { baseInterpreter, CARRIED, OWN, resolveServer, sameServer, wheelVersion, type Server, type World } from "./resolve";
import { expand, SECTION, type ImportStrategy, type ServerSettings } from "./settings";
import type { Status } from "./status";
import { allSettings, askError, openSettings, setContext, setting, tell, withProgress, workspaceFolders } from "./vscodeapi";

export const SELECTOR = [
    { scheme: "file", language: "python" },
    { scheme: "untitled", language: "python" },
    { scheme: "vscode-notebook-cell", language: "python" },
];

const INSTALL = vscode.l10n.t("Install");
const UPDATE = vscode.l10n.t("Update");
const SETTINGS = vscode.l10n.t("Open Settings");
const LOG = vscode.l10n.t("Show Log");

export class ServerHolder implements vscode.Disposable {
    private client: LanguageClient | undefined;
    private running: Server | undefined;
    private queue: Promise<void> = Promise.resolve();
    private readonly preview = new Preview();
    private readonly differing = new vscode.EventEmitter<void>();
    /** What the server says about a text may be another thing than before, although the text has not changed. */
    readonly onMayDiffer = this.differing.event;

    constructor(
        private readonly context: vscode.ExtensionContext,
        private readonly status: Status,
    ) {}

    /** The client of the running server. */
    get current(): LanguageClient | undefined {
        return this.client?.state === State.Running ? this.client : undefined;
    }

    /** Starts the server that settings and environment ask for; with `always`, even if the same one runs. */
    restart(always: boolean): Promise<void> {
        this.queue = this.queue.then(() => this.restartNow(always)).catch((error: unknown) => log.error(String(error)));
        return this.queue;
    }

    async stop(): Promise<void> {
        const client = this.client;
        this.client = undefined;
        this.running = undefined;
        setContext("ready", false);
        if (client !== undefined) {
            try {
                await client.stop(2000);
            } catch (error) {
                log.warn(`the server did not stop in order: ${String(error)}`);
            }
            await client.dispose().catch(() => undefined);
        }
    }

    dispose(): void {
        this.preview.dispose();
        this.differing.dispose();
        void this.stop();
    }

    /** The interpreter that the settings name; empty if they name none. */
    get interpreter(): string {
        return this.settings().interpreter;
    }

    private get ownEnvironment(): string {
        return path.join(this.context.globalStorageUri.fsPath, "server");
    }

    private settings(): ServerSettings {
        const folder = workspaceFolders()[0]?.uri.fsPath;
        const expanded = (text: string): string => expand(text, folder, os.homedir());
        return {
            importStrategy: setting<ImportStrategy>("importStrategy", "fromEnvironment"),
            interpreter: expanded(setting("interpreter", "")),
            path: setting<string[]>("path", []).map(expanded),
        };
    }

    private get world(): World {
        const own = interpreterOf(this.ownEnvironment);
        return {
            probe,
            // it may lie in the workspace itself: an environment that was committed
            activeInterpreter: () =>
                vscode.workspace.isTrusted ? activeInterpreter(workspaceFolders()[0]?.uri) : Promise.resolve(undefined),
            ownInterpreter: () => (existsSync(own) ? own : undefined),
            fallbacks: process.platform === "win32" ? ["py", "python"] : ["python3", "python"],
            carries: (suffix) => carries(this.context.extensionPath, suffix),
            say: (sentence, ...parts) => vscode.l10n.t(sentence, ...parts),
            exists: (program) => !path.isAbsolute(program) || existsSync(program),
        };
    }

    private async restartNow(always: boolean): Promise<void> {
        this.status.busy(vscode.l10n.t("Looking for the server"));
        const resolved = await resolveServer(this.settings(), this.world);
        if (!resolved.found) {
            await this.stop();
            this.tellMissing(resolved.reason);
            return;
        }
        if (!always && this.current !== undefined && sameServer(this.running, resolved.server)) {
            this.tellReady(resolved.server);
            return;
        }
        await this.stop();
        await this.start(resolved.server);
    }

    private async start(server: Server): Promise<void> {
        const [command, args] =
            server.kind === "command"
                ? [server.command, [...server.args]]
                : [server.interpreter, this.launch(server.from === CARRIED)];
        log.info(`starting ${[command, ...args].join(" ")} (${server.from})`);
        this.status.busy(vscode.l10n.t("Starting the server"));
        const folder = workspaceFolders()[0]?.uri.fsPath;
        const options: ServerOptions = { command, args, options: folder === undefined ? {} : { cwd: folder } };
        const client = new LanguageClient(SECTION, "terra-refactor", options, this.clientOptions(server));
        this.client = client;
        client.onNotification("terra-refactor/graphCodeChanged", () => this.differing.fire());
        client.onNotification("terra-refactor/toConfirm", () => this.preview.expect());
        try {
            await client.start();
        } catch (error) {
            log.error(String(error));
            await this.stop();
            this.tellFailed(vscode.l10n.t("the server did not start ({0}): {1}", [command, ...args].join(" "), String(error)));
            return;
        }
        this.running = server;
        client.onDidChangeState(({ newState }) => {
            if (newState === State.Stopped && this.client === client) {
                setContext("ready", false);
                this.status.failed(vscode.l10n.t("the server has stopped"));
            } else if (newState === State.Running) {
                this.tellReady(server);
            }
        });
        this.tellReady(server);
    }

    /** Isolated; what the extension carries also from what the interpreter has installed. */
    private launch(carried: boolean): string[] {
        const script = this.context.asAbsolutePath("bundled/tool/launch.py");
        return carried ? ["-I", "-S", script, "--bundled"] : ["-I", script];
    }

    private clientOptions(server: Server): LanguageClientOptions {
        const folders: Record<string, unknown> = {};
        for (const folder of workspaceFolders()) {
            folders[folder.uri.toString()] = allSettings(folder);
        }
        return {
            documentSelector: SELECTOR,
            outputChannel: log,
            traceOutputChannel: traceChannel(),
            revealOutputChannelOn: RevealOutputChannelOn.Never,
            initializationOptions: { asksReason: true, ...(server.kind === "python" ? { coExecution: server.shim } : {}), settings: allSettings(), folders },
            diagnosticPullOptions: { onChange: true, onTabs: true, onSave: true },
            middleware: {
                executeCommand: async (command, args, next): Promise<unknown> => {
                    const result: unknown = await next(command, args);
                    if (command === "terra-refactor.explainFunction") {
                        await showFunction(args as [string, string, number]);
                    }
                    return result;
                },
            },
        };
    }

    private tellReady(server: Server): void {
        const version = server.kind === "python" ? server.version : "";
        this.status.ready(version, server.kind === "python" ? `${server.interpreter} (${vscode.l10n.t(server.from)})` : server.command);
        setContext("ready", true);
        this.differing.fire();
        if (server.kind === "python" && server.from === OWN) {
            this.offerUpdate(server.version);
        }
    }

    private tellFailed(why: string): void {
        this.status.failed(why);
        void askError(`terra-refactor: ${why}`, LOG, SETTINGS).then(answered);
    }

    /** Says what is missing, and offers to install it. Does not wait for the answer. */
    private tellMissing(reason: string): void {
        log.error(reason);
        this.status.failed(reason);
        if (setting<string[]>("path", []).length > 0) {
            void askError(vscode.l10n.t("terra-refactor has no server to start: {0}.", reason), SETTINGS, LOG).then(answered);
        } else {
            // no fault of the user's, and no word of Python's: that is in the log
            void tell(vscode.l10n.t("terra-refactor: the server is not installed yet."), INSTALL, SETTINGS, LOG).then(answered);
        }
    }

    /** The extension's own environment may be of an older extension. */
    private offerUpdate(version: string): void {
        const wheel = bundledWheel(this.context.extensionPath);
        const carried = wheel === undefined ? undefined : wheelVersion(path.basename(wheel));
        if (carried !== undefined && carried !== version) {
            void tell(vscode.l10n.t("terra-refactor: the installed server is {0}; this extension contains {1}.", version, carried), UPDATE).then(answered);
        }
    }

    /** Makes the extension's own environment with a server in it, and starts that where the settings allow. */
    async install(): Promise<void> {
        const interpreter = await baseInterpreter(this.settings(), this.world);
        if (interpreter === undefined) {
            await askError(vscode.l10n.t("terra-refactor: no Python 3.10 or newer was found. Name one in the setting `terra-refactor.interpreter`."), SETTINGS).then(answered);
            return;
        }
        try {
            log.info(`installing the server with ${interpreter}`);
            await withProgress(vscode.l10n.t("terra-refactor: installing the server"), async () => {
                await this.stop(); // it may run from the environment that is recreated
                const wheel = bundledWheel(this.context.extensionPath);
                await installServer(interpreter, this.ownEnvironment, wheel, (line) => log.info(line));
            });
        } catch (error) {
            log.error(String(error));
            void askError(vscode.l10n.t("terra-refactor: the server could not be installed: {0}", String(error)), LOG).then(answered);
        }
        await this.restart(true);
    }

    /** Installs the package into the environment of the program, which then can import the shim; asks first. */
    async addPackage(): Promise<void> {
        const interpreter = this.settings().interpreter || (await this.world.activeInterpreter());
        if (!vscode.workspace.isTrusted || interpreter === undefined) {
            await askError(vscode.l10n.t("terra-refactor: the interpreter of the program is not known. Name it in the setting `terra-refactor.interpreter`."), SETTINGS).then(answered);
            return;
        }
        const add = vscode.l10n.t("Install");
        const question = vscode.l10n.t("Install terra-refactor into the environment of {0}?", interpreter);
        const detail = vscode.l10n.t("Programs that co-execute import it.");
        if ((await vscode.window.showInformationMessage(question, { modal: true, detail }, add)) !== add) {
            return;
        }
        try {
            await withProgress(vscode.l10n.t("terra-refactor: installing the package"), () =>
                addPackage(interpreter, bundledWheel(this.context.extensionPath), (line) => log.info(line)),
            );
        } catch (error) {
            log.error(String(error));
            void askError(vscode.l10n.t("terra-refactor: the package could not be installed: {0}", String(error)), LOG).then(answered);
        }
        await this.restart(true);
    }
}

function answered(choice: string | undefined): void {
    if (choice === INSTALL || choice === UPDATE) {
        void vscode.commands.executeCommand("terra-refactor.installServer");
    } else if (choice === SETTINGS) {
        void openSettings("@ext:terra-refactor.terra-refactor");
    } else if (choice === LOG) {
        log.show(true);
    }
}

/** Shows the hover of a function: the reason that a click on its lens asks for. */
async function showFunction([uri, qualname, line]: [string, string, number]): Promise<void> {
    const editor = vscode.window.visibleTextEditors.find((each) => each.document.uri.toString() === vscode.Uri.parse(uri).toString());
    if (editor === undefined) {
        return;
    }
    const name = qualname.slice(qualname.lastIndexOf(".") + 1);
    const text = editor.document.lineAt(line - 1).text;
    const place = new vscode.Position(line - 1, Math.max(0, text.indexOf(name, text.indexOf("def "))));
    await vscode.window.showTextDocument(editor.document, { viewColumn: editor.viewColumn ?? vscode.ViewColumn.Active });
    editor.selection = new vscode.Selection(place, place);
    await vscode.commands.executeCommand("editor.action.showHover");
}
