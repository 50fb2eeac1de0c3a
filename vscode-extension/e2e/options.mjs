// The options that every script of this folder has, beside its own: where code-server, the interpreter and the packaged extension are.

import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

export const here = path.dirname(fileURLToPath(import.meta.url));

/** The values of the options, with absolute paths for the three that all scripts share. `required` ones are texts without a default. */
export function options({ required = [], optional = {} } = {}) {
    const { values } = parseArgs({
        options: {
            "code-server": { type: "string", default: path.join(here, "../../.code-server") },
            python: { type: "string", default: path.join(here, "../../.venv/bin/python") },
            vsix: { type: "string", default: path.join(here, "../terra-refactor.vsix") },
            ...Object.fromEntries(required.map((name) => [name, { type: "string" }])),
            ...Object.fromEntries(Object.entries(optional).map(([name, value]) => [name, { type: "string", default: value }])),
        },
    });
    const missing = required.filter((name) => values[name] === undefined);
    if (missing.length > 0) {
        console.error(`needs ${missing.map((name) => `--${name}`).join(", ")}`);
        process.exit(2);
    }
    for (const name of ["code-server", "python", "vsix"]) {
        values[name] = path.resolve(values[name]);
    }
    return values;
}

/** An empty folder for the pictures of a run. */
export function emptyResults() {
    const results = path.join(here, "results");
    rmSync(results, { recursive: true, force: true });
    mkdirSync(results, { recursive: true });
    return results;
}

/** Packs what stands for Python Environments (environments/), which only a gallery has. Its setting `environments.chosen` is the interpreter. */
export function packedEnvironments(folder) {
    const file = path.join(folder, "environments.vsix");
    const flags = ["--no-dependencies", "--allow-missing-repository", "--skip-license", "--out", file];
    const packed = spawnSync("npx", ["vsce", "package", ...flags], { cwd: path.join(here, "environments"), encoding: "utf-8" });
    if (packed.status !== 0) {
        throw new Error(`environments/ was not packed:\n${packed.stdout}${packed.stderr}`);
    }
    return file;
}
