// Which server is started, against a made-up world.

import assert from "node:assert/strict";
import { test } from "node:test";
import { baseInterpreter, CARRIED, isAtLeast, resolveServer, sameServer, wheelVersion, type Probe, type World } from "../common/resolve";
import type { ServerSettings } from "../common/settings";

const DEFAULTS: ServerSettings = { importStrategy: "fromEnvironment", interpreter: "", path: [] };
const GOOD: Probe = { python: "3.12", server: "0.1.0" };
const BARE: Probe = { python: "3.12", server: undefined, missing: "No module named 'pygls'" };

function world(probes: Record<string, Probe>, more: Partial<World> = {}): World {
    return {
        probe: (interpreter) => Promise.resolve(probes[interpreter]),
        activeInterpreter: () => Promise.resolve(undefined),
        ownInterpreter: () => undefined,
        fallbacks: ["python3", "python"],
        exists: (program) => program !== "/no/such/program",
        say: (sentence, ...parts) => parts.reduce((text, part, index) => text.replaceAll(`{${index}}`, part), sentence),
        carries: () => false,
        ...more,
    };
}

async function interpreterOf(settings: Partial<ServerSettings>, there: World): Promise<string> {
    const resolved = await resolveServer({ ...DEFAULTS, ...settings }, there);
    if (!resolved.found) {
        return `none: ${resolved.reason}`;
    }
    return resolved.server.kind === "python" ? resolved.server.interpreter : resolved.server.command;
}

test("an explicit command wins over everything", async () => {
    const there = world({ "/env/python": GOOD }, { activeInterpreter: () => Promise.resolve("/env/python") });
    assert.equal(await interpreterOf({ path: ["/opt/lsp", "--x"], interpreter: "/env/python" }, there), "/opt/lsp");
    const resolved = await resolveServer({ ...DEFAULTS, path: ["/no/such/program"] }, there);
    assert.ok(!resolved.found && resolved.reason.includes("does not exist"));
});

test("the interpreter of the settings wins over the Python extension's", async () => {
    const there = world({ "/a/python": GOOD, "/b/python": GOOD }, { activeInterpreter: () => Promise.resolve("/b/python") });
    assert.equal(await interpreterOf({ interpreter: "/a/python" }, there), "/a/python");
    assert.equal(await interpreterOf({}, there), "/b/python");
});

test("a name on the search path is started by the path of the interpreter that answered", async () => {
    const there = world({ python: { ...GOOD, executable: "/usr/bin/python3" } });
    assert.equal(await interpreterOf({}, there), "/usr/bin/python3");
});

test("without the Python extension the search path is used", async () => {
    assert.equal(await interpreterOf({}, world({ python: GOOD })), "python");
});

test("the extension's own environment stands in for one without a server", async () => {
    const there = world(
        { "/b/python": BARE, "/own/python": GOOD },
        { activeInterpreter: () => Promise.resolve("/b/python"), ownInterpreter: () => "/own/python" },
    );
    assert.equal(await interpreterOf({}, there), "/own/python");
});

test("the extension's own environment comes first where that is wanted", async () => {
    const there = world({ python3: GOOD, "/own/python": GOOD }, { ownInterpreter: () => "/own/python" });
    assert.equal(await interpreterOf({ importStrategy: "useBundled" }, there), "/own/python");
    const without = await resolveServer({ ...DEFAULTS, importStrategy: "useBundled" }, world({ python3: GOOD }));
    assert.ok(!without.found && without.reason.includes("not installed yet"));
});

