// The first day of somebody who has a project: install, open, read, change with proof, look at the whole, uninstall. Nothing is set up for it
// but the interpreter of the project, and no step needs the manual.
//
//   node e2e/first-day.mjs --project FOLDER --file FILE --function NAME [--code-server DIR] [--python INTERPRETER] [--vsix FILE]
//
// FOLDER is copied. INTERPRETER has TensorFlow. Screenshots go to e2e/results; what each step took is printed.

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { emptyResults, options } from "./options.mjs";
import { PATIENCE, until, Workbench } from "./workbench.mjs";

const values = options({ required: ["project", "file", "function"] });
const results = emptyResults();
const project = mkdtempSync(path.join(tmpdir(), "first-day-"));
cpSync(path.resolve(values.project), project, { recursive: true });
const text = () => readFileSync(path.join(project, values.file), "utf-8");
const before = text();
const line = before.split("\n").findIndex((each) => each.includes(`def ${values.function}(`)) + 1;
assert.ok(line > 0, `there is no function ${values.function}`);
const column = before.split("\n")[line - 1].indexOf(values.function) + 2;
const bench = new Workbench({
    codeServer: values["code-server"],
    project,
    results,
    settings: { "terra-refactor.interpreter": values.python, "terra-refactor.importStrategy": "useBundled" },
});

const COMPARISON = "Show Comparison";
const REVIEW = "Review and Apply";
const message = (button) => bench.page.locator(`.notification-list-item .monaco-button:has-text('${button}')`).first();
let same = false; // what the proof gave

const steps = {
    "install and open the folder": async () => {
        bench.install(values.vsix);
        await bench.start();
    },
    "the first line above a function": async () => {
        await bench.open(values.file);
        await bench.goTo(line, column);
        await bench.page.locator(".codelens-decoration").first().waitFor();
        await bench.shot("opened");
    },
    "read why": async () => {
        await bench.run("Show or Focus Hover");
        await bench.page.locator(`.monaco-hover:visible:has-text("${values.function}")`).first().waitFor();
        await bench.shot("card");
        await bench.page.keyboard.press("Escape");
    },
    prove: async () => {
        await bench.run("terra-refactor: Prove and Apply the Change of This Function (Runs the Program)");
        await bench.page.locator(".monaco-dialog-box .monaco-button:has-text('Run It')").click();
        await message(COMPARISON).waitFor({ timeout: 3 * PATIENCE });
        await bench.shot("proven");
        const said = await bench.page.locator(".notification-list-item-message").allInnerTexts();
        console.log(`        ${said.join("; ")}`);
        same = said.some((each) => each.includes(`${values.function}: the same with and without the change`));
    },
    "read the comparison": async () => {
        await message(COMPARISON).click();
        const page = await bench.pageWith([values.function, "No file of yours was changed"], "the comparison is not shown");
        console.log(page.replaceAll(/^\s*/gm, "        | "));
        await bench.shot("comparison");
        await bench.run("View: Close Editor");
    },
    apply: async () => {
        if (!same) {
            assert.equal(text(), before, "a change that is not proven was made");
            return;
        }
        if (await message(REVIEW).isVisible()) {
            assert.equal(text(), before, "the change was made before its assumptions were confirmed");
            await message(REVIEW).click();
            await bench.page.locator(".bulk-edit-panel .monaco-list-row").first().waitFor();
            await bench.shot("assumptions");
            await bench.confirm();
        }
        await until(() => text() !== before, "the proven change was not made");
        await bench.shot("applied");
        await bench.run("Notifications: Clear All Notifications");
    },
    "the whole project": async () => {
        await bench.run("terra-refactor: Show Report");
        await bench.pageWith(["Call graph", values.function], "there is no report");
        await bench.shot("report");
    },
    uninstall: async () => {
        bench.uninstall("terra-refactor.terra-refactor");
    },
};

let failed = 0;
try {
    for (const [name, step] of Object.entries(steps)) {
        const started = Date.now();
        await step();
        console.log(`ok      ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
    }
} catch (error) {
    failed = 1;
    console.log(`FAILED  ${error instanceof Error ? error.stack : String(error)}\n${await bench.evidence("first-day").catch(String)}`);
} finally {
    await bench.stop();
    rmSync(project, { recursive: true, force: true });
}
process.exit(failed);
