// Bundles the extension to dist/ (with --production: minified, without source maps), or its tests to out/test (with --tests).
import { build } from "esbuild";
import { readdirSync, rmSync } from "node:fs";

const production = process.argv.includes("--production");
const common = { bundle: true, platform: "node", target: "node18", format: "cjs", logLevel: "warning" };

if (process.argv.includes("--tests")) {
    rmSync("out", { recursive: true, force: true });
    const tests = readdirSync("src/test").filter((name) => name.endsWith(".test.ts"));
    await build({ ...common, entryPoints: tests.map((name) => `src/test/${name}`), outdir: "out/test", external: ["vscode"] });
} else {
    rmSync("dist", { recursive: true, force: true });
    await build({
        ...common,
        entryPoints: ["src/extension.ts"],
        outfile: "dist/extension.js",
        external: ["vscode"],
        minify: production,
        sourcemap: !production,
    });
}
