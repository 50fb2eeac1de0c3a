// A real VS Code workbench in a browser: starts code-server with an extension installed, and drives it as a person would.

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";

/** How long a single step may take: analyses share the machine with a browser and an editor. */
export const PATIENCE = Number(process.env.PATIENCE ?? 90_000);

export class Workbench {
    constructor({ codeServer, project, results, settings }) {
        this.home = mkdtempSync(path.join(tmpdir(), "terra-e2e-"));
        this.entry = path.join(codeServer, "node_modules/code-server/out/node/entry.js");
        this.project = project;
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
            "window.commandCenter": false,
            "chat.commandCenter.enabled": false,
            "workbench.secondarySideBar.defaultVisibility": "hidden",
            ...settings,
        };
        this.number = 0;
    }

    get arguments() {
        return ["--user-data-dir", path.join(this.home, "data"), "--extensions-dir", path.join(this.home, "extensions")];
    }

    set(changes) {
        Object.assign(this.settings, changes);
        const folder = path.join(this.home, "data/User");
        mkdirSync(folder, { recursive: true });
        writeFileSync(path.join(folder, "settings.json"), JSON.stringify(this.settings, null, 2));
    }

    install(vsix) {
        const done = spawnSync("node", [this.entry, ...this.arguments, "--install-extension", vsix], { encoding: "utf-8" });
        if (done.status !== 0 || !done.stdout.includes("successfully installed")) {
            throw new Error(`the extension was not installed:\n${done.stdout}${done.stderr}`);
        }
    }

    async start() {
        this.set({});
        const port = await freePort();
        this.server = spawn(
            "node",
            [this.entry, "--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry", "--disable-update-check", ...this.arguments],
            { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, XDG_CACHE_HOME: path.join(this.home, "cache") } },
        );
        this.output = "";
        for (const stream of [this.server.stdout, this.server.stderr]) {
            stream.on("data", (data) => (this.output += data));
        }
        await until(() => this.output.includes("HTTP server listening"), "code-server did not start");
        this.browser = await chromium.launch({
            executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
            args: ["--no-sandbox", "--disable-dev-shm-usage"],
        });
        this.page = await this.browser.newPage({ viewport: { width: 1280, height: 800 } });
        this.page.setDefaultTimeout(PATIENCE);
        await this.page.goto(`http://127.0.0.1:${port}/?folder=${encodeURIComponent(this.project)}`);
        await this.page.locator(".monaco-workbench").waitFor();
        await this.page.locator(".explorer-folders-view .monaco-list-row").first().waitFor();
    }

    async stop() {
        await this.browser?.close();
        this.server?.kill();
        rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
    }

    async shot(name) {
        this.number += 1;
        const file = path.join(this.results, `${String(this.number).padStart(2, "0")}-${name}.png`);
        await this.page.screenshot({ path: file });
    }

    /** Opens the box at the top with a key and writes into it. */
    async ask(key, text) {
        const input = this.page.locator(".quick-input-widget input.input");
        await until(async () => {
            await this.page.keyboard.press(key);
            return input.waitFor({ timeout: 3000 }).then(
                () => true,
                () => false,
            );
        }, `${key} opens nothing`);
        await input.fill(text);
        return input;
    }

    /** Opens a file of the project in the editor. */
    async open(name) {
        const tab = this.page.locator(`.tab.active:has-text("${path.basename(name)}")`);
        await until(async () => {
            await this.ask("Control+P", name);
            await this.page.locator(`.quick-input-list .monaco-list-row:has-text("${path.basename(name)}")`).first().waitFor();
            await this.page.keyboard.press("Enter");
            return tab.waitFor({ timeout: 5000 }).then(
                () => true,
                () => false,
            );
        }, `${name} cannot be opened`);
    }

    /** Runs a command of the palette. */
    async run(title) {
        await this.ask("F1", `>${title}`);
        await this.page.locator(`.quick-input-list .monaco-list-row:has-text("${title.split(": ").at(-1)}")`).first().click();
    }

    /** Puts the cursor at a line and column. */
    async goTo(line, column = 1) {
        const input = await this.ask("Control+G", `:${line}:${column}`);
        await until(async () => {
            await this.page.keyboard.press("Enter");
            return input.waitFor({ state: "hidden", timeout: 2000 }).then(
                () => true,
                () => false,
            );
        }, "the cursor cannot be moved");
    }

    /** Waits until the text of the editor shows something; spaces of the editor are no plain spaces. */
    async shows(text, where = ".editor-instance .view-lines") {
        await until(async () => {
            const shown = (await this.page.locator(where).allInnerTexts()).join("\n").replaceAll(/\s+/g, " ");
            return shown.includes(text);
        }, `the editor does not show ${JSON.stringify(text)}`);
    }

    /** Opens the menu of actions, once it has one of that title. */
    async openActions(title) {
        const item = this.page.locator(`.action-widget .monaco-list-row:has-text("${title}")`).first();
        await until(async () => {
            await this.page.keyboard.press("Control+.");
            try {
                await item.waitFor({ timeout: 5000 });
                return true;
            } catch {
                await this.page.keyboard.press("Escape");
                return false;
            }
        }, `there is no action ${JSON.stringify(title)}`);
    }

    /** Chooses an entry of the open menu of actions, with the keys. */
    async choose(title) {
        for (let moves = 0; moves < 20; moves += 1) {
            const focused = this.page.locator(".action-widget .monaco-list-row.focused");
            if ((await focused.count()) > 0 && (await focused.first().innerText()).includes(title)) {
                await this.page.keyboard.press("Enter");
                return;
            }
            await this.page.keyboard.press("ArrowDown");
        }
        throw new Error(`the entry ${JSON.stringify(title)} cannot be reached`);
    }
}

/** Waits until something is so. */
export async function until(what, failure, patience = PATIENCE) {
    const end = Date.now() + patience;
    while (Date.now() < end) {
        if (await what()) {
            return;
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(failure);
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
