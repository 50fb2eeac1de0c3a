// End to end: the packaged extension in a real VS Code workbench. Each step is what a person would do; screenshots go to e2e/results.
//
//   node e2e/run.mjs --code-server DIR --python INTERPRETER --vsix FILE
//
// INTERPRETER has terra-refactor[lsp] installed. Needs Chromium (CHROMIUM, or /usr/bin/chromium), and an index of Python packages for the
// step that installs the server. A step that fails leaves a picture and the logs in e2e/results; no step is tried twice.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { emptyResults, here, options, packedEnvironments } from "./options.mjs";
import { PATIENCE, until, within, Workbench } from "./workbench.mjs";

// --only: steps whose names have one of these texts (between `|`) in them; most need those before them
const values = options({ optional: { only: "" } });
const only = values.only.split("|");
const results = emptyResults();
const project = mkdtempSync(path.join(tmpdir(), "terra-project-"));
cpSync(path.join(here, "project"), project, { recursive: true });
const onDisk = (name) => readFileSync(path.join(project, name), "utf-8");

const bench = new Workbench({
    codeServer: values["code-server"],
    project,
    results,
    settings: { "terra-refactor.interpreter": values.python },
});

const steps = [
    ["diagnostics appear", diagnostics],
    ["a rule's page is shown as a page", rulePage],
    ["hover shows a shape, and the card of a function", hover],
    ["hints stand behind the layers of a model, its summary is a table, and hover says where sizes come from", layers],
    ["inlay hints show shapes", hints],
    ["a quick fix adds decorator and import to the file", quickFix],
    ["a speculative change asks for confirmation", speculative],
    ["a change is proven by running the program, and then made", proving],
    ["a training step is extracted once it is proven", extraction],
    ["the way from a function to what keeps it from being a graph is shown", goToCause],
    ["the calls along which effects travel are shown, in both directions", effects],
    ["code that runs as a graph is marked, and the marks are hidden again", graphCode],
    ["the changes of the whole workspace are listed, and one is made", proposals],
    ["all safe changes are listed, each ticked, and made", allSafe],
    ["a double click on a parameter's hint writes the annotation", doubleClick],
    ["the types of a function are written into its signature", writeTypes],
    ["what keeps a function from being a graph is cured", cureHazard],
    ["a finding is ignored with a reason", suppression],
    ["findings of all files are listed, those of closed notebooks included", workspace],
    ["a notebook has hints and diagnostics in its cells", notebook],
    ["the report is shown", report],
    ["the report follows a dark theme and one of high contrast", darkReport],
    ["the walkthrough is readable in dark, light and high-contrast themes", walkthrough],
    ["what a run showed stands above the function and in the finding, with its fix", recorded],
    ["severities, the outline and the log follow their settings", settings],
    ["the settings are in their order", settingsOrder],
    ["the file that is open in a large folder is answered first, and the rest follows", largeFolder],
    ["after an edit in a large folder, what is known comes first, and the rest is that of a new start", largeEdit],
    ["a wrong path of the server is said", wrongPath],
    ["a Python without the server runs the one that the extension carries", carriedServer],
    ["a proof without TensorFlow leads to where another interpreter is selected", proofWithoutTensorFlow],
    ["a server is installed on request", installServer],
    ["the package is added to the environment that Python Environments has chosen", addPackage],
    ["no log has a traceback", quietLogs],
];

async function diagnostics() {
    await bench.open("train.py");
    await bench.page.locator(".squiggly-error").first().waitFor();
    await bench.run("View: Focus Problems");
    await bench.page.locator(".markers-panel .monaco-list-row:has-text('TR401')").waitFor();
    await bench.shot("diagnostics");
    await bench.run("View: Hide Panel");
    await bench.page.locator(".markers-panel").waitFor({ state: "hidden" });
}

async function rulePage() {
    await bench.open("train.py");
    await bench.run("View: Focus Problems");
    await bench.page.locator(".markers-panel .monaco-list-row:has-text('TR401') a.monaco-link").first().click();
    await bench.page.locator(".tab.active:has-text('TR401')").waitFor();
    await until(async () => {
        for (const frame of bench.page.frames()) {
            const heading = await frame.locator("h1").first().innerText({ timeout: 1000 }).catch(() => "");
            if (heading.includes("TR401") && !heading.includes("#")) {
                return true;
            }
        }
        return false;
    }, "the rule's page is not shown as a page");
    await bench.shot("rule-page");
    await bench.run("View: Close Editor");
    await bench.run("View: Hide Panel");
    await bench.page.locator(".markers-panel").waitFor({ state: "hidden" });
}

/** Shows the hover at the cursor. One that is asked for while the text still moves is closed again, so it is asked for until it is seen. */
async function hoverShows(text) {
    const hover = bench.page.locator(`.monaco-hover:visible:has-text("${text}")`).first();
    await until(async () => {
        await bench.run("Show or Focus Hover");
        return hover.waitFor({ timeout: 5000 }).then(
            () => true,
            () => false,
        );
    }, `no hover shows ${JSON.stringify(text)}`);
}

