// Settings: what stands for folders, and that package.json declares what the code reads.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { expand, SECTION, SERVER_SETTINGS, STARTING_SETTINGS } from "../common/settings";

interface Manifest {
    readonly contributes: {
        readonly configuration: { readonly properties: Record<string, { readonly scope?: string; readonly markdownDescription?: string }> };
        readonly commands: readonly { readonly command: string }[];
    };
    readonly capabilities: { readonly untrustedWorkspaces: { readonly restrictedConfigurations: readonly string[] } };
}

const manifest = JSON.parse(readFileSync("package.json", "utf-8")) as Manifest;

test("folders are put into settings", () => {
    assert.equal(expand("${workspaceFolder}/.venv/bin/python", "/projects", "/home/me"), "/projects/.venv/bin/python");
    assert.equal(expand("~/venv", undefined, "/home/me"), "/home/me/venv");
    assert.equal(expand("${userHome}/x", undefined, "/home/me"), "/home/me/x");
    assert.equal(expand("a~b", undefined, "/home/me"), "a~b");
});

test("every setting has a description and a scope, and lies below one name", () => {
    for (const [name, property] of Object.entries(manifest.contributes.configuration.properties)) {
        assert.ok(name.startsWith(`${SECTION}.`), name);
        assert.ok(property.markdownDescription, name);
        assert.ok(property.scope, name);
    }
});

test("settings that name programs are off in workspaces that are not trusted", () => {
    for (const name of SERVER_SETTINGS) {
        assert.ok(name in manifest.contributes.configuration.properties, name);
        assert.ok(manifest.capabilities.untrustedWorkspaces.restrictedConfigurations.includes(name), name);
    }
});

test("settings that need another start of the server are declared", () => {
    for (const name of STARTING_SETTINGS) {
        assert.ok(name in manifest.contributes.configuration.properties, name);
    }
});

test("every command of the palette is registered", () => {
    const code = readFileSync("src/common/commands.ts", "utf-8");
    for (const { command } of manifest.contributes.commands) {
        assert.ok(code.includes(`register("${command.slice(SECTION.length + 1)}"`), command);
    }
});
