// The strings that the extension shows, for translators: every text that `vscode.l10n.t`, `say` or `later` is given in src/ goes into
// l10n/bundle.l10n.json. A translation is a file beside it, such as bundle.l10n.de.json; those of package.json stand in package.nls.json.
//
//   node scripts/strings.mjs [--check]

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), "..");
const file = path.join(root, "l10n/bundle.l10n.json");
const found = new Set();
for (const name of readdirSync(path.join(root, "src"), { recursive: true }).map(String).sort()) {
    if (name.endsWith(".ts") && !name.startsWith("test")) {
        const text = readFileSync(path.join(root, "src", name), "utf-8");
        for (const [, written] of text.matchAll(/\b(?:l10n\.t|say|later)\(\s*("(?:[^"\\]|\\.)*")/g)) {
            found.add(JSON.parse(written));
        }
    }
}
const bundle = `${JSON.stringify(Object.fromEntries([...found].sort().map((each) => [each, each])), undefined, 2)}\n`;
/** What is wrong with the texts of package.json: one that is not in package.nls.json, one there that nothing uses, settings out of order. */
function problemsOfManifest() {
    const manifest = readFileSync(path.join(root, "package.json"), "utf-8");
    const texts = JSON.parse(readFileSync(path.join(root, "package.nls.json"), "utf-8"));
    const used = new Set([...manifest.matchAll(/"%([\w.-]+)%"/g)].map(([, key]) => key));
    const { commands, configuration } = JSON.parse(manifest).contributes;
    const settings = Object.entries(configuration.properties);
    return [
        ...[...used].filter((key) => !(key in texts)).map((key) => `${key} is not in package.nls.json`),
        ...Object.keys(texts).filter((key) => !used.has(key)).map((key) => `nothing uses ${key} of package.nls.json`),
        ...commands.filter(({ title }) => !/^%.*%$/.test(title)).map(({ command }) => `the title of ${command} cannot be translated`),
        ...settings.filter(([, { markdownDescription }]) => !/^%.*%$/.test(markdownDescription)).map(([name]) => `the text of ${name} cannot be translated`),
        ...settings.filter(([, { order }], index) => order !== 10 * (index + 1)).map(([name]) => `${name} is not numbered in the order of the file`),
    ];
}

if (process.argv.includes("--check")) {
    const problems = problemsOfManifest();
    if (problems.length > 0) {
        console.error(problems.join("\n"));
        process.exit(1);
    }
    let known = "";
    try {
        known = readFileSync(file, "utf-8");
    } catch {
        // it is not there yet
    }
    if (known !== bundle) {
        console.error("l10n/bundle.l10n.json is not what the sources say: node scripts/strings.mjs");
        process.exit(1);
    }
} else {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, bundle);
}
