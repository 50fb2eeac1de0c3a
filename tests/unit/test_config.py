"""The configuration: every wrong key and value is said with its place and what would be right."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import jsonschema
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from document_configuration import stale_files

from terra_refactor.config import KEYS, Config, config_schema, load_config, parse_config
from terra_refactor.errors import UsageError

HEAD = "[tool.terra-refactor]\n"


def test_everything_set() -> None:
    text = HEAD + (
        'select = ["TR1"]\nignore = ["TR101"]\nexclude = ["gen/"]\nrespect-gitignore = false\nmin-ops = 3\ntf-version = "2.16"\njobs = 4\n'
        'level = "coexec"\nbaseline = "known.json"\ncache-dir = ".cache"\n\n[tool.terra-refactor.per-file-ignores]\n"tests/*" = ["TR2"]\n'
    )
    found = parse_config(text, "sub/pyproject.toml")
    assert found.notices == (
        "sub/pyproject.toml: `cache-dir` is not followed; use --cache-dir or the variable TERRA_REFACTOR_CACHE_DIR",
    )
    assert dataclasses.replace(found, notices=()) == Config(
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
        (HEAD + "tf-version = 2.16\n", 'takes a version of TensorFlow 2 or later as "X.Y", such as "2.21", not 2.16'),
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


def test_a_file_extends_another(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(
        'select = ["TR1"]\nextend-select = ["TR2"]\njobs = 2\nbaseline = "known.json"\nextend-exclude = ["a"]\n'
    )
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / ".git").mkdir()  # a file that is found may lead anywhere in its repository
    (inner / "terra-refactor.toml").write_text('extend = "../base.toml"\njobs = 3\nextend-select = ["TR3"]\n')
    config = load_config(start=inner)
    assert (config.select, config.extend_select, config.jobs) == (("TR1",), ("TR2", "TR3"), 3)
    assert config.baseline == str(tmp_path / "known.json")
    assert config.extend_exclude == ("a",)
    (tmp_path / "base.toml").write_text('extend = "inner/terra-refactor.toml"\n')
    with pytest.raises(UsageError, match=r"base.toml:1: `extend` is circular: it leads back"):
        load_config(start=inner)
    (tmp_path / "base.toml").write_text("slect = []\n")
    with pytest.raises(UsageError, match=r"base.toml:1: unknown key `slect`; did you mean `select`"):
        load_config(start=inner)
    (tmp_path / "base.toml").unlink()
    with pytest.raises(UsageError, match="cannot be read"):
        load_config(start=inner)


SAMPLES: dict[str, tuple[list[object], list[object]]] = {
    "extend": (["x.toml"], [1]),
    "select": ([[], ["TR1"]], ["TR1", [1]]),
    "extend-select": ([["TR1"]], ["TR1"]),
    "ignore": ([["TR1"]], ["TR1"]),
    "per-file-ignores": ([{}, {"a": ["TR1"]}], [[], {"a": "TR1"}]),
    "extract": ([True, False], ["yes", 1]),
    "severity": ([{"TR1": "error"}], [{"TR1": "eror"}, []]),
    "fail-on": (["never", "warning"], ["warn", 1]),
    "exclude": ([["a"]], ["a"]),
    "extend-exclude": ([["a"]], ["a"]),
    "respect-gitignore": ([True], [1, "yes"]),
    "min-ops": ([0, 3], [-1, 1.5, "3", True]),
    "tf-version": (["2.16"], ["2", 2.16, "2.16.1"]),
    "jobs": ([0], [-1]),
    "level": (["coexec"], ["all"]),
    "baseline": (["x"], ["", 1]),
    "evidence": ([[], ["x.json"]], ["x.json", [1]]),
    "project-models": (
        [{}, {"a.f": {"returns": "int", "pure": True}}, {"a.f": {"parameters": {"x": "tf.Tensor"}}}],
        [[], {"a.f": "int"}, {"a.f": {"returns": 3}}, {"a.f": {"return": "int"}}, {"a.f": {"pure": "yes"}}],
    ),
    "cache-dir": (["x"], [""]),
}


@pytest.mark.parametrize("key", sorted(KEYS))
def test_the_schema_and_the_checks_agree(key: str) -> None:
    right, wrong = SAMPLES[key]
    for value in right:
        jsonschema.validate({key: value}, config_schema())
        KEYS[key].check(value, key)
    for value in wrong:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({key: value}, config_schema())
        with pytest.raises(UsageError):
            KEYS[key].check(value, key)


def test_every_key_is_an_attribute_and_the_generated_files_are_up_to_date() -> None:
    assert {name.replace("-", "_") for name in KEYS} | {"file", "notices"} == {
        field.name for field in dataclasses.fields(Config)
    }
    assert stale_files() == [], "run `make generated`"


def test_options_win_and_are_checked() -> None:
    config = Config(jobs=3).with_options(level="coexec", jobs=None)
    assert (config.level, config.jobs) == ("coexec", 3)
    with pytest.raises(UsageError, match="`--tf-version` takes a version of TensorFlow"):
        Config().with_options(tf_version="two")
