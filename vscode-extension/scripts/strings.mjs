// The strings that the extension shows, for translators: every first argument of `vscode.l10n.t` in src/ goes into l10n/bundle.l10n.json. A
// translation is a file beside it, such as bundle.l10n.de.json; those of package.json stand in package.nls.json.
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
        for (const [, written] of text.matchAll(/\bl10n\.t\(\s*("(?:[^"\\]|\\.)*")/g)) {
            found.add(JSON.parse(written));
        }
    }
}
const bundle = `${JSON.stringify(Object.fromEntries([...found].sort().map((each) => [each, each])), undefined, 2)}\n`;
if (process.argv.includes("--check")) {
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
