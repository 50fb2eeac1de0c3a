"""Writes the JSON Schema of the configuration, and the table of its keys in docs/configuration.md.

Computes: both texts. Needs: `terra_refactor.config.KEYS`. Gives: `stale_files`, and the files. Ignores: the rest of the page.

Run as `python tools/document_configuration.py` (or `make generated`). A test fails when they are stale.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from terra_refactor.config import KEYS, Config, config_schema

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "terra_refactor" / "config.schema.json"
PAGE = ROOT / "docs" / "configuration.md"
BEGIN, END = "<!-- keys: begin -->", "<!-- keys: end -->"


def texts() -> dict[Path, str]:
    """The text that each file should have."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    schema = json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"
    return {SCHEMA: schema, PAGE: f"{before}{BEGIN}\n\n{_table()}\n{END}{after}"}


def stale_files() -> list[Path]:
    """The stale files."""
    return [path for path, text in texts().items() if not path.exists() or path.read_text(encoding="utf-8") != text]


def _table() -> str:
    defaults = Config()
    lines = ["| key | default | what it means |", "|---|---|---|"]
    for name, key in KEYS.items():
        value = getattr(defaults, name.replace("-", "_"))
        default = "" if value is None or value in ((), {}) else f"`{json.dumps(value)}`"
        lines.append(f"| `{name}` | {default} | {key.help} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    stale = stale_files()
    for path in stale:
        path.write_text(texts()[path], encoding="utf-8")
    print(
        f"written: {', '.join(str(path.relative_to(ROOT)) for path in stale)}" if stale else "everything is up to date"
    )
