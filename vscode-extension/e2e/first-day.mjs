// The first day of somebody who has a project. What they do was written down before it was tried, and no step needs the manual:
//
//   1. Install the extension and open the folder. The interpreter is the one that Python Environments has chosen; no setting is made.
//   2. Open a file. Shapes stand behind names, and a line stands above each function that can be changed.
//   3. Point at the name of such a function, and read what was decided, and why.
//   4. Click the line above it: the change is in the file, perhaps after a preview that says why it is to be confirmed.
//   5. Open the menu of another function, or the palette if its change is safe. Choose to have it proven. Agree that the program runs.
//   6. Read the comparison. If the change assumes something, read that and confirm it. Find the change in the file.
//   7. Look at the findings, and at the report of the whole project.
//   8. Uninstall. Nothing but the two changes is left in the folder.
//
//   node e2e/first-day.mjs --project FOLDER --file FILE --fix NAME --prove NAME --python INTERPRETER [--code-server DIR] [--vsix FILE]
//
// FOLDER is copied. INTERPRETER has TensorFlow, and need not have terra-refactor. Screenshots go to e2e/results; what each step took is printed.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { emptyResults, options, packedEnvironments } from "./options.mjs";
import { PATIENCE, until, Workbench } from "./workbench.mjs";

const values = options({ required: ["project", "file", "fix", "prove"] });
const found = spawnSync(values.python, ["-I", "-c", "import importlib.util as util; raise SystemExit(util.find_spec('tensorflow') is None)"]);
if (found.status !== 0) {
    console.error(`${values.python} does not run, or has no TensorFlow`);
    process.exit(2);
}
const results = emptyResults();
const project = mkdtempSync(path.join(tmpdir(), "first-day-"));
const original = path.resolve(values.project);
cpSync(original, project, { recursive: true });
const text = (folder = project) => readFileSync(path.join(folder, values.file), "utf-8");
const bench = new Workbench({ codeServer: values["code-server"], project, results, settings: { "environments.chosen": values.python } });

/** Line and column of the name of a function (`name` or `Class.name`) in the file as it is now. */
function placeOf(qualname) {
    const [cls, name] = qualname.includes(".") ? qualname.split(".") : [undefined, qualname];
    const lines = text().split("\n");
    const from = cls === undefined ? 0 : lines.findIndex((each) => new RegExp(`^class ${cls}\\b`).test(each));
    const line = lines.findIndex((each, index) => index >= from && each.includes(`def ${name}(`));
    assert.ok(from >= 0 && line >= 0, `there is no function ${qualname}`);
    return [line + 1, lines[line].indexOf(name) + 2];
}

/** Whether the line above a function is the decorator. */
const decorated = (name) => text().split("\n")[placeOf(name)[0] - 2].trim().startsWith("@tf.function");
const button = (label) => bench.button(label);
const COMPARISON = "Show Comparison";
const REVIEW = "Review and Apply";
let proven = true;
let assumes = true; // whether the change that is proven has assumptions

/** The line above the function that the cursor is in the head of; undefined if there is none. */
async function lensAbove() {
    const cursor = await bench.page.locator(".editor-instance .cursors-layer .cursor").first().boundingBox();
    const lenses = bench.page.locator(".codelens-decoration a");
    let nearest;
    for (const lens of await lenses.all()) {
        const box = await lens.boundingBox({ timeout: 1000 }).catch(() => null);
        if (box !== null && box.y < cursor.y && (nearest === undefined || box.y > nearest.y)) {
            nearest = { y: box.y, lens };
        }
    }
    return nearest !== undefined && cursor.y - nearest.y < 60 ? nearest.lens : undefined;
}

async function clickLens() {
    const lens = await lensAbove();
    assert.ok(lens !== undefined, "there is no line above the function");
    console.log(`        the line: ${await lens.innerText()}`);
    await lens.click();
}

