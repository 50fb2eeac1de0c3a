// Unpacks the server and what it needs into bundled/libs, so that any Python 3.10 or newer of one platform can run it at once, without an
// index: pure packages, and LibCST and PyYAML with their native modules for each version of Python (their file names name version and platform).
//
//   node scripts/libs.mjs [TARGET]     TARGET as for `vsce package --target`; default: this machine
//
// Needs the wheel of scripts/wheel.mjs, a Python with pip (PYTHON, else that of the repository's environment, else python3), and an index.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { PLATFORMS } from "./targets.mjs";

const VERSIONS = ["3.10", "3.11", "3.12", "3.13", "3.14"];
/** What the server imports, in releases that run on every version above; typer and rich are only for the commands. */
const PURE = [
    ...["pygls>=2.0", "lsprotocol", "cattrs", "attrs", "networkx>=3.2,<3.5", "packaging>=22", "pathspec>=0.12", "platformdirs>=4", "typing-extensions>=4.10"],
    ...["tomli>=2", "exceptiongroup"],
];
/** Nothing of these is ever imported by the server. */
const SURPLUS = /^(tests|__pycache__|codemod)$/; // LibCST imports `codemod` for its own command only
const libs = "bundled/libs";

const target = process.argv[2] ?? `${process.platform}-${process.arch}`;
const platforms = PLATFORMS[target];
if (platforms === undefined) {
    console.error(`no native modules are known for ${target}: the extension will install its server on request`);
    process.exit(0);
}
const own = "../.venv/bin/python";
const python = process.env.PYTHON ?? (existsSync(own) ? own : "python3");
const wheel = path.join("bundled/wheels", readdirSync("bundled/wheels").find((name) => name.endsWith(".whl")));
rmSync(libs, { recursive: true, force: true });
mkdirSync(libs, { recursive: true });

pip("install", "--target", libs, "--no-deps", "--no-compile", "--only-binary", ":all:", "--platform", "any", "--python-version", "3.10", wheel, ...PURE);
const downloads = mkdtempSync(path.join(tmpdir(), "terra-libcst-"));
for (const version of VERSIONS) {
    const where = path.join(downloads, version);
    const tags = platforms.flatMap((platform) => ["--platform", platform]);
    pip("install", "--target", where, "--no-deps", "--no-compile", "--only-binary", ":all:", "--python-version", version, ...tags, "libcst>=1.9", "pyyaml>=6.0.1");
    move(where);
}
rmSync(downloads, { recursive: true, force: true });
prune(libs);
for (const [folder, module] of [["libcst", "native"], ["yaml", "_yaml"]]) {
    const natives = readdirSync(path.join(libs, folder)).filter((name) => name.startsWith(`${module}.`) && /\.(so|pyd)$/.test(name));
    if (natives.length !== VERSIONS.length) {
        console.error(`native modules of ${folder} for ${VERSIONS.length} versions were wanted: ${natives.join(", ")}`);
        process.exit(1);
    }
}
console.log(`${libs} for ${target}: ${VERSIONS.length} versions of Python`);

function pip(command, ...options) {
    const done = spawnSync(python, ["-m", "pip", command, "--quiet", "--disable-pip-version-check", ...options], { stdio: "inherit" });
    if (done.status !== 0) {
        process.exit(done.status ?? 1);
    }
}

/** The first version brings all of LibCST and PyYAML, the others their native modules. */
function move(from) {
    const first = !existsSync(path.join(libs, "libcst"));
    const code = [
        "import pathlib, shutil, sys",
        "source, libs, first = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3] == 'true'",
        "for each in sorted(source.iterdir()) if first else []:",
        "    if each.name.lower().startswith(('libcst', 'pyyaml', 'yaml', '_yaml')): shutil.copytree(each, libs / each.name)",
        "for each in [] if first else [*source.glob('libcst/native.*'), *source.glob('yaml/_yaml.*')]:",
        "    shutil.copy(each, libs / each.parent.name)",
    ].join("\n");
    const done = spawnSync(python, ["-c", code, from, libs, String(first)], { stdio: "inherit" });
    if (done.status !== 0) {
        process.exit(done.status ?? 1);
    }
}

function prune(folder) {
    for (const name of readdirSync(folder)) {
        const file = path.join(folder, name);
        if (SURPLUS.test(name) || name === "bin" || name.endsWith(".pyi")) {
            rmSync(file, { recursive: true });
        } else if (statSync(file).isDirectory()) {
            prune(file);
        }
    }
}
