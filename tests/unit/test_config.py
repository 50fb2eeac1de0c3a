"""The configuration: every wrong key and value is said with its place and what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from terra_refactor.config import Config, load_config, parse_config
from terra_refactor.errors import UsageError

HEAD = "[tool.terra-refactor]\n"


def test_everything_set() -> None:
    text = HEAD + (
        'select = ["TR1"]\nignore = ["TR101"]\nexclude = ["gen/"]\nrespect-gitignore = false\nmin-ops = 3\ntf-version = "2.16"\njobs = 4\n'
        'level = "coexec"\nbaseline = "known.json"\ncache-dir = ".cache"\n\n[tool.terra-refactor.per-file-ignores]\n"tests/*" = ["TR2"]\n'
    )
    assert parse_config(text, "sub/pyproject.toml") == Config(
        select=("TR1",),
        ignore=("TR101",),
        per_file_ignores={"tests/*": ("TR2",)},
        exclude=("gen/",),
        respect_gitignore=False,
        min_ops=3,
        tf_version="2.16",
        jobs=4,
        level="coexec",
        baseline="known.json",
        cache_dir=".cache",
        file="sub/pyproject.toml",
    )
    assert parse_config(text, "sub/pyproject.toml").folder == "sub"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "\nmin_op = 3\n", "p.toml:3: unknown key `min_op`; did you mean `min-ops`?"),
        (HEAD + "selct = []\n", "p.toml:2: unknown key `selct`; did you mean `select`?"),
        (HEAD + "zzz = 1\n", "p.toml:2: unknown key `zzz`; known keys are baseline, cache-dir"),
        (
            "[tool.terra-refactor.per-file-ignore]\n",
            "p.toml:1: unknown key `per-file-ignore`; did you mean `per-file-ignores`?",
        ),
        ("[a]\nselct = 1\n" + HEAD + "selct = 1\n", "p.toml:4: unknown key"),
        (HEAD + 'select = "TR1"\n', 'p.toml:2: `select` takes a list of strings, not the string "TR1"'),
        (HEAD + "ignore = [1]\n", "takes a list of strings, not a list"),
        (HEAD + "per-file-ignores = {a = 1}\n", "takes a list of strings, not 1"),
        (HEAD + "min-ops = -1\n", "takes a whole number from 0, not -1"),
        (HEAD + "jobs = true\n", "takes a whole number from 0, not true"),
        (HEAD + "tf-version = 2.16\n", 'takes a version as "X.Y", such as "2.21", not 2.16'),
        (HEAD + 'level = "specultive"\n', "did you mean `speculative`?"),
        (HEAD + "respect-gitignore = 1\n", "takes true or false, not 1"),
        (HEAD + 'baseline = ""\n', "takes a path"),
        ("[tool]\nterra-refactor = 1\n", "must be a table"),
        ("[tool.terra-refactor\n", "p.toml: does not parse"),
    ],
)
def test_wrong(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_config(text, "p.toml")
    assert message in str(caught.value)


def test_nearest_file_with_the_table(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(HEAD + "jobs = 1\n")
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'terra-refactor-user'\n")
    assert load_config(start=inner).jobs == 1
    (tmp_path / "a" / "terra-refactor.toml").write_text("jobs = 2\n")
    assert load_config(start=inner).jobs == 2
    assert load_config(tmp_path / "pyproject.toml", start=inner).jobs == 1


def test_file_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_config(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \xe9\n")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_config(tmp_path / "latin.toml")


def test_options_win_and_are_checked() -> None:
    config = Config(jobs=3).with_options(level="coexec", jobs=None)
    assert (config.level, config.jobs) == ("coexec", 3)
    with pytest.raises(UsageError, match="`--tf-version` takes a version"):
        Config().with_options(tf_version="two")
