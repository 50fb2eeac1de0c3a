// Interpreters: the Python extension's choice, what an interpreter has installed, and the extension's own environment.

import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import * as vscode from "vscode";
import type { Probe } from "./resolve";

const run = promisify(execFile);
const PROBE = `
import importlib.machinery, importlib.util, json, sys
found = {"python": "%d.%d" % sys.version_info[:2], "server": None, "executable": sys.executable}
found["suffix"] = importlib.machinery.EXTENSION_SUFFIXES[0]
found["shim"] = importlib.util.find_spec("terra_refactor") is not None
try:
    import lsp_server.server, terra_refactor
    found["server"] = terra_refactor.__version__
except ImportError as error:
    found["missing"] = str(error)
print(json.dumps(found))
`;

/** The part of the Python extension's API that is used (ms-python.python). */
interface PythonApi {
    readonly environments: {
        getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
        resolveEnvironment(place: unknown): Promise<{ readonly executable: { readonly uri?: vscode.Uri } } | undefined>;
        readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
    };
}

async function pythonApi(): Promise<PythonApi | undefined> {
    const extension = vscode.extensions.getExtension<PythonApi>("ms-python.python");
    if (extension === undefined) {
        return undefined;
    }
    const api = extension.isActive ? extension.exports : await extension.activate();
    return api?.environments === undefined ? undefined : api;
}

/** The part of the API of Python Environments that is used (ms-python.vscode-python-envs). */
interface EnvironmentsApi {
    getEnvironment(scope: vscode.Uri | undefined): Promise<{ readonly execInfo?: { readonly run?: { readonly executable?: string } } } | undefined>;
    readonly onDidChangeEnvironment: vscode.Event<unknown>;
}

async function environmentsApi(): Promise<EnvironmentsApi | undefined> {
    const extension = vscode.extensions.getExtension<EnvironmentsApi>("ms-python.vscode-python-envs");
    if (extension === undefined) {
        return undefined;
    }
    const api = extension.isActive ? extension.exports : await extension.activate();
    return typeof api?.getEnvironment === "function" ? api : undefined;
}

async function chosenEnvironment(resource?: vscode.Uri): Promise<string | undefined> {
    try {
        const executable = (await (await environmentsApi())?.getEnvironment(resource))?.execInfo?.run?.executable;
        return executable === "" ? undefined : executable;
    } catch {
        return undefined; // another version of that extension: the other one is asked
    }
}

/** The interpreter that Python Environments or the Python extension has chosen; undefined where neither is installed. */
export async function activeInterpreter(resource?: vscode.Uri): Promise<string | undefined> {
    const chosen = await chosenEnvironment(resource);
    if (chosen !== undefined) {
        return chosen;
    }
    try {
        const api = await pythonApi();
        if (api === undefined) {
            return undefined;
        }
        const environment = await api.environments.resolveEnvironment(api.environments.getActiveEnvironmentPath(resource));
        return environment?.executable.uri?.fsPath;
    } catch {
        return undefined; // another version of that extension: do without
    }
}

/** The command with which the user chooses another interpreter; undefined where neither extension is installed. */
export async function choosingCommand(): Promise<string | undefined> {
    const commands = await vscode.commands.getCommands(true);
    return ["python-envs.set", "python.setInterpreter"].find((name) => commands.includes(name));
}

/** Calls back when the choice of either extension changes. */
export async function onInterpreterChange(callback: () => void): Promise<vscode.Disposable> {
    const watching = [
        async () => (await environmentsApi())?.onDidChangeEnvironment(callback),
        async () => (await pythonApi())?.environments.onDidChangeActiveEnvironmentPath(callback),
    ];
    const found = await Promise.all(watching.map((watch) => watch().catch(() => undefined)));
    return vscode.Disposable.from(...found.filter((each) => each !== undefined));
}

/** What an interpreter says about itself; undefined if it does not run. Isolated (-I): nothing of the current folder is imported. */
export async function probe(interpreter: string): Promise<Probe | undefined> {
    try {
        // a name without a folder is looked for in the current folder, too, on Windows: that is never the workspace's
        const { stdout } = await run(interpreter, ["-I", "-c", PROBE], { timeout: 60_000, cwd: os.homedir() });
        const found = JSON.parse(stdout) as {
            python: string;
            server: string | null;
            executable?: string;
            missing?: string;
            suffix?: string;
            shim?: boolean;
        };
        return {
            python: found.python,
            server: found.server ?? undefined,
            ...(found.executable ? { executable: found.executable } : {}),
            ...(found.missing ? { missing: found.missing } : {}),
            ...(found.suffix ? { suffix: found.suffix } : {}),
            ...(found.shim === undefined ? {} : { shim: found.shim }),
        };
    } catch {
        return undefined;
    }
}

/** Where the interpreter of an environment lies. */
export function interpreterOf(environment: string): string {
    return process.platform === "win32" ? path.join(environment, "Scripts", "python.exe") : path.join(environment, "bin", "python");
}

/** Whether the extension carries LibCST's native module for interpreters whose modules end so, and with it a server. */
export function carries(extension: string, suffix: string): boolean {
    return existsSync(path.join(extension, "bundled", "libs", "libcst", `native${suffix}`));
}

/** The wheel that the extension carries; undefined in a development checkout without one. */
export function bundledWheel(extension: string): string | undefined {
    const folder = path.join(extension, "bundled", "wheels");
    const wheel = existsSync(folder) ? readdirSync(folder).find((name) => name.endsWith(".whl")) : undefined;
    return wheel === undefined ? undefined : path.join(folder, wheel);
}

/** Recreates the extension's own environment and installs the server there. Rejects with the last words of the program that failed. */
export async function installServer(
    interpreter: string,
    environment: string,
    wheel: string | undefined,
    told: (line: string) => void,
): Promise<void> {
    const requirement = `${wheel ?? "terra-refactor"}[lsp]`;
    await execute(interpreter, ["-I", "-m", "venv", "--clear", environment], told);
    await execute(interpreterOf(environment), ["-I", "-m", "pip", "install", "--disable-pip-version-check", requirement], told);
}

/** Installs the package, of which programs import the shim, into an environment of the user's. */
export async function addPackage(interpreter: string, wheel: string | undefined, told: (line: string) => void): Promise<void> {
    await execute(interpreter, ["-I", "-m", "pip", "install", "--disable-pip-version-check", wheel ?? "terra-refactor"], told);
}

async function execute(program: string, args: readonly string[], told: (line: string) => void): Promise<void> {
    told([program, ...args].join(" "));
    try {
        const { stdout } = await run(program, [...args], { timeout: 600_000, maxBuffer: 64 * 1024 * 1024 });
        told(stdout.trim());
    } catch (error) {
        // venv tells on its standard output that a package of the system is missing
        const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
        const words = `${stdout}\n${stderr}`.trim();
        told(words);
        throw new Error(words === "" ? String(error) : words.split("\n").slice(-3).join("\n"));
    }
}
