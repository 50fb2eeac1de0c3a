"""The session: which files belong together, what an edit costs, and that its answers are those of a cold analysis."""

from __future__ import annotations

import gc
import json
import random
from pathlib import Path

import pytest
from ide_support import open_text, project, shown

from terra_refactor.analysis.facts import ProgramFacts
from terra_refactor.analysis.frames import Summary
from terra_refactor.analysis.interpreter import Interpreter
from terra_refactor.classify import hazards
from terra_refactor.classify.hazards import HazardMap
from terra_refactor.config import Config
from terra_refactor.errors import SourceError, UsageError
from terra_refactor.facts.watch import Watch
from terra_refactor.ide.code_lens import code_lenses
from terra_refactor.ide.hover import hover
from terra_refactor.ide.session import Session, StaleError
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.record.child.places import definitions
from terra_refactor.syntax.source import source_from_text
from terra_refactor.workspace.workspace import Options, analyze

FILES = {
    "shapes.py": """
        import tensorflow as tf

        def scale(x, w):
            y = tf.matmul(x, w)
            for _ in range(20):
                y = tf.nn.relu(y + 1.0)
            return y
    """,
    "main.py": """
        import tensorflow as tf
        from shapes import scale

        print(scale(tf.ones([2, 3]), tf.ones([3, 4])))
    """,
    "alone.py": "x = 1\n",
    "pkg/__init__.py": "",
    "pkg/inner.py": "import pkg.other\n",
    "pkg/other.py": "y = 2\n",
}


def found(snapshot: Snapshot, path: str) -> list[tuple[str, int, str]]:
    return [(each.rule, each.span.line, each.message) for each in snapshot.findings.get(path, ())]


def test_the_files_of_a_component(tmp_path: Path) -> None:
    session = project(tmp_path, FILES)
    assert session.snapshot(shown(tmp_path, "main.py")).paths == (
        shown(tmp_path, "main.py"),
        shown(tmp_path, "shapes.py"),
    )
    assert session.snapshot(shown(tmp_path, "alone.py")).paths == (shown(tmp_path, "alone.py"),)
    assert [len(component) for component in session.components()] == [3, 2, 1]


