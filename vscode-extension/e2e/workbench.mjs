// A real VS Code workbench in a browser: starts code-server with an extension installed, and drives it as a person would.
//
// Every step waits for what a person would see, with a time limit: a browser that hangs is an error.

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";

/** How long one thing may take to be seen: analyses share the machine with a browser and an editor. Milliseconds. */
export const PATIENCE = Number(process.env.PATIENCE ?? 180_000);

export class Workbench {
    constructor({ codeServer, project, results, settings, scale = 1 }) {
        this.home = mkdtempSync(path.join(tmpdir(), "terra-e2e-"));
        this.entry = path.join(codeServer, "node_modules/code-server/out/node/entry.js");
        this.project = project;
        this.scale = scale; // pixels of a picture for each pixel of the page
        this.results = results;
        this.settings = {
            "security.workspace.trust.enabled": false,
            "workbench.startupEditor": "none",
            "telemetry.telemetryLevel": "off",
            "workbench.tips.enabled": false,
            "files.autoSave": "afterDelay",
            "files.autoSaveDelay": 200,
            "editor.minimap.enabled": false,
            "editor.hover.delay": 200,
            "editor.hover.above": false, // what is hovered stays to be seen in the picture
            "window.commandCenter": false,
            "chat.commandCenter.enabled": false,
            "workbench.secondarySideBar.defaultVisibility": "hidden",
            ...settings,
        };
        this.number = 0;
        this.output = "";
        this.said = [];
    }

    get arguments() {
        return ["--user-data-dir", path.join(this.home, "data"), "--extensions-dir", path.join(this.home, "extensions")];
    }

    get settingsFile() {
        return path.join(this.home, "data/User/settings.json");
    }

    /** Changes the user's settings and reopens the workbench, which does not always notice changes of the file. */
    async set(changes) {
        Object.assign(this.settings, changes);
        writeFileSync(this.settingsFile, JSON.stringify(this.settings));
        await within(this.page.close(), 30_000, "closing the page");
        await this.show();
    }

    install(vsix) {
        const done = spawnSync("node", [this.entry, ...this.arguments, "--install-extension", vsix], {
            encoding: "utf-8",
            timeout: 2 * PATIENCE,
        });
        if (done.status !== 0 || !done.stdout.includes("successfully installed")) {
            throw new Error(`the extension was not installed:\n${done.stdout}${done.stderr}`);
        }
    }

    uninstall(extension) {
        const done = spawnSync("node", [this.entry, ...this.arguments, "--uninstall-extension", extension], {
            encoding: "utf-8",
            timeout: 2 * PATIENCE,
        });
        if (done.status !== 0 || !done.stdout.includes("successfully uninstalled")) {
            throw new Error(`the extension was not uninstalled:\n${done.stdout}${done.stderr}`);
        }
    }

    async start() {
        mkdirSync(path.dirname(this.settingsFile), { recursive: true });
        writeFileSync(this.settingsFile, JSON.stringify(this.settings));
        let port = 0;
        // its two processes give each other ten seconds to shake hands, and end if the machine is too busy for that
        await until(async () => {
            if (this.server === undefined || this.server.exitCode !== null) {
                port = await freePort();
                this.serve(port);
            }
            return this.output.includes("HTTP server listening");
        }, "code-server did not start");
        this.browser = await chromium.launch({
            executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
            args: ["--no-sandbox", "--disable-dev-shm-usage"],
        });
        this.origin = `http://127.0.0.1:${port}`;
        await this.visit(this.project);
    }

    /** Opens a folder in a page of its own. */
    async visit(folder) {
        if (this.page !== undefined) {
            await within(this.page.close(), 30_000, "closing the page");
        }
        this.address = `${this.origin}/?folder=${encodeURIComponent(folder)}`;
        await this.show();
    }

    serve(port) {
        this.server = spawn(
            "node",
            [this.entry, "--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry", "--disable-update-check", ...this.arguments],
            { stdio: ["ignore", "pipe", "pipe"], detached: true, env: { ...process.env, XDG_CACHE_HOME: path.join(this.home, "cache") } },
        );
        for (const stream of [this.server.stdout, this.server.stderr]) {
            stream.on("data", (data) => (this.output += data));
        }
    }

    /** Opens the workbench in a page of its own. */
    async show() {
        this.page = await this.browser.newPage({ viewport: { width: 1280, height: 800 }, deviceScaleFactor: this.scale });
        this.page.setDefaultTimeout(PATIENCE);
        // the workbench asks before it leaves unsaved changes; without an answer, the page hangs
        this.page.on("dialog", (dialog) => dialog.accept().catch(() => undefined));
        this.page.on("console", (message) => message.type() === "error" && this.said.push(message.text()));
        this.page.on("pageerror", (error) => this.said.push(String(error)));
        await this.page.goto(this.address);
        await this.page.locator(".monaco-workbench").waitFor();
        await this.page.locator(".explorer-folders-view .monaco-list-row").first().waitFor();
    }

