// The picture of docs/tutorial.md that shows the editor. `tools/tutorial_pictures.py` calls this with the project of the tutorial.
//
//   node e2e/tutorial.mjs --project FOLDER --output FOLDER [--code-server DIR] [--python INTERPRETER] [--vsix FILE]

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { options } from "./options.mjs";
import { Workbench } from "./workbench.mjs";

const values = options({ required: ["project", "output"] });
const FILE = "src/bnnsurv/models.py";
const output = path.resolve(values.output);
mkdirSync(output, { recursive: true });
const lines = readFileSync(path.join(values.project, FILE), "utf-8").split("\n");
const tape = lines.findIndex((line) => line.includes("tf.GradientTape")) + 1;
assert.ok(tape > 0, `${FILE} has no tape`);
const bench = new Workbench({
    codeServer: values["code-server"],
    project: path.resolve(values.project),
    results: output,
    settings: { "terra-refactor.interpreter": values.python, "editor.fontSize": 13, "editor.stickyScroll.enabled": false, "files.autoSave": "off" },
});

/** The editor without what is around it. */
async function picture(name) {
    const box = await bench.page.locator(".part.editor").boundingBox();
    await bench.page.screenshot({ path: path.join(output, name), clip: box, animations: "disabled", timeout: 20_000 });
}

let failed = 0;
try {
    bench.install(values.vsix);
    await bench.start();
    await bench.page.setViewportSize({ width: 960, height: 500 });
    await bench.open(FILE);
    await bench.run("View: Toggle Primary Side Bar Visibility");
    await bench.goTo(tape + 7, 1);
    await bench.goTo(tape - 1, 17);
    await bench.shows("logits: float32 (32, 1)");
    await bench.openActions("Extract");
    await picture("tutorial-extract.png");
} catch (error) {
    failed = 1;
    console.log(`FAILED  ${error instanceof Error ? error.stack : String(error)}\n${await bench.evidence("tutorial").catch(String)}`);
} finally {
    await bench.stop();
}
process.exit(failed);
