// Checks what a .vsix holds: the bundle, one wheel of the server, and what is shown of the extension; no source maps, no sources, no tests.
//
//   node scripts/contents.mjs FILE.vsix [TARGET]
import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import yauzl from "yauzl";

const ALLOWED = [
    /^\[Content_Types\]\.xml$/,
    /^extension\.vsixmanifest$/,
    /^extension\/(package\.json|package\.nls\.json|readme\.md|changelog\.md|LICENSE(\.txt)?)$/,
    /^extension\/l10n\/bundle\.l10n(\.[\w-]+)?\.json$/,
    /^extension\/dist\/extension\.js$/,
    /^extension\/bundled\/tool\/launch\.py$/,
    /^extension\/bundled\/wheels\/terra_refactor-[^/]+-py3-none-any\.whl$/,
    /^extension\/bundled\/libs\/(_yaml|attrs?|cattrs?|exceptiongroup|libcst|lsp_server|lsprotocol|networkx|packaging|pathspec|platformdirs|pygls|[Pp]y[Yy][Aa][Mm][Ll]|terra_refactor|tomli|typing_extensions|yaml)(-[^/]+\.dist-info)?(\/|\.py$)/,
    /^extension\/media\/(icon\.png|walkthrough\/[\w-]+\.(png|md))$/,
];
const LARGEST = 20_000_000; // LibCST's native module, for five versions of Python, is most of it

const file = await promisify(yauzl.open)(process.argv[2], { lazyEntries: true, autoClose: false });
const entries = new Map();
await new Promise((resolve, reject) => {
    file.on("entry", (entry) => {
        entries.set(entry.fileName, entry);
        file.readEntry();
    });
    file.on("end", resolve);
    file.on("error", reject);
    file.readEntry();
});
const read = async (name) => text(await promisify(file.openReadStream.bind(file))(entries.get(name)));

const surplus = [...entries.keys()].filter((name) => !ALLOWED.some((pattern) => pattern.test(name)));
assert.deepEqual(surplus, [], "files that have no place in the package");
for (const pattern of ALLOWED) {
    assert.ok([...entries.keys()].some((name) => pattern.test(name)), `nothing in the package is ${pattern}`);
}
const wheels = [...entries.keys()].filter((name) => name.endsWith(".whl"));
assert.equal(wheels.length, 1, "one wheel");
const unwanted = [...entries.keys()].filter((name) => /__pycache__|\.pyc$|\/tests\//.test(name));
assert.deepEqual(unwanted, [], "files that nothing imports");
const target = process.argv[3];
if (target !== undefined) {
    const natives = [...entries.keys()].filter((name) => name.includes("/libcst/native."));
    const system = { linux: /-linux-gnu\.so$/, darwin: /-darwin\.so$/, win32: /-win_amd64\.pyd$/ }[target.split("-")[0]];
    assert.ok(natives.length > 0 && natives.every((name) => system.test(name)), `native modules of another platform: ${natives.join(", ")}`);
    assert.ok((await read("extension.vsixmanifest")).includes(`TargetPlatform="${target}"`), "the package is not for that platform");
}
const bundle = await read("extension/dist/extension.js");
assert.ok(!bundle.includes("sourceMappingURL"), "the bundle names a source map");
assert.ok(!bundle.includes("node:test"), "the bundle holds tests");
const manifest = JSON.parse(await read("extension/package.json"));
const pictures = [...(await read("extension/readme.md")).matchAll(/!\[[^\]]*\]\(([^)]+)\)/g)];
assert.ok(pictures.length > 0, "the README has no pictures");
for (const [, picture] of pictures) {
    assert.match(picture, /^data:image\/png;base64,iVBOR/, "a picture of the README is not in it");
}
const size = [...entries.values()].reduce((sum, entry) => sum + entry.compressedSize, 0);
assert.ok(size <= LARGEST, `${size} bytes are too many`);
file.close();
console.log(`${manifest.name} ${manifest.version}: ${entries.size} files, ${(size / 1024).toFixed(0)} KiB, ${wheels[0].split("/").at(-1)}`);
