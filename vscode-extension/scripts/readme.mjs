// The README of the package: README.md with its pictures in it. There is no repository from which an editor could load them.
//
//   node scripts/readme.mjs    # writes dist/README.md

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), "..");
const written = readFileSync(path.join(root, "README.md"), "utf-8").replaceAll(
    /!\[([^\]]*)\]\((media\/[^)]+\.png)\)/g,
    (_, alternative, picture) => `![${alternative}](data:image/png;base64,${readFileSync(path.join(root, picture)).toString("base64")})`,
);
mkdirSync(path.join(root, "dist"), { recursive: true });
writeFileSync(path.join(root, "dist/README.md"), written);
