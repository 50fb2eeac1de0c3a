"""The index of the corpus lists everything that lies there, and is not stale."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from corpus.index import INDEX, index

TEXT = index()


def test_the_index_is_what_lies_here() -> None:
    assert INDEX.read_text(encoding="utf-8") == TEXT, "stale: python -m corpus index"


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert len(links) > 200
    assert [link for link in links if not (INDEX.parent / link).exists()] == []


def test_nothing_is_left_out() -> None:
    corpus = INDEX.parent
    names = [path.parent.name for path in corpus.glob("programs/*/expected.toml")]
    names += [path.parent.name for path in corpus.glob("shape_bugs/tensorflow_*/*/broken.py")]
    names += [path.stem for path in corpus.glob("typed/*.py") if path.stem != "__init__"]
    names += [path.stem.upper() for path in (corpus.parent / "tests" / "proof" / "programs").glob("tr*.txt")]
    assert len(names) > 150
    assert [name for name in names if f"[{name}](" not in TEXT] == []