test("what the extension carries runs with a Python that has no server", async () => {
    const bare = { ...BARE, suffix: ".cpython-312-x86_64-linux-gnu.so" };
    const carries = (suffix: string): boolean => suffix === bare.suffix;
    const resolved = await resolveServer(DEFAULTS, world({ python3: bare }, { carries }));
    assert.ok(resolved.found && resolved.server.kind === "python");
    assert.deepEqual([resolved.server.interpreter, resolved.server.from, resolved.server.shim], ["python3", CARRIED, false]);
    assert.equal(await interpreterOf({}, world({ python3: { ...bare, suffix: ".cpython-39-x.so" } }, { carries })).then((said) => said.slice(0, 4)), "none");
    const both = world({ python3: bare, "/own/python": GOOD }, { carries, ownInterpreter: () => "/own/python" });
    assert.equal(await interpreterOf({}, both), "/own/python");
    const installed = world({ python3: { ...GOOD, suffix: bare.suffix } }, { carries });
    const own = await resolveServer(DEFAULTS, installed);
    assert.ok(own.found && own.server.from !== CARRIED);
    const wanted = await resolveServer({ ...DEFAULTS, importStrategy: "useBundled" }, installed);
    assert.ok(wanted.found && wanted.server.from === CARRIED);
});

test("the shim is that of the user's environment, not of the extension's", async () => {
    const there = world({ "/b/python": BARE, "/own/python": { ...GOOD, shim: true } }, {
        activeInterpreter: () => Promise.resolve("/b/python"),
        ownInterpreter: () => "/own/python",
    });
    const without = await resolveServer(DEFAULTS, there);
    assert.ok(without.found && without.server.kind === "python" && !without.server.shim);
    const shimmed = { ...there, probe: (name: string) => Promise.resolve(name === "/b/python" ? { ...BARE, shim: true } : GOOD) };
    const withShim = await resolveServer(DEFAULTS, shimmed);
    assert.ok(withShim.found && withShim.server.kind === "python" && withShim.server.shim);
});

test("what is missing is said", async () => {
    const resolved = await resolveServer(DEFAULTS, world({ python3: BARE }));
    assert.ok(!resolved.found);
    assert.match(resolved.reason, /python3 .* has no terra-refactor\[lsp\]: No module named 'pygls'/);
    assert.match(resolved.reason, /python \(the search path\) does not run/);
});

test("an old Python is no candidate", async () => {
    const resolved = await resolveServer(DEFAULTS, world({ python3: { python: "3.9", server: "0.1.0" } }));
    assert.ok(!resolved.found && resolved.reason.includes("Python 3.9"));
});

test("the extension's environment is never made from itself", async () => {
    const there = world({ python: BARE, "/own/python": GOOD }, { ownInterpreter: () => "/own/python" });
    assert.equal(await interpreterOf({}, there), "/own/python");
    assert.equal(await baseInterpreter(DEFAULTS, there), "python");
    assert.equal(await baseInterpreter({ ...DEFAULTS, importStrategy: "useBundled" }, there), "python");
    assert.equal(await baseInterpreter({ ...DEFAULTS, interpreter: "/own/python" }, there), undefined);
    assert.equal(await baseInterpreter(DEFAULTS, world({ python3: { python: "3.9", server: undefined } })), undefined);
});

test("a wheel tells its version", () => {
    assert.equal(wheelVersion("terra_refactor-0.1.0-py3-none-any.whl"), "0.1.0");
    assert.equal(wheelVersion("else"), undefined);
});

test("versions are compared as numbers", () => {
    assert.ok(isAtLeast("3.10", "3.9"));
    assert.ok(!isAtLeast("3.9", "3.10"));
    assert.ok(isAtLeast("4.0", "3.10"));
});

test("a server is the same if nothing of it differs", () => {
    const server = { kind: "python", interpreter: "p", version: "1", from: "x", shim: false } as const;
    assert.ok(sameServer(server, { ...server }));
    assert.ok(!sameServer(server, { ...server, version: "2" }));
    assert.ok(!sameServer(undefined, server));
});

test("what is missing is said in the language of the editor", async () => {
    const words: Record<string, string> = { "{0} ({1}) does not run": "{0} ({1}) läuft nicht", "the search path": "Suchpfad" };
    const said = world({}, {}).say;
    const there = world({}, { fallbacks: ["python3"], say: (sentence, ...parts) => said(words[sentence] ?? sentence, ...parts) });
    assert.equal(await interpreterOf({}, there), "none: python3 (Suchpfad) läuft nicht");
});
