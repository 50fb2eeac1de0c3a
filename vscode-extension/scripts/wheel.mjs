// Builds the wheel of the server that the extension carries (bundled/wheels/), from the repository that it lies in.
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";

rmSync("bundled/wheels", { recursive: true, force: true });
mkdirSync("bundled/wheels", { recursive: true });
const python = process.env.PYTHON ?? "python3";
const built = spawnSync(python, ["-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", "bundled/wheels", ".."], { stdio: "inherit" });
process.exit(built.status ?? 1);
