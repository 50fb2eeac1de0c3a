"""`python -m corpus all`: every part runs though one fails, and what each took is kept beside the rest of the measurements."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpus import whole
from corpus.released import commands


def test_a_part_that_fails_does_not_keep_the_others_from_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "packages.json"
    kept.write_text(json.dumps({"packages": {"small": {"analysis": {"changes": 1}}}}), encoding="utf-8")
    monkeypatch.setattr(commands, "MEASURED", kept)
    ran: list[str] = []

    def run(part: str) -> int:
        ran.append(part)
        return int(part == "agree")

    monkeypatch.setattr(whole, "_run", run)
    assert whole.run_all() == 1
    assert ran == [*whole.PARTS, *whole.PAGES]
    data = json.loads(kept.read_text(encoding="utf-8"))
    assert data["packages"] == {"small": {"analysis": {"changes": 1}}}
    assert list(data["whole"]["parts"]) == sorted(whole.PARTS)