async function hover() {
    await bench.open("train.py");
    await bench.goTo(8, 7);
    await hoverShows("float32 (32, 8)");
    await bench.shot("hover-shape");
    await bench.page.keyboard.press("Escape");
    await bench.open("network.py");
    await bench.goTo(10, 28);
    await hoverShows("matmul: (32, 64) × (64, 10) → (32, 10) · float32");
    await bench.shot("hover-operation");
    await bench.page.keyboard.press("Escape");
    await bench.goTo(15, 1);
    await hoverShows("known parameters: 847");
    await bench.shot("hover-model");
    await bench.page.keyboard.press("Escape");
    await bench.open("model.py");
    await bench.goTo(11, 10);
    await hoverShows("Tower.forward: safe · Add @tf.function"); // the card's head; what is found there speaks of Tower.forward as well
    await bench.shot("hover-function");
    await bench.page.keyboard.press("Escape");
}

async function layers() {
    await bench.open("stacked.py");
    await bench.shows("activation=\"relu\") → float32 (N, 26, 26, 32)");
    await bench.shows("Dense(10) → float32 (N, 10)");
    await bench.goTo(13, 11);
    await hoverShows("known parameters: 216,650");
    await bench.shot("hover-summary");
    await bench.page.keyboard.press("Escape");
    await bench.goTo(15, 2);
    await hoverShows("of (16, 10) and (16, 3)");
    await bench.shot("hover-sizes");
    await bench.page.keyboard.press("Escape");
}

async function hints() {
    await bench.open("model.py");
    await bench.shows("hidden: float32 (32, 8)");
    await bench.shows("batch: float32 (32, 8)");
    await lens("Add @tf.function");
    await bench.shot("hints");
}

/** Waits for a line above a function. */
function lens(text, state = "visible") {
    return bench.page.locator(`.codelens-decoration:has-text("${text}")`).first().waitFor({ state });
}

async function quickFix() {
    await bench.open("model.py");
    await bench.goTo(11, 9);
    await bench.openActions("Add @tf.function: Tower.forward");
    await bench.shot("quick-fix-menu");
    await bench.choose("Add @tf.function: Tower.forward");
    await until(() => /@tf\.function[^\n]*\n    def forward/.test(onDisk("model.py")), "the file has no decorator");
    assert.match(onDisk("model.py"), /^import tensorflow as tf$/m, "the import is missing");
    assert.ok(!/@tf\.function[^\n]*\n    def spread/.test(onDisk("model.py")), "another function was changed");
    await bench.shot("quick-fix-applied");
}

async function speculative() {
    await bench.open("guess.py");
    await bench.goTo(6, 6);
    await lens("Add @tf.function · if 2 assumptions hold");
    const before = onDisk("guess.py");
    await bench.openActions("assumption");
    await bench.shot("speculative-menu");
    await bench.choose("assumption");
    await bench.page.locator(".bulk-edit-panel .monaco-list-row:has-text('loader.normalise')").first().waitFor();
    await bench.ticked();
    await bench.shot("speculative-confirmation");
    assert.equal(onDisk("guess.py"), before, "the file was changed before anybody confirmed");
    await bench.confirm();
    await until(() => /@tf\.function[^\n]*\ndef train_step/.test(onDisk("guess.py")), "the confirmed change was not made");
}

async function proving() {
    await bench.open("scale.py");
    await bench.shows("values: float32 (4, 4)");
    await bench.goTo(6, 6);
    await bench.run("terra-refactor: Prove and Apply the Change of This Function (Runs the Program)");
    await bench.page.locator(".monaco-dialog-box:has-text('Proving runs the program')").waitFor();
    await bench.shot("proof-consent");
    await agree();
    await bench.notification("smooth: the same with and without the change").waitFor({ timeout: 2 * PATIENCE });
    await until(() => /@tf\.function[^\n]*\ndef smooth/.test(onDisk("scale.py")), "the proven change was not made");
    await bench.shot("proven");
    await bench.notification("smooth: the same").locator(".monaco-button:has-text('Show Comparison')").click();
    await bench.pageWith(["median of a call", "No file of yours was changed"], "the comparison is not shown");
    await bench.shot("proof");
    await bench.run("View: Close Editor");
}

/** Consents to the first proof: each opened page stores its own consent. */
async function agree() {
    await bench.page.locator(".monaco-dialog-box:has-text('Proving runs the program') .monaco-button:has-text('Run It')").click();
}