    /** Ends the browser and the server, however they feel about it. */
    async stop() {
        await within(Promise.resolve(this.browser?.close()), 15_000, "closing the browser").catch(() => undefined);
        if (this.server?.pid !== undefined && this.server.exitCode === null) {
            const ended = new Promise((resolve) => this.server.once("exit", resolve));
            signal(this.server.pid, "SIGTERM");
            await within(ended, 15_000, "ending code-server").catch(() => undefined);
            signal(this.server.pid, "SIGKILL"); // what it has started and left behind
        }
        rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
    }

    /** A picture of the page, with what fades or slides in as it is in the end. */
    async shot(name) {
        this.number += 1;
        const file = path.join(this.results, `${String(this.number).padStart(2, "0")}-${name}.png`);
        await this.page.screenshot({ path: file, timeout: 20_000, animations: "disabled" });
    }

    /** What there is to see after a step has failed: a picture, what is notified, and the last lines of the logs. */
    async evidence(name) {
        const parts = [];
        await within(this.shot(`failed-${name}`), 25_000, "the screenshot").catch((error) => parts.push(String(error)));
        // messages fade away; the centre keeps them
        await within(this.run("Notifications: Show Notifications"), 10_000, "the list of notifications").catch(() => undefined);
        const notified = within(this.page.locator(".notification-list-item-message").allInnerTexts(), 5_000, "the notifications");
        parts.push(`notifications: ${JSON.stringify(await notified.catch(String))}`);
        const logs = path.join(this.home, "data/logs");
        for (const file of filesBelow(logs).filter((each) => /terra-refactor|remoteexthost\.log/.test(each))) {
            parts.push(`--- ${path.relative(logs, file)}`, ...readFileSync(file, "utf-8").trimEnd().split("\n").slice(-25));
        }
        parts.push("--- the page's console", ...this.said.slice(-15), "--- code-server", ...this.output.trimEnd().split("\n").slice(-15));
        return parts.join("\n");
    }

    /** Opens the box at the top with a key and writes into it. A key that is pressed before the workbench listens is pressed again. */
    async ask(key, text) {
        const input = this.page.locator(".quick-input-widget input.input");
        await until(async () => {
            await this.page.keyboard.press(key);
            return seen(input, 3000);
        }, `${key} opens nothing`);
        await input.fill(text);
        return input;
    }

    /** Opens a file of the project in the editor, and puts the focus there. */
    async open(name) {
        const base = path.basename(name);
        const tab = this.page.locator(`.tab.active:has-text("${base}")`);
        const row = this.page.locator(`.quick-input-list .monaco-list-row:has-text("${base}")`).first();
        const listed = this.page.locator(`.explorer-folders-view .monaco-list-row:has-text("${base}")`).first();
        await until(async () => {
            await this.ask("Control+P", name);
            if (await seen(row, 5000)) {
                await row.click();
            } else {
                // the search may not know a new file yet, which the explorer shows
                await this.page.keyboard.press("Escape");
                if (await seen(listed, 1000)) {
                    await listed.dblclick();
                }
            }
            return seen(tab, 5000);
        }, `${name} cannot be opened`);
    }

    /** Runs a command of the palette. */
    async run(title) {
        await this.ask("F1", `>${title}`);
        await this.page.locator(`.quick-input-list .monaco-list-row:has-text("${title.split(": ").at(-1)}")`).first().click();
    }

    /** Puts the cursor at a line and column, and the focus into the editor. */
    async goTo(line, column = 1) {
        const input = await this.ask("Control+G", `:${line}:${column}`);
        // Enter before the entry is there does nothing, and a second Enter would go into the text
        await this.page.locator(`.quick-input-list .monaco-list-row:has-text("Go to line ${line}")`).first().waitFor();
        await this.page.keyboard.press("Enter");
        await input.waitFor({ state: "hidden" });
        await this.page.locator(`.statusbar-item:has-text("Ln ${line}, Col ${column}")`).first().waitFor();
        await this.page.locator(".editor-instance .monaco-editor.focused").first().waitFor();
    }

    /** Waits until the text of the editor shows something; spaces of the editor are no plain spaces. */
    async shows(text, where = ".editor-instance .view-lines") {
        await until(async () => {
            const shown = (await this.page.locator(where).allInnerTexts()).join("\n").replaceAll(/\s+/g, " ");
            return shown.includes(text);
        }, `the editor does not show ${JSON.stringify(text)}`);
    }