def test_what_an_edit_replaces_is_gone_at_once(tmp_path: Path) -> None:
    session = project(tmp_path, FILES)
    main = shown(tmp_path, "main.py")
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        for size in "3567891":
            open_text(session, tmp_path, "main.py", FILES["main.py"].replace("[3, 4]", f"[3, {size}]"))
            session.snapshot(main)
        gc.collect()
        left = {type(each) for each in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not left & {Interpreter, ProgramFacts, Summary, HazardMap, Watch, Snapshot}


def test_an_open_text_takes_the_place_of_the_file_and_changes_other_files(tmp_path: Path) -> None:
    session = project(tmp_path, FILES)
    main, shapes = shown(tmp_path, "main.py"), shown(tmp_path, "shapes.py")
    assert not [rule for rule, _, _ in found(session.snapshot(shapes), shapes) if rule == "TR401"]
    open_text(session, tmp_path, "main.py", FILES["main.py"].replace("[3, 4]", "[5, 4]"))
    assert "TR401" in [rule for rule, _, _ in found(session.snapshot(main), shapes)]
    session.drop_buffer(main)
    assert not [rule for rule, _, _ in found(session.snapshot(shapes), shapes) if rule == "TR401"]


def test_equal_texts_are_analysed_once(tmp_path: Path) -> None:
    session = project(tmp_path, FILES)
    first = session.snapshot(shown(tmp_path, "main.py"))
    assert session.snapshot(shown(tmp_path, "shapes.py")) is first
    open_text(session, tmp_path, "main.py", FILES["main.py"] + "\n# more\n")
    second = session.snapshot(shown(tmp_path, "main.py"))
    assert second is not first
    session.drop_buffer(shown(tmp_path, "main.py"))
    assert session.snapshot(shown(tmp_path, "main.py")) is first
    session.clear()
    assert session.snapshot(shown(tmp_path, "main.py")) is not first


def test_a_new_file_counts_when_the_editor_tells_of_it(tmp_path: Path) -> None:
    session = project(tmp_path, {"main.py": "import late\n"})
    main = shown(tmp_path, "main.py")
    assert session.snapshot(main).paths == (main,)
    (tmp_path / "late.py").write_text("import tensorflow\n")
    session.files_changed([shown(tmp_path, "late.py")], listing=True)
    assert session.snapshot(main).paths == (shown(tmp_path, "late.py"), main)
    (tmp_path / "late.py").write_text("import tensorflow as tf\n")
    assert session.check_disk()
    assert "as tf" in session.snapshot(main).sources[shown(tmp_path, "late.py")].text


def test_a_file_that_does_not_parse_costs_only_itself(tmp_path: Path) -> None:
    session = project(tmp_path, FILES)
    main = shown(tmp_path, "main.py")
    open_text(session, tmp_path, "main.py", "def (\n")
    snapshot = session.snapshot(main)
    assert snapshot.errors[main].line == 1
    assert snapshot.module(main) is None
    open_text(session, tmp_path, "main.py", FILES["main.py"])
    assert session.snapshot(main).errors == {}


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    session = project(tmp_path, {"latin.py": "x = 1\n"})
    (tmp_path / "latin.py").write_bytes(b"x = '\xff'\n")
    with pytest.raises(SourceError, match="not valid utf-8"):
        session.snapshot(shown(tmp_path, "latin.py"))
    with pytest.raises(SourceError, match="does not exist"):
        session.snapshot(shown(tmp_path, "none.py"))
    assert [error.path for error in session.unreadable()] == [shown(tmp_path, "latin.py")]


def test_an_analysis_that_is_out_of_date_ends(tmp_path: Path) -> None:
    session = project(tmp_path, FILES)
    with pytest.raises(StaleError):
        session.snapshot(shown(tmp_path, "main.py"), lambda: True)
    assert session.snapshot(shown(tmp_path, "main.py")).errors == {}


def test_a_file_of_no_project(tmp_path: Path) -> None:
    text = "import tensorflow as tf\ntf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))\n"
    (tmp_path / "one.py").write_text(text)
    (tmp_path / "other.py").write_text("import one\n")
    session = Session(str(tmp_path / "one.py"), Config())
    path = shown(tmp_path, "one.py")
    assert session.files() == (path,)
    assert [rule for rule, _, _ in found(session.snapshot(path), path)] == ["TR401"]


def test_an_unsaved_text_without_a_file(tmp_path: Path) -> None:
    session = Session(str(tmp_path / "untitled"), Config())
    session.set_buffer("Untitled-1", source_from_text("def f(:\n", "Untitled-1"))
    assert list(session.snapshot("Untitled-1").errors) == ["Untitled-1"]


def test_an_unknown_rule_in_the_configuration_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown rule"):
        Session(str(tmp_path), Config(select=("TR999",)))


@pytest.mark.slow
def test_random_edits_give_what_a_cold_analysis_gives(tmp_path: Path) -> None:
    session = project(tmp_path, FILES)
    main, shapes = shown(tmp_path, "main.py"), shown(tmp_path, "shapes.py")
    texts = {name: (tmp_path / name).read_text() for name in ("main.py", "shapes.py")}
    choose = random.Random(6)
    for number in range(150):
        name = choose.choice(sorted(texts))
        text = texts[name]
        at = choose.randrange(len(text) + 1)
        text = (
            text[:at] + choose.choice("x1(,) \n.:[34]") + text[at:]
            if choose.random() < 0.5
            else text[:at] + text[at + choose.randrange(1, 4) :]
        )
        if choose.random() < 0.3:
            text = FILES[name].replace("    ", "", 1)  # back to something that parses, for a while
        texts[name] = text
        open_text(session, tmp_path, name, text)
        warm = session.snapshot(shown(tmp_path, name))
        cold_session = Session(str(tmp_path), Config(jobs=1))
        for other, current in texts.items():
            open_text(cold_session, tmp_path, other, current)
        cold = cold_session.snapshot(shown(tmp_path, name))
        for path in (main, shapes):
            assert found(warm, path) == found(cold, path), (number, texts)
            assert warm.decisions.get(path) == cold.decisions.get(path), (number, texts)
        assert warm.errors == cold.errors


def test_the_answers_are_those_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = project(tmp_path, {**FILES, "main.py": FILES["main.py"].replace("[3, 4]", "[5, 4]")})
    report = analyze(["."], Options(config=Config(jobs=1), use_cache=False))
    for component in session.components():
        snapshot = session.snapshot(component[0])
        for path in component:
            assert snapshot.decisions.get(path, ()) == tuple(d for d in report.decisions if d.path == path)
            assert snapshot.findings.get(path, ()) == tuple(f for f in report.findings if f.path == path)


def test_a_record_is_read_and_read_again(tmp_path: Path) -> None:
    text = "import tensorflow as tf\n\n\n@tf.function\ndef step(x):\n    return tf.nn.relu(x)\n"
    config = Config(evidence=(str(tmp_path / "run-record.json"),))
    session = project(tmp_path, {"step.py": text}, config)
    path = shown(tmp_path, "step.py")
    assert not session.snapshot(path).program.recorded
    assert session.problems and "cannot be read" in session.problems[0]
    ((name, line, digest),) = definitions(text.encode()).values()
    graph = {"calls": 400, "inner_calls": 0, "seconds": 1.0, "traces": 40, "tracing_seconds": 1.0, "objects": 1}
    seen = {
        "path": "step.py",
        "qualname": name,
        "line": line,
        "digest": digest,
        "calls": 0,
        "estimated": False,
        "seconds": 0.0,
        "own_seconds": None,
        "detailed_calls": 0,
        "traced_calls": 0,
        "parameters": [],
        "returns": [],
        "graph": {**graph, "causes": []},
    }
    record = {
        "schema": "terra-refactor/record/1",
        "tool": {"version": "0"},
        "root": ".",
        "python": "3.12",
        "tensorflow": None,
        "seconds": 1,
        "exit_code": 0,
        "complete": True,
        "processes": 1,
        "notices": [],
        "files": [],
        "functions": [seen],
    }
    (tmp_path / "run-record.json").write_text(json.dumps(record))
    assert session.check_disk() and session.fresh(path) is None
    snapshot = session.snapshot(path)
    assert not session.check_disk()
    assert session.problems == ()
    (lens,) = code_lenses(snapshot, path, every=True)
    assert lens.title == "graph · traced 40× · 5.0 ms per call (400 calls)"
    (lens,) = code_lenses(snapshot, path)
    assert (lens.title, lens.applies) == ("traced 40× · 5.0 ms per call (400 calls)", False)
    answer = hover(snapshot, path, 5, 6)
    assert answer is not None and "Recorded: traced 40× · 5.0 ms per call (400 calls)." in answer.text


def test_an_edit_checks_what_it_reaches_and_no_other_function_that_the_module_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import tensorflow as tf\n" + "".join(
        f"\n\ndef f{number}(x):\n    print(x)\n    return tf.tanh(x)\n\n\nf{number}(tf.ones([3]))\n"
        for number in range(4)
    )
    session = project(tmp_path, {"m.py": text})
    session.snapshot(shown(tmp_path, "m.py"))
    checked: list[str] = []
    check = hazards.local_hazards
    monkeypatch.setattr(hazards, "local_hazards", lambda view: (checked.append(view.function.name), check(view))[1])
    # the print has another number now, which the effects of the module name
    open_text(session, tmp_path, "m.py", text.replace("def f2(x):\n", "def f2(x):\n    count = 1\n"))
    session.snapshot(shown(tmp_path, "m.py"))
    assert set(checked) == {"f2", "<module>"}