async function extraction() {
    const line = onDisk("fit.py").split("\n").findIndex((text) => text.includes("tf.GradientTape")) + 1;
    await bench.set({ "terra-refactor.prove.command": "python fit.py" });
    await bench.open("fit.py");
    await lens("Extract as @tf.function: train_step");
    await bench.page.locator(".squiggly-info").first().waitFor(); // TR507
    await bench.goTo(line, 14);
    await bench.openActions("Extract as @tf.function: train_step");
    await bench.shot("extraction-menu");
    await bench.page.keyboard.press("Escape");
    await bench.run("terra-refactor: Prove and Apply the Change of This Function (Runs the Program)");
    await agree();
    await bench.offers("Show Comparison", 2 * PATIENCE);
    await bench.notification("train_step: the same with and without the change").waitFor();
    await until(() => /@tf\.function[^\n]*\n    def train_step\(/.test(onDisk("fit.py")), "the proven step was not extracted");
    await lens("Extract as @tf.function: train_step", "detached");
    await bench.page.locator(".squiggly-info").first().waitFor({ state: "detached" });
    await bench.shot("extracted");
    await bench.button("Show Comparison").click();
    await bench.pageWith(["Extract as @tf.function: train_step", "output, exit code and variables are the same"], "the comparison is not shown");
    await bench.run("View: Close Editor");
    await bench.set({ "terra-refactor.prove.command": "" });
}

async function goToCause() {
    await bench.open("cause.py");
    await bench.shows("values: float32 (4, 4)");
    await bench.goTo(10, 6);
    await bench.run("terra-refactor: Go to the Cause");
    const peek = bench.page.locator(".peekview-widget");
    await peek.locator(".ref-tree .monaco-list-row:has-text('print')").first().waitFor();
    await bench.shot("cause");
    await bench.page.keyboard.press("Escape");
    await peek.waitFor({ state: "detached" });
}

async function effects() {
    const rows = bench.page.locator(".pane-body .monaco-list-row");
    const row = (text) => rows.filter({ hasText: text }).first();
    await bench.open("cause.py");
    await bench.shows("values: float32 (4, 4)");
    await bench.goTo(10, 14); // on the name of what is called there
    await bench.run("terra-refactor: Show Effects of Calls");
    await row("told").waitFor();
    await row("print(\"values\", values)").waitFor();
    await bench.goTo(9, 6);
    await bench.run("terra-refactor: Show Effects of Calls");
    await row("watched").waitFor();
    await row("told").locator(".monaco-tl-twistie").click();
    await row("print(\"values\", values)").waitFor();
    await bench.shot("effects-from");
    await row("told").click();
    await bench.page.locator('.statusbar-item:has-text("Ln 4, Col 5")').first().waitFor();
    await bench.run("terra-refactor: Show Effects of Calls");
    await row("watched").waitFor({ state: "detached" });
    const title = (text) => bench.page.locator(".part.sidebar .composite.title").filter({ hasText: text });
    await title("Effects Come From").waitFor();
    await bench.page.locator(".action-label.codicon-call-incoming").first().click();
    await title("Effects Go To").waitFor();
    await row("watched").waitFor();
    await bench.shot("effects-to");
    await bench.run("View: Show Explorer");
}

/** The marked lines of the editor: their numbers, and how the line at their left is drawn. */
function marks() {
    return bench.page.evaluate(() => {
        const found = [];
        for (const each of document.querySelectorAll(".editor-instance .view-overlays .cdr")) {
            const style = getComputedStyle(each);
            if (style.borderLeftWidth === "2px" && style.borderLeftStyle !== "none") {
                found.push(`${style.borderLeftStyle} ${style.borderTopWidth}`);
            }
        }
        return found;
    });
}

async function graphCode() {
    await bench.open("model.py");
    await bench.shows("hidden: float32 (32, 8)");
    assert.deepEqual(await marks(), [], "something is marked before anybody has asked");
    await bench.run("terra-refactor: Show or Hide Code That Runs as a Graph");
    await until(async () => (await marks()).length > 0, "nothing is marked");
    const lines = onDisk("model.py").split("\n");
    const first = lines.findIndex((line) => line.includes("def forward("));
    const last = lines.findIndex((line, index) => index > first && line.startsWith("        return"));
    const marked = await marks();
    assert.deepEqual([marked.length, new Set(marked)], [last - first + 1, new Set(["solid 0px"])], "other lines than those of the function are marked");
    await bench.shot("graph-code");
    await bench.run("terra-refactor: Show or Hide Code That Runs as a Graph");
    await until(async () => (await marks()).length === 0, "the marks are still there");
}

async function proposals() {
    await bench.open("train.py");
    await bench.shows("batch: float32 (32, 8)");
    await bench.run("terra-refactor: List Proposed Changes");
    const row = bench.page.locator(".pane-body .monaco-list-row:has-text('listed: Add @tf.function')").first();
    await row.waitFor();
    await bench.shot("proposals");
    await row.hover();
    await row.locator(".action-label.codicon-check").click();
    await until(() => /@tf\.function[^\n]*\ndef listed/.test(onDisk("listed.py")), "the listed change was not made");
    await row.waitFor({ state: "detached" });
}

async function allSafe() {
    await bench.open("report.py");
    await bench.shows("values: float32 (4, 4)");
    await lens("Co-execute · no graph: host print or log");
    await bench.run("terra-refactor: Make All Safe Changes");
    const rows = bench.page.locator(".quick-input-list .monaco-list-row");
    await rows.filter({ hasText: "summary: Add @tf.function" }).first().waitFor();
    await rows.filter({ hasText: "Open the notebook first" }).first().waitFor();
    await bench.page.locator(".quick-input-widget .quick-input-count:has-text('2 Selected')").waitFor(); // all but the closed notebook's
    await bench.shot("all-safe-list");
    await bench.page.keyboard.press("Enter");
    await until(() => /@tf\.function[^\n]*\ndef summary/.test(onDisk("report.py")), "the safe change was not made");
    await until(() => /@tf\.function[^\n]*\n    def spread/.test(onDisk("model.py")), "the other file was not changed");
    assert.ok(!/@tf\.function[^\n]*\ndef loud/.test(onDisk("report.py")), "an unsafe function was changed");
    await until(async () => (await bench.page.locator(".codelens-decoration:has-text('Add @tf.function')").count()) === 0, "a lens is left");
    await bench.page.locator(".pane-body .monaco-list-row:has-text('summary: Add @tf.function')").waitFor({ state: "detached" });
    await bench.shot("all-safe-applied");
}

async function doubleClick() {
    await bench.open("report.py");
    await bench.shows("def summary(values: float32 (4, 4)");
    const hints = bench.page.locator(".editor-instance .view-line:has-text('summary(values') span:not(:has(span))");
    await hints.filter({ hasText: /^:\sfloat32\s\(4,\s4\)$/ }).first().dblclick();
    await until(() => onDisk("report.py").includes("def summary(values: tf.Tensor):"), "the annotation was not written");
    await bench.goTo(1); // the editor keeps the line's width while the cursor is in it
    await bench.shows("def summary(values: tf.Tensor float32 (4, 4)):");
    await bench.shot("double-click");
}

async function writeTypes() {
    await bench.open("report.py");
    await bench.goTo(onDisk("report.py").split("\n").findIndex((text) => text.includes("def loud(")) + 1, 6);
    await bench.openActions("Write types: values: tf.Tensor → tf.Tensor");
    await bench.choose("Write types: values: tf.Tensor → tf.Tensor");
    await until(() => onDisk("report.py").includes("def loud(values: tf.Tensor) -> tf.Tensor:"), "the types were not written");
    await bench.shot("types-written");
}

async function cureHazard() {
    await bench.open("report.py");
    const line = onDisk("report.py").split("\n").findIndex((text) => text.includes("print(")) + 1;
    await bench.goTo(line, 6);
    await bench.openActions("Print with tf.print");
    await bench.shot("cure-menu");
    await bench.choose("Print with tf.print");
    await bench.page.locator(".bulk-edit-panel .monaco-list-row:has-text('standard error')").first().waitFor();
    await bench.ticked();
    await bench.shot("cure-confirmation");
    await bench.confirm();
    await until(() => onDisk("report.py").includes('    tf.print("values", values)'), "the cure was not made");
    await lens("Add @tf.function");
    await bench.page.locator(".pane-body .monaco-list-row:has-text('loud: Add @tf.function')").first().waitFor(); // the list follows
    await bench.shot("cured");
}

async function suppression() {
    await bench.open("train.py");
    await bench.goTo(10, 10);
    await bench.page.locator(".squiggly-error").first().waitFor();
    await bench.openActions("Ignore TR401");
    await bench.choose("Ignore TR401");
    const input = bench.page.locator(".quick-input-widget input.input");
    await input.waitFor();
    await input.fill("kept as an example");
    await bench.shot("suppression-reason");
    await bench.page.keyboard.press("Enter");
    await until(() => onDisk("train.py").includes("# terra: ignore[TR401] kept as an example"), "the comment was not written");
    await bench.page.locator(".squiggly-error").first().waitFor({ state: "detached" });
    await bench.shot("suppressed");
}

async function notebook() {
    await bench.open("notebooks/shapes.ipynb");
    await bench.page.locator(".notebookOverlay .squiggly-error").first().waitFor({ state: "attached" });
    await bench.shows("flat: float32 (16, 784)", ".notebookOverlay .view-lines");
    await bench.shot("notebook");
}

async function report() {
    await bench.run("terra-refactor: Show Report");
    await bench.page.locator(".tab.active:has-text('terra-refactor report')").waitFor();
    const named = ["Tower.forward", "Call graph", "shapes.ipynb, cell 2, line 1"];
    await bench.pageWith(named, "the report does not name the functions with their places");
    await bench.shot("report");
}

async function darkReport() {
    await reportIn("Default High Contrast", "high-contrast-report");
    await reportIn("Default Dark Modern", "dark-report");
}

async function reportIn(theme, picture) {
    await bench.set({ "workbench.colorTheme": theme });
    await bench.open("model.py");
    await bench.shows("hidden: float32 (32, 8)");
    await bench.run("terra-refactor: Show Report");
    await bench.page.locator(".tab.active:has-text('terra-refactor report')").waitFor();
    await until(async () => {
        for (const frame of bench.page.frames()) {
            const colours = await frame
                .evaluate(() => {
                    const brightness = (text) => (text.match(/[\d.]+/g) ?? []).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
                    const code = document.querySelector("#function-table .name, #function-table code");
                    const style = getComputedStyle(document.body);
                    const soft = document.querySelector("#headline");
                    return code && soft && [style.backgroundColor, style.color, getComputedStyle(code).color, getComputedStyle(soft).color].map(brightness);
                })
                .catch(() => null);
            const soft = theme.includes("High Contrast") ? 600 : 300; // nothing is grey there
            if (colours && colours[0] < 150 && colours[1] > 450 && colours[2] > 300 && colours[3] > soft) {
                return true;
            }
        }
        return false;
    }, "the report is not dark, or its code cannot be read");
    await bench.shot(picture);
}

/** Each step of the walkthrough in three kinds of themes: nothing is written as Markdown, and no title is cut off. */
async function walkthrough() {
    for (const theme of ["Default Dark Modern", "Default Light Modern", "Default High Contrast"]) {
        await bench.set({ "workbench.colorTheme": theme });
        await bench.run("Welcome: Open Walkthrough...");
        await bench.page.locator(".quick-input-list .monaco-list-row:has-text('terra-refactor')").first().click();
        const page = bench.page.locator(".gettingStartedContainer");
        await page.locator(".getting-started-step").first().waitFor();
        for (const step of ["The server", "See shapes", "Make a function a graph", "The whole workspace"]) {
            await page.locator(`.getting-started-step:has-text("${step}") .step-title`).first().click();
            await page.locator(`.getting-started-step.expanded:has-text("${step}")`).waitFor();
            await bench.shot(`walkthrough-${theme.split(" ")[1].toLowerCase()}-${step.split(" ").at(-1)}`);
        }
        const title = page.locator(".getting-started-category h2, .category-title").first();
        assert.ok(!(await page.innerText()).includes("`"), "Markdown is shown as it is written");
        assert.ok(await title.evaluate((node) => node.scrollWidth <= node.clientWidth), "the title is cut off");
    }
}

/** A run is recorded; the numbers are above the function, and the finding has them and its fix. */
async function recorded() {
    const code = ["import tensorflow as tf", "", "", "@tf.function", "def scaled(values, n):", "    return tf.nn.relu(values) * tf.cast(n, tf.float32)", "", "", "for n in range(1, 41):", "    scaled(tf.ones([4, 4]), n)", ""];
    writeFileSync(path.join(project, "rates.py"), code.join("\n"));
    const done = spawnSync(values.python, ["-m", "terra_refactor", "record", "--", values.python, "rates.py"], { cwd: project, encoding: "utf-8" });
    assert.equal(done.status, 0, done.stderr);
    writeFileSync(path.join(project, "pyproject.toml"), '[tool.terra-refactor]\nevidence = ["terra-record.json"]\n');
    await bench.open("rates.py");
    await lens("traced 40×");
    await lens("per call (40 calls)");
    await bench.run("View: Focus Problems");
    await bench.page.locator(".markers-panel .monaco-list-row:has-text('traced 40 times in 40 recorded calls')").first().waitFor();
    await bench.shot("recorded");
    await bench.run("View: Hide Panel");
    await bench.goTo(5, 6);
    await hoverShows("Recorded: traced 40×");
    await bench.page.keyboard.press("Escape");
    await bench.goTo(10, 7);
    await bench.openActions("Pass a tensor");
    await bench.shot("recorded-menu");
    await bench.choose("Pass a tensor");
    await until(() => onDisk("rates.py").includes("scaled(tf.ones([4, 4]), tf.constant(n))"), "the number was not made a tensor");
    await bench.page.locator(".squiggly-warning").first().waitFor({ state: "detached" });
}

/** What the log of the server has in it. */
function logs() {
    const folder = path.join(bench.home, "data/logs");
    const files = readdirSync(folder, { recursive: true }).map(String).filter((name) => /terra-refactor[^/]*\.log$/.test(name));
    return files.map((name) => readFileSync(path.join(folder, name), "utf-8")).join("\n");
}

async function settings() {
    writeFileSync(path.join(project, "again.py"), "import tensorflow as tf\n\nwrong = tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))\n");
    await bench.set({ "terra-refactor.severity": { TR401: "information" }, "terra-refactor.outline.enable": true, "terra-refactor.logLevel": "debug" });
    await bench.open("again.py");
    await bench.page.locator(".squiggly-info").first().waitFor();
    assert.equal(await bench.page.locator(".squiggly-error").count(), 0, "it is an error still");
    await bench.open("model.py");
    await bench.run("Explorer: Focus on Outline View");
    const row = (text) => bench.page.locator(`.outline-pane .monaco-list-row:has-text("${text}")`).first();
    await row("Tower").waitFor();
    await row("forward").waitFor();
    await bench.shot("outline");
    await until(() => /\bDEBUG\b|\bdebug\b/.test(logs()), "the log has nothing of its most detailed level");
    await bench.run("terra-refactor: Show Log");
    await until(async () => (await bench.page.locator(".part.panel .view-lines").first().innerText()).trim().length > 100, "the log is not shown");
    await bench.shot("log");
    await bench.run("View: Hide Panel");
    await bench.set({ "terra-refactor.severity": {}, "terra-refactor.outline.enable": false, "terra-refactor.logLevel": "warning" });
    await bench.open("again.py");
    await bench.page.locator(".squiggly-error").first().waitFor();
    rmSync(path.join(project, "again.py"));
}

async function settingsOrder() {
    await bench.run("Preferences: Open Settings (UI)");
    const input = bench.page.locator(".settings-editor .settings-header .monaco-editor").first();
    await input.click();
    await bench.page.keyboard.insertText("@ext:terra-refactor.terra-refactor");
    const categories = bench.page.locator(".settings-editor .setting-item-label");
    await bench.page.locator(".settings-editor .setting-item-contents:has-text('Enable terra-refactor for the files')").first().waitFor();
    await until(async () => /Diagnostic Mode/.test((await categories.allInnerTexts()).slice(0, 2).join(" ")), "the settings are in another order");
    await bench.shot("settings");
    await bench.run("View: Close Editor");
}

async function quietLogs() {
    assert.ok(logs().length > 0, "there is no log");
    assert.ok(!logs().includes("Traceback"), logs());
}

async function workspace() {
    writeFileSync(path.join(project, "closed.py"), readFileSync(path.join(here, "project/fit.py"), "utf-8"));
    await bench.run("terra-refactor: Analyze Workspace");
    await bench.notification("functions in").waitFor();
    await bench.page.locator(".markers-panel .monaco-list-row:has-text('cell 2, line 10')").first().waitFor();
    await bench.page.locator(".markers-panel .monaco-list-row:has-text('TR507')").first().waitFor(); // a training step in a closed file
    await bench.shot("workspace");
    await bench.read("functions in");
    await bench.run("View: Hide Panel");
    await bench.page.locator(".markers-panel").waitFor({ state: "hidden" });
}

const LARGE = 400; // modules, each of which imports the one before and what all share
const EDITED = 300; // the same, where all of it is analysed several times; long enough that its progress is shown

/** A new folder of some modules; `shared.py` has two functions that each of them calls. */
function largeProject(modules) {
    const large = mkdtempSync(path.join(tmpdir(), "terra-large-"));
    const lines = ["import tensorflow as tf", "", ""];
    const shared = ["def scaled(values, by):", "    return tf.nn.relu(values) * by", "", "", "def shifted(given):", "    moved = given + 1.0", "    return moved", ""];
    writeFileSync(path.join(large, "shared.py"), [...lines, ...shared].join("\n"));
    for (let number = 0; number < modules; number += 1) {
        const before = number === 0 ? [] : [`import step_${number - 1}`];
        const functions = Array.from({ length: 12 }, (_, index) => [
            `def part_${index}(values):`,
            `    product = tf.matmul(values, tf.ones([8, 8])) + ${index}.0`,
            `    return scaled(product, ${number % 7}.0)`,
            "",
            "",
        ]).flat();
        const calls = Array.from({ length: 12 }, (_, index) => `part_${index}(tf.ones([4, 8]))`);
        const text = ["import tensorflow as tf", ...before, "from shared import scaled, shifted", "", "", ...functions, ...calls, "shifted(tf.ones([4, 8]))", ""];
        writeFileSync(path.join(large, `step_${number}.py`), text.join("\n"));
    }
    return large;
}

/** A folder of some size, of which one file is opened: its hints are there while the rest is still gone through, which is shown. */
async function largeFolder() {
    const large = largeProject(LARGE);
    try {
        await bench.visit(large);
        const opened = Date.now();
        await bench.open(`step_${LARGE - 1}.py`);
        await bench.shows("product: float32 (4, 8)");
        const first = Date.now() - opened;
        await progressOf(large).waitFor(); // how far it is
        await bench.shot("large-first-answer");
        await bench.run("terra-refactor: Analyze Workspace");
        await bench.notification("functions in").waitFor();
        console.log(`        first hints of ${LARGE} modules after ${(first / 1000).toFixed(1)} s, all of them after ${((Date.now() - opened) / 1000).toFixed(1)} s`);
        await bench.shot("large-all");
    } finally {
        await bench.visit(project);
        rmSync(large, { recursive: true, force: true, maxRetries: 5 });
    }
}

/** What the status bar shows while all of a folder is analysed. */
function progressOf(folder) {
    return bench.page.locator(`.statusbar-item:has-text("terra-refactor: ${path.basename(folder)}")`).first();
}

/** The text of the editor with all hints, in the order of the lines. */
async function shownText() {
    const lines = await bench.page.locator(".editor-instance .view-lines .view-line").evaluateAll((nodes) =>
        nodes.map((node) => [Number.parseInt(node.style.top, 10), node.innerText.replaceAll(/\s+/g, " ").trim()]),
    );
    return lines.sort(([one], [other]) => one - other).map(([, text]) => text);
}

/** An edit at the top of what many import: hints of what is written come before all is analysed again, those of an untouched function stay
 * all the time, and in the end everything is as a server shows it that has just started. */
async function largeEdit() {
    const large = largeProject(EDITED);
    const whole = ["def scaled(values: float32 (4, 8)", "def shifted(given: float32 (4, 8)"];
    try {
        await bench.visit(large);
        await bench.open("shared.py");
        for (const text of whole) {
            await bench.shows(text);
        }
        await progressOf(large).waitFor({ state: "detached" });
        await bench.goTo(5, 5); // the editor indents the line that Enter makes
        let running = false; // looked for in each frame: it may be gone before the next look at the text
        void progressOf(large).waitFor().then(() => (running = true), () => undefined);
        const typed = Date.now();
        await bench.page.keyboard.insertText("more = tf.ones([3, 5])");
        await bench.page.keyboard.press("Enter");
        let first = 0;
        await until(async () => {
            const text = (await shownText()).join("\n");
            assert.ok(text.includes(whole[1]), `the hint of the function that is as it was is gone:\n${text}`);
            assert.ok(!/more: (?!float32 \(3, 5\))/.test(text), `another shape was shown first:\n${text}`);
            first ||= text.includes("more: float32 (3, 5)") ? Date.now() - typed : 0;
            return first > 0 && text.includes(whole[0]) && !(await progressOf(large).isVisible());
        }, "the edit is not answered");
        const took = Date.now() - typed;
        console.log(`        a hint of ${EDITED} modules ${(first / 1000).toFixed(1)} s after the edit, all of them after ${(took / 1000).toFixed(1)} s`);
        assert.ok(running, "nothing shows that all of it is analysed again");
        const edited = await shownText();
        await bench.shot("large-edited");
        await until(() => readFileSync(path.join(large, "shared.py"), "utf-8").includes("more = tf.ones"), "the edit was not saved");
        await bench.visit(large); // another server
        await bench.open("shared.py");
        for (const text of [...whole, "more: float32 (3, 5)"]) {
            await bench.shows(text);
        }
        await progressOf(large).waitFor({ state: "detached" });
        await until(async () => JSON.stringify(await shownText()) === JSON.stringify(edited), `a new start does not show ${JSON.stringify(edited)}`);
    } finally {
        await bench.visit(project);
        rmSync(large, { recursive: true, force: true, maxRetries: 5 });
    }
}

async function wrongPath() {
    await bench.set({ "terra-refactor.path": ["/no/such/server"], "workbench.colorTheme": "Default Light Modern" });
    await bench.open("train.py");
    await bench.notification("/no/such/server").waitFor();
    await bench.shot("wrong-path");
    await bench.set({ "terra-refactor.path": [] });
    await bench.open("train.py");
    await bench.shows("batch: float32 (32, 8)");
}

async function carriedServer() {
    const made = spawnSync(values.python, ["-m", "venv", "--without-pip", path.join(bench.home, "bare")], { encoding: "utf-8" });
    assert.equal(made.status, 0, made.stderr);
    await bench.set({ "terra-refactor.interpreter": path.join(bench.home, "bare/bin/python") });
    await bench.open("train.py");
    await bench.shows("batch: float32 (32, 8)");
    assert.equal(await bench.notification("terra-refactor").count(), 0, "something is notified at the start");
    await bench.shot("carried-server");
}

/** The interpreter is the one of the step before, which has nothing installed. */
async function proofWithoutTensorFlow() {
    const python = path.join(bench.home, "bare/bin/python");
    writeFileSync(path.join(project, "later.py"), readFileSync(path.join(here, "project/scale.py"), "utf-8").replaceAll("smooth", "soften"));
    await bench.open("later.py");
    await bench.shows("values: float32 (4, 4)");
    await bench.goTo(6, 6);
    await bench.run("terra-refactor: Prove and Apply the Change of This Function (Runs the Program)");
    await agree();
    const refusal = bench.notification(`nothing was run: ${python} cannot import TensorFlow`);
    await refusal.waitFor();
    await bench.shot("no-tensorflow");
    await refusal.locator(".monaco-button:has-text('Open Settings')").click();
    await bench.page.locator(".settings-editor .setting-item:has-text('The Python that runs the server')").first().waitFor();
    await bench.shot("no-tensorflow-settings");
    await bench.run("View: Close Editor");
    assert.ok(!onDisk("later.py").includes("@tf.function"), "a change that is not proven was made");
}

async function installServer() {
    const bare = path.join(bench.home, "bare");
    await bench.run("terra-refactor: Install Server");
    await bench.notification("installing the server").waitFor();
    await bench.shot("installing");
    await bench.notification("installing the server").waitFor({ state: "detached", timeout: 2 * PATIENCE });
    const own = path.join(bench.home, "data/User/globalStorage/terra-refactor.terra-refactor/server");
    assert.ok(existsSync(path.join(own, "bin/python")), "the extension has no environment of its own");
    const packages = readdirSync(path.join(own, "lib"), { recursive: true }).map(String);
    assert.ok(packages.some((name) => /site-packages\/terra_refactor-[\d.]+\.dist-info$/.test(name)), "the server is not in it");
    assert.ok(!readdirSync(path.join(bare, "lib"), { recursive: true }).some((name) => String(name).includes("terra_refactor")), "the user's environment was changed");
    await bench.open("model.py");
    await bench.shows("hidden: float32 (32, 8)");
    await bench.shot("installed");
}

/** Python Environments says which environment is the program's; it lacks the package, which is installed there when somebody agrees. */
async function addPackage() {
    const environment = path.join(bench.home, "program");
    const made = spawnSync(values.python, ["-m", "venv", environment], { encoding: "utf-8" });
    assert.equal(made.status, 0, made.stderr);
    const python = path.join(environment, "bin/python");
    bench.install(packedEnvironments(bench.home));
    writeFileSync(path.join(project, "loud.py"), readFileSync(path.join(project, "cause.py"), "utf-8").replaceAll("watched", "heard"));
    await bench.set({ "terra-refactor.interpreter": "", "environments.chosen": python });
    await bench.open("loud.py");
    await bench.shows("values: float32 (4, 4)");
    await bench.goTo(9, 6);
    await bench.openActions("Add terra-refactor to the environment of the program, to co-execute heard");
    await bench.shot("add-package-menu");
    await bench.choose("Add terra-refactor to the environment of the program, to co-execute heard");
    const dialog = bench.page.locator(`.monaco-dialog-box:has-text("${python}")`);
    await dialog.waitFor();
    await bench.shot("add-package-consent");
    await dialog.locator(".monaco-button:has-text('Install')").click();
    await bench.notification("installing the package").waitFor();
    await bench.notification("installing the package").waitFor({ state: "detached", timeout: 2 * PATIENCE });
    const imported = spawnSync(python, ["-I", "-c", "import terra_refactor.runtime"], { encoding: "utf-8" });
    assert.equal(imported.status, 0, imported.stderr);
    await lens("Co-execute · no graph: host print or log");
    await bench.goTo(9, 6);
    await bench.openActions("Co-execute: heard");
    await bench.shot("add-package-done");
    await bench.page.keyboard.press("Escape");
}

/** Runs one step, within a time in which any step can be done. */
async function attempt(name, step, number) {
    const started = Date.now();
    const seconds = () => ((Date.now() - started) / 1000).toFixed(1);
    try {
        await within(step(), 4 * PATIENCE, "the step");
        console.log(`ok      ${name} (${seconds()} s)`);
        return true;
    } catch (error) {
        console.log(`FAILED  ${name} (${seconds()} s): ${error instanceof Error ? error.stack : String(error)}`);
        const evidence = await bench.evidence(number);
        writeFileSync(path.join(results, `failed-${number}.log`), evidence);
        console.log(evidence.replaceAll(/^/gm, "        "));
        // the next step begins with a page that answers
        await within(bench.page.close(), 10_000, "closing the page").catch(() => undefined);
        await bench.show();
        return false;
    }
}

const chosen = steps.filter(([name]) => only.some((text) => name.includes(text)));
let failed = 0;
let doing = "the start";
for (const ending of ["SIGINT", "SIGTERM"]) {
    process.once(ending, () => {
        console.log(`FAILED  ended by ${ending} during ${doing}`);
        void bench.stop().finally(() => process.exit(1));
    });
}
try {
    bench.install(values.vsix);
    await bench.start();
    for (const [index, [name, step]] of chosen.entries()) {
        doing = `step ${index + 1}: ${name}`;
        failed += (await attempt(name, step, index + 1)) ? 0 : 1;
    }
} catch (error) {
    failed += 1;
    console.log(`FAILED  ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n${bench.output}`);
} finally {
    await bench.stop();
    rmSync(project, { recursive: true, force: true });
}
console.log(failed === 0 ? `${chosen.length} of ${steps.length} steps passed; screenshots in ${path.relative(process.cwd(), results)}` : `${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