    /** Opens the menu of actions at the cursor, once it has one of that title. */
    async openActions(title) {
        const item = this.page.locator(`.action-widget .monaco-list-row:has-text("${title}")`).first();
        await until(async () => {
            await this.page.keyboard.press("Control+.");
            if (await seen(item, 5000)) {
                return true;
            }
            await this.page.keyboard.press("Escape");
            return false;
        }, `there is no action ${JSON.stringify(title)}`);
    }

    /** Chooses an entry of the open menu of actions, with the keys: it takes no clicks before the mouse has moved. */
    async choose(title) {
        const menu = this.page.locator(".action-widget");
        const wanted = await menu.locator(`.monaco-list-row:has-text("${title}")`).first().getAttribute("data-index");
        await until(async () => {
            const focused = await menu.locator(".monaco-list-row.focused").first().getAttribute("data-index");
            if (focused !== wanted) {
                await this.page.keyboard.press("ArrowDown");
            }
            return focused === wanted;
        }, `the entry ${JSON.stringify(title)} cannot be reached`);
        await this.page.keyboard.press("Enter");
        await menu.waitFor({ state: "hidden" });
    }

    /** The text of the page in an editor (a webview) that has all of these in it, once there is one. */
    async pageWith(parts, failure) {
        let found = "";
        await until(async () => {
            for (const frame of this.page.frames()) {
                const text = await frame.locator("body").innerText({ timeout: 1000 }).catch(() => "");
                if (parts.every((part) => text.includes(part))) {
                    found = text;
                    return true;
                }
            }
            return false;
        }, failure);
        return found;
    }

    /** Applies what the preview shows, which is ticked already. */
    async confirm() {
        await this.ticked();
        await this.page.locator(".bulk-edit-panel .monaco-button:has-text('Apply')").first().click();
    }

    /** Waits until everything in the preview of a change is ticked. */
    async ticked() {
        const boxes = this.page.locator(".bulk-edit-panel .monaco-list-row .edit-checkbox");
        await until(async () => {
            const all = await boxes.evaluateAll((nodes) => nodes.map((node) => node.checked));
            return all.length > 0 && all.every(Boolean);
        }, "the changes of the preview are not ticked");
    }

    /** A button of a message in the corner. */
    button(label) {
        return this.page.locator(`.notification-list-item .monaco-button:has-text('${label}')`).first();
    }

    /** Waits for a button of a message in the corner. If the extension refuses instead, its message becomes the error. */
    async offers(label, patience) {
        const refusals = this.page.locator(".notification-list-item-message").filter({ hasText: /^terra-refactor: / });
        await until(
            async () => {
                if (await this.button(label).isVisible()) {
                    return true;
                }
                const refused = await refusals.allInnerTexts();
                if (refused.length > 0) {
                    throw new Error(`instead of ${JSON.stringify(label)}: ${refused.join("; ")}`);
                }
                return false;
            },
            `nothing offers ${JSON.stringify(label)}`,
            patience,
        );
    }

    /** A message in the corner. */
    notification(text) {
        return this.page.locator(`.notification-list-item:has-text("${text}")`).first();
    }

    /** Waits for a message in the corner, and clears it away. */
    async read(text) {
        const message = this.notification(text);
        await message.waitFor();
        await this.run("Notifications: Clear All Notifications");
        await message.waitFor({ state: "detached" });
    }
}

/** Waits until something is so; what it asks of the page is bounded, too. */
export async function until(what, failure, patience = PATIENCE) {
    const end = Date.now() + patience;
    while (Date.now() < end) {
        if (await within(Promise.resolve(what()), patience + 10_000, failure)) {
            return;
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(failure);
}

/** A promise that is settled in time, in any case. */
export async function within(promise, milliseconds, what) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`${what}: no end after ${milliseconds / 1000} s`)), milliseconds);
    });
    try {
        return await Promise.race([promise, late]);
    } finally {
        clearTimeout(timer);
    }
}

function seen(locator, timeout) {
    return locator.waitFor({ timeout }).then(
        () => true,
        () => false,
    );
}

/** Ends a process with all that it has started. */
function signal(pid, name) {
    try {
        process.kill(-pid, name);
    } catch {
        // it has ended
    }
}

function filesBelow(folder) {
    try {
        return readdirSync(folder, { recursive: true, withFileTypes: true })
            .filter((entry) => entry.isFile())
            .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name));
    } catch {
        return [];
    }
}

function freePort() {
    return new Promise((resolve, reject) => {
        const probe = createServer();
        probe.on("error", reject);
        probe.listen(0, "127.0.0.1", () => {
            const { port } = probe.address();
            probe.close(() => resolve(port));
        });
    });
}
