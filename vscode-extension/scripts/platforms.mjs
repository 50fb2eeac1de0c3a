// One package for each platform, as the marketplaces take them: each with the native modules of LibCST for that platform alone.
//
//   node scripts/platforms.mjs [TARGET...]     default: all that scripts/libs.mjs knows
//
// Needs what scripts/libs.mjs needs; the modules of other platforms are only unpacked, never run.
import { spawnSync } from "node:child_process";
import { PLATFORMS } from "./targets.mjs";

const targets = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(PLATFORMS);
run("node", "scripts/wheel.mjs");
run("node", "scripts/build.mjs", "--production");
run("node", "scripts/readme.mjs");
for (const target of targets) {
    const file = `terra-refactor-${target}.vsix`;
    run("node", "scripts/libs.mjs", target);
    run("npx", "vsce", "package", "--readme-path", "dist/README.md", "--target", target, "--no-dependencies", "--allow-missing-repository", "--no-rewrite-relative-links", "--skip-license", "--out", file);
    run("node", "scripts/contents.mjs", file, target);
}

function run(command, ...args) {
    const done = spawnSync(command, args, { stdio: "inherit" });
    if (done.status !== 0) {
        process.exit(done.status ?? 1);
    }
}
