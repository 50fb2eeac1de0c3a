// The pictures of the extension's README (media/screenshots) and of its walkthrough (media/walkthrough), made in a real workbench.
//
//   node e2e/pictures.mjs [--output FOLDER] [--code-server DIR] [--python INTERPRETER] [--vsix FILE]
//
// Each has two pixels for one of the page: it is sharp on screens of both densities. The last picture, page.png, is not of the listing: it shows
// the listing in the workbench at one pixel for one, to be looked at.

import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { here, options } from "./options.mjs";
import { until, Workbench } from "./workbench.mjs";

const values = options({ optional: { output: path.join(here, "../media") } });
const output = path.resolve(values.output);
const results = mkdtempSync(path.join(tmpdir(), "pictures-"));
const project = mkdtempSync(path.join(tmpdir(), "project-"));
for (const folder of ["screenshots", "walkthrough"]) {
    mkdirSync(path.join(output, folder), { recursive: true });
}
cpSync(path.join(here, "project"), project, { recursive: true });
const settings = {
    "terra-refactor.interpreter": values.python,
    "files.autoSave": "off",
    "editor.stickyScroll.enabled": false,
    "editor.guides.indentation": false,
    "editor.occurrencesHighlight": "off",
    "workbench.activityBar.location": "hidden",
};

/** A workbench of this size without a side bar, with the extension. */
async function workbench(scale, width, height) {
    const bench = new Workbench({ codeServer: values["code-server"], project, results, settings, scale });
    bench.install(values.vsix);
    await bench.start();
    await resize(bench, width, height);
    await bench.run("View: Toggle Primary Side Bar Visibility");
    await bench.page.mouse.move(width - 80, 5); // above nothing that shows a tip, and not moved again: that closes a hover
    return bench;
}

async function resize(bench, width, height) {
    await bench.page.setViewportSize({ width, height });
}

/** The page without the bars at its top and bottom. */
async function picture(bench, name, { whole = false } = {}) {
    const size = bench.page.viewportSize();
    const top = whole ? 0 : (await bench.page.locator(".part.editor").boundingBox()).y;
    const bottom = (await bench.page.locator(".part.statusbar").boundingBox()).y;
    const clip = { x: 0, y: top, width: size.width, height: bottom - top };
    await bench.page.screenshot({ path: path.join(output, name), clip, animations: "disabled", timeout: 20_000 });
}

async function listing() {
    const bench = await workbench(2, 780, 560);
    try {
        await bench.open("model.py");
        await bench.shows("hidden: float32 (32, 8)");
        await bench.page.locator(".codelens-decoration:has-text('Add @tf.function')").first().waitFor();
        await picture(bench, "walkthrough/hints.png");
        await bench.goTo(11, 9);
        await bench.openActions("Add @tf.function: Tower.forward");
        await picture(bench, "walkthrough/fix.png");
        await bench.page.keyboard.press("Escape");
        await bench.goTo(11, 10);
        const card = bench.page.locator(".monaco-hover:visible:has-text('Tower.forward: safe')").first();
        await until(async () => {
            await bench.run("Show or Focus Hover"); // one that is asked for while the text still moves is closed again
            return card.waitFor({ timeout: 5000 }).then(
                () => true,
                () => false,
            );
        }, "there is no card");
        await picture(bench, "screenshots/hover.png");
        await bench.page.keyboard.press("Escape");
        await resize(bench, 780, 660); // all changes are seen at once
        await bench.run("terra-refactor: Make All Safe Changes");
        await bench.page.locator(".quick-input-widget .monaco-list-row:has-text('Tower.spread')").first().waitFor();
        await picture(bench, "walkthrough/preview.png", { whole: true });
        await bench.page.keyboard.press("Escape");
        await resize(bench, 780, 560);
        await bench.open("guess.py");
        await bench.goTo(6, 6);
        await bench.page.locator(".codelens-decoration:has-text('if 2 assumptions hold')").first().waitFor();
        await bench.openActions("assumption");
        await bench.choose("assumption");
        await bench.page.locator(".bulk-edit-panel .monaco-list-row:has-text('loader.normalise')").first().waitFor();
        await bench.ticked();
        await picture(bench, "screenshots/confirmation.png");
        await bench.page.locator(".bulk-edit-panel .monaco-button:has-text('Discard')").first().click();
        await bench.open("shapes.ipynb");
        await bench.shows("flat: float32 (16, 784)", ".notebook-editor .view-lines");
        await bench.page.locator(".notebook-editor .squiggly-error").first().waitFor();
        await picture(bench, "screenshots/notebook.png");
    } catch (error) {
        console.log(await bench.evidence("pictures").catch(String));
        throw error;
    } finally {
        await bench.stop();
    }
}

/** The extension's page, as the workbench shows it. */
async function page() {
    const bench = await workbench(1, 1280, 2400);
    try {
        await bench.run("View: Show Extensions");
        await bench.page.locator(".extensions-viewlet .monaco-list-row:has-text('terra-refactor')").first().click();
        await bench.pageWith(["Shows the shapes of tensors"], "the extension has no page");
        await bench.page.waitForTimeout(2000); // the pictures are loaded
        await bench.page.screenshot({ path: path.join(output, "page.png"), animations: "disabled", timeout: 20_000 });
    } catch (error) {
        console.log(await bench.evidence("page").catch(String));
        throw error;
    } finally {
        await bench.stop();
    }
}

try {
    await listing();
    await page();
    console.log(`pictures are in ${output}`);
} finally {
    rmSync(project, { recursive: true, force: true });
    rmSync(results, { recursive: true, force: true });
}
