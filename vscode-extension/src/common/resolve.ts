// Which program is the server: decided from settings and from what is installed. Knows no editor, so that it can be tested.

import type { ServerSettings } from "./settings";

/** What an interpreter says about itself. */
export interface Probe {
    readonly python: string;
    /** Version of the server package; undefined where it is not installed. */
    readonly server: string | undefined;
    /** What is missing, in the words of Python. */
    readonly missing?: string;
    /** Where the interpreter lies: a name may mean another one in the folder that the server is started in. */
    readonly executable?: string;
    /** How the file names of its native modules end. */
    readonly suffix?: string;
    /** Whether programs of this environment can import the co-execution shim. */
    readonly shim?: boolean;
}

/** What the decision needs to know of the world. */
export interface World {
    /** Asks an interpreter; undefined if it does not run. */
    probe(interpreter: string): Promise<Probe | undefined>;
    /** The interpreter that the Python extension has chosen. */
    activeInterpreter(): Promise<string | undefined>;
    /** The interpreter of the extension's own environment, if that was made. */
    ownInterpreter(): string | undefined;
    /** Names that may be interpreters on the search path. */
    readonly fallbacks: readonly string[];
    exists(program: string): boolean;
    /** A sentence in the language of the editor; `{0}` stands for the first of the parts. */
    say(sentence: string, ...parts: string[]): string;
    /** Whether the extension carries a server for interpreters whose native modules end so. */
    carries(suffix: string): boolean;
}

export type Server =
    | { readonly kind: "command"; readonly command: string; readonly args: readonly string[]; readonly from: string }
    | { readonly kind: "python"; readonly interpreter: string; readonly version: string; readonly from: string;
          /** Whether the user's programs can import the co-execution shim. */
          readonly shim: boolean };

export type Resolved =
    | { readonly found: true; readonly server: Server }
    | {
          readonly found: false;
          /** One sentence for a person. */
          readonly reason: string;
      };

export const OLDEST_PYTHON = "3.10";

export async function resolveServer(settings: ServerSettings, world: World): Promise<Resolved> {
    const [command, ...args] = settings.path;
    if (command !== undefined) {
        if (!world.exists(command)) {
            return missing(world.say("{0}, which `terra-refactor.path` names, does not exist", command));
        }
        return { found: true, server: { kind: "command", command, args, from: "terra-refactor.path" } };
    }
    const reasons: string[] = [];
    let carried: Server | undefined;
    let shim = false;
    for (const [interpreter, from] of await candidates(settings, world)) {
        const probe = await world.probe(interpreter);
        if (probe === undefined) {
            reasons.push(world.say("{0} ({1}) does not run", interpreter, world.say(from)));
            continue;
        }
        shim ||= from !== OWN && probe.shim === true;
        if (!isAtLeast(probe.python, OLDEST_PYTHON)) {
            reasons.push(world.say("{0} ({1}) is Python {2}; {3} or newer is needed", interpreter, world.say(from), probe.python, OLDEST_PYTHON));
            continue;
        }
        if (probe.server !== undefined && (from === OWN || settings.importStrategy === "fromEnvironment")) {
            return { found: true, server: { kind: "python", interpreter: probe.executable ?? interpreter, version: probe.server, from, shim } };
        }
        if (from !== OWN && probe.suffix !== undefined && world.carries(probe.suffix)) {
            carried ??= { kind: "python", interpreter: probe.executable ?? interpreter, version: "", from: CARRIED, shim };
            if (settings.importStrategy === "useBundled") {
                break;
            }
        }
        if (settings.importStrategy === "fromEnvironment" || from === OWN) {
            const lacking = world.say("{0} ({1}) has no terra-refactor[lsp]", interpreter, world.say(from));
            reasons.push(probe.missing ? `${lacking}: ${probe.missing}` : lacking);
        }
    }
    if (carried !== undefined) {
        return { found: true, server: carried };
    }
    if (settings.importStrategy === "useBundled" && world.ownInterpreter() === undefined) {
        reasons.push(world.say("the extension's own server is not installed yet"));
    }
    return missing(reasons.length > 0 ? reasons.join("; ") : world.say("no Python was found"));
}

/** A text that is translated where it is shown. */
const later = (text: string): string => text;

export const OWN = later("the extension's own environment");
/** What the extension carries runs with any Python of this platform, and installs nothing. */
export const CARRIED = later("the extension");
const CHOSEN = later("the Python extension's choice");
const SEARCHED = later("the search path");

async function candidates(settings: ServerSettings, world: World): Promise<[string, string][]> {
    const found: [string, string][] = [];
    const own = world.ownInterpreter();
    if (own !== undefined && settings.importStrategy === "useBundled") {
        found.push([own, OWN]);
    }
    if (settings.interpreter !== "") {
        found.push([settings.interpreter, "terra-refactor.interpreter"]);
    } else {
        const active = await world.activeInterpreter();
        if (active !== undefined) {
            found.push([active, CHOSEN]);
        } else {
            found.push(...world.fallbacks.map((name): [string, string] => [name, SEARCHED]));
        }
    }
    if (own !== undefined && settings.importStrategy === "fromEnvironment") {
        found.push([own, OWN]);
    }
    return found;
}

function missing(reason: string): Resolved {
    return { found: false, reason };
}

export function isAtLeast(version: string, oldest: string): boolean {
    const [major = 0, minor = 0] = version.split(".").map(Number);
    const [oldMajor = 0, oldMinor = 0] = oldest.split(".").map(Number);
    return major > oldMajor || (major === oldMajor && minor >= oldMinor);
}

/** A Python to make the extension's own environment from: never that environment itself. */
export async function baseInterpreter(settings: ServerSettings, world: World): Promise<string | undefined> {
    const own = world.ownInterpreter();
    for (const [interpreter] of await candidates(settings, world)) {
        const probe = interpreter === own ? undefined : await world.probe(interpreter);
        if (probe !== undefined && isAtLeast(probe.python, OLDEST_PYTHON)) {
            return probe.executable ?? interpreter;
        }
    }
    return undefined;
}

/** The version in the name of a wheel. */
export function wheelVersion(wheel: string): string | undefined {
    return /^[^-]+-([^-]+)-/.exec(wheel)?.[1];
}

/** Whether another server would have to be started. */
export function sameServer(one: Server | undefined, other: Server | undefined): boolean {
    return JSON.stringify(one) === JSON.stringify(other);
}
