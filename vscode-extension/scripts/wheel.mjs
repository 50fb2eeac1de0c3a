// Builds the wheel of the server that the extension carries (bundled/wheels/), from the repository that it lies in. Needs a Python with
// pip: PYTHON, else that of the repository's environment, else python3.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";

rmSync("bundled/wheels", { recursive: true, force: true });
mkdirSync("bundled/wheels", { recursive: true });
const own = "../.venv/bin/python";
const python = process.env.PYTHON ?? (existsSync(own) ? own : "python3");
const built = spawnSync(python, ["-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", "bundled/wheels", ".."], { stdio: "inherit" });
process.exit(built.status ?? 1);
