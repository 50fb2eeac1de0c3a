"""The page of each rule as a file that an editor can open: the target of a diagnostic's link.

Gives: `rule_uri`, `rule_link`. Pages are written to the user's cache folder on first request; if that is not
writable, there is no link.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from functools import cache
from pathlib import Path

import platformdirs

from terra_refactor import __version__
from terra_refactor.rules.explain import explain


@cache
def rule_uri(rule: str) -> str | None:
    """The URI of a rule's page; None if there is no such rule or the page cannot be written."""
    try:
        text = explain(rule)
    except KeyError:
        return None
    folder = Path(platformdirs.user_cache_dir("terra-refactor", appauthor=False)) / "rules" / __version__
    page = folder / f"{rule}.md"
    with contextlib.suppress(OSError):
        if page.is_file() and page.read_text(encoding="utf-8") == text:
            return page.as_uri()
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(temporary, page)
        return page.as_uri()
    return None


def rule_link(rule: str) -> str:
    """A rule's id as a Markdown link to its page, or plain."""
    uri = rule_uri(rule)
    return rule if uri is None else f"[{rule}]({uri})"