const steps = {
    "install the extension and open the folder": async () => {
        bench.install(packedEnvironments(bench.home));
        bench.install(values.vsix);
        await bench.start();
    },
    "open a file, and see shapes and lines": async () => {
        await bench.open(values.file);
        await bench.goTo(...placeOf(values.fix));
        await bench.page.locator(".codelens-decoration:visible").first().waitFor();
        await bench.shot("opened");
        const shown = (await bench.page.locator(".editor-instance .view-lines").allInnerTexts()).join("\n").replaceAll(/\s+/g, " ");
        console.log(`        hints in sight: ${(shown.match(/: (?:float|int|uint|bool)\d* \([^)]*\)/g) ?? []).length}`);
        assert.equal(await bench.notification("terra-refactor").count(), 0, "something is notified at the start");
    },
    "read what was decided, and why": async () => {
        const card = bench.page.locator(`.monaco-hover:visible:has-text("${values.fix}")`).first();
        await until(async () => {
            await bench.run("Show or Focus Hover"); // one that is asked for while the text still moves is closed again
            return card.waitFor({ timeout: 5000 }).then(
                () => true,
                () => false,
            );
        }, "there is no card");
        console.log(`        ${(await card.innerText()).split("\n").slice(0, 3).join(" | ").slice(0, 200)}`);
        await bench.shot("card");
        await bench.page.keyboard.press("Escape");
    },
    "make a change by a click": async () => {
        await clickLens();
        const preview = bench.page.locator(".bulk-edit-panel .monaco-list-row").first();
        await until(async () => decorated(values.fix) || preview.isVisible(), "the click did nothing");
        if (!decorated(values.fix)) {
            await bench.ticked();
            console.log(`        to confirm: ${await preview.innerText()}`);
            await bench.shot("to-confirm");
            await bench.confirm();
        }
        await until(() => decorated(values.fix), "the change was not made");
        await bench.goTo(...placeOf(values.fix));
        await until(async () => (await lensAbove()) === undefined, "the line above the function stays");
        await bench.shot("changed");
    },
    "have another change proven": async () => {
        await bench.goTo(...placeOf(values.prove));
        await until(async () => (await lensAbove()) !== undefined, "there is no line above the function to be proven");
        const line = await (await lensAbove()).innerText();
        console.log(`        the line: ${line}`);
        assumes = /assumption| · if /.test(line);
        if (assumes) {
            await bench.openActions("Prove by running");
            await bench.shot("menu");
            await bench.choose("Prove by running");
        } else {
            await bench.run("terra-refactor: Prove and Apply the Change of This Function (Runs the Program)");
        }
        await bench.page.locator(".monaco-dialog-box .monaco-button:has-text('Run It')").click();
        await bench.page.locator(".statusbar-item:has-text('with and without the change')").first().waitFor();
        await bench.shot("running");
        await bench.offers(COMPARISON, 3 * PATIENCE);
        console.log(`        ${(await bench.page.locator(".notification-list-item-message").allInnerTexts()).join("; ")}`);
        await bench.shot("proven");
        assert.ok(!assumes || !decorated(values.prove), "the change was made before anybody confirmed what it assumes");
    },
    "read the comparison": async () => {
        await button(COMPARISON).click();
        const page = await bench.pageWith([values.prove, "No file of yours was changed"], "the comparison is not shown");
        console.log(page.trim().replaceAll(/^\s*/gm, "        | "));
        await bench.shot("comparison");
        await bench.run("View: Close Editor");
    },
    "confirm what is assumed": async () => {
        if (!(await button(REVIEW).isVisible())) {
            proven = !assumes && decorated(values.prove);
            console.log(proven ? "        it is safe, and was made" : "        it was not proven, and nothing was changed");
            assert.ok(proven || !decorated(values.prove), "a change that is not proven was made");
            return;
        }
        await button(REVIEW).click();
        await bench.page.locator(".bulk-edit-panel .monaco-list-row").first().waitFor();
        await bench.ticked();
        await bench.shot("assumptions");
        await bench.confirm();
        await until(() => decorated(values.prove), "the proven change was not made");
        await bench.goTo(...placeOf(values.prove));
        await until(async () => (await lensAbove()) === undefined, "the line above the proven function stays");
        await bench.run("Notifications: Clear All Notifications");
        await bench.shot("applied");
    },
    "look at findings and report": async () => {
        await bench.run("View: Focus Problems");
        await bench.page.locator(".markers-panel").waitFor();
        await bench.shot("findings");
        await bench.run("View: Hide Panel");
        await bench.run("terra-refactor: Show Report");
        await bench.pageWith(["Call graph", values.prove], "there is no report");
        await bench.shot("report");
    },
    uninstall: async () => {
        bench.uninstall("terra-refactor.terra-refactor");
        const files = (folder) => readdirSync(folder, { recursive: true }).map(String).sort();
        assert.deepEqual(files(project), files(original), "something is left in the folder");
        const changed = files(original).filter((name) => statSync(path.join(original, name)).isFile() && !readFileSync(path.join(original, name)).equals(readFileSync(path.join(project, name))));
        assert.deepEqual(changed, [values.file], "other files were changed");
        const added = text().split("\n").length - text(original).split("\n").length;
        assert.equal(decorated(values.prove), proven);
        console.log(`        lines added to ${values.file}: ${added}`);
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
