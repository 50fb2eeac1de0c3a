"""The first answer about a file of a project in which much is connected: from the file and what it imports, until all is known."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from ide_support import open_text, project, shown

from terra_refactor.ide import session as sessions
from terra_refactor.ide.code_lens import code_lenses
from terra_refactor.ide.diagnostics import diagnostics
from terra_refactor.ide.hover import hover
from terra_refactor.ide.inlay_hints import inlay_hints
from terra_refactor.ide.session import StaleError
from terra_refactor.rules.rule import Severity

FILES = {
    "near.py": """
        import far

        def scale(x):
            return x * 2.0
    """,
    "far.py": "import farthest\nSIZE = 3\n" + "a = 1\n" * 40,
    "farthest.py": "b = 2\n" * 40,
    "main.py": """
        import tensorflow as tf
        from near import scale

        def step(x):
            for _ in range(20):
                x = tf.nn.relu(scale(x) + 1.0)
            return x

        tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))
    """,
    "caller.py": """
        import tensorflow as tf
        from main import step

        for _ in range(1000):
            step(tf.ones([2, 3]))
    """,
    "alone.py": "x = 1\n",
}


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_WIDE", 50)
    monkeypatch.setattr(sessions, "_FIRST_LINES", 60)


@pytest.mark.usefixtures("wide")
def test_the_first_answer_is_about_the_file_and_the_nearest_that_it_imports(tmp_path: Path) -> None:
    session = project(tmp_path, FILES)
    path = shown(tmp_path, "main.py")
    first = session.first(path)
    assert first is not None
    assert first.paths == tuple(shown(tmp_path, name) for name in ("far.py", "main.py", "near.py"))
    assert first.left_out == 2
    assert session.fresh(path) is None
    assert session.fresh_first(path) is first


@pytest.mark.usefixtures("wide")
def test_the_first_answer_tells_what_is_wrong_and_proposes_nothing(tmp_path: Path) -> None:
    session = project(tmp_path, FILES)
    path = shown(tmp_path, "main.py")
    first = session.first(path)
    assert first is not None
    assert [each.rule for each in diagnostics(first, path)] == ["TR401"]
    answer = hover(first, path, 7, 9)
    assert answer is not None
    assert answer.text.endswith("_Not analysed yet: 2 files that imports connect with this one._")


@pytest.mark.usefixtures("wide")
def test_the_whole_is_what_it_would_be_without_a_first_answer(tmp_path: Path) -> None:
    path = shown(tmp_path, "main.py")
    session = project(tmp_path, FILES)
    assert session.first(path) is not None
    whole, alone = session.snapshot(path), project(tmp_path, FILES).snapshot(path)
    assert (whole.left_out, whole.findings, whole.decisions) == (0, alone.findings, alone.decisions)
    assert any(each.severity is Severity.INFORMATION for each in diagnostics(whole, path))


@pytest.mark.usefixtures("wide")
def test_what_is_known_as_a_whole_needs_no_first_answer(tmp_path: Path) -> None:
    session = project(tmp_path, FILES)
    path = shown(tmp_path, "main.py")
    session.snapshot(path)
    assert session.fresh(path) is not None
    open_text(session, tmp_path, "main.py", FILES["main.py"] + "        y = 1\n")
    session.snapshot(path)
    open_text(session, tmp_path, "main.py", FILES["main.py"] + "        y = 2\n")
    assert session.first(path) is None  # the last edit was analysed at once
    session.clear()
    assert session.first(path) is not None


@pytest.mark.usefixtures("wide")
def test_a_first_answer_after_an_edit_keeps_what_is_known_of_unchanged_functions(tmp_path: Path) -> None:
    files = {
        **FILES,
        "main.py": """
            import tensorflow as tf

            def other(x):
                return x

            def mix(x, y):
                z = x + 1.0
                return tf.matmul(x, y)
        """,
        "caller.py": """
            import tensorflow as tf
            from main import mix, other

            mix(tf.ones([2, 3]), tf.ones([2, 3]))
            other(tf.ones([7]))
        """,
        "filler.py": "import main\n" + "a = 1\n" * 60,
    }
    session = project(tmp_path, files)
    path = shown(tmp_path, "main.py")
    whole = session.snapshot(path)
    (problem,) = [each for each in diagnostics(whole, path) if each.rule == "TR401"]
    hints = [(hint.name, hint.label, hint.span.line) for hint in inlay_hints(whole, path, 1, 99)]
    edited = files["main.py"].replace("return x\n", "y = x + 1.0\n                return y\n")
    open_text(session, tmp_path, "main.py", edited)
    first = session.first(path)
    assert first is not None and first.left_out
    (moved,) = [each for each in diagnostics(first, path) if each.rule == "TR401"]
    assert moved == replace(problem, span=problem.span.down(1), related=moved.related)
    line = {name: line for name, _, line in hints}["z"]
    # of the edited function callers are not known yet
    now = [(hint.name, hint.label, hint.span.line) for hint in inlay_hints(first, path, 1, 99)]
    assert now == [(name, label, line + 1) for name, label, line in hints if label != "float32 (7,)"]
    answer, old = hover(first, path, line + 1, 5), hover(whole, path, line, 5)
    assert answer is not None and old is not None
    assert (answer.text, answer.span) == (old.text, old.span.down(1))
    # a function that is not as it was has no answer from before
    open_text(session, tmp_path, "main.py", edited.replace("matmul(x, y)", "matmul(x, x)"))
    first = session.first(path)
    assert first is not None
    assert not [each for each in diagnostics(first, path) if each.rule == "TR401"]
    assert [each.rule for each in diagnostics(session.snapshot(path), path) if each.rule == "TR401"] == ["TR401"]


@pytest.mark.usefixtures("wide")
def test_an_edit_before_the_whole_is_known_has_a_first_answer_of_its_own(tmp_path: Path) -> None:
    session = project(tmp_path, FILES)
    path = shown(tmp_path, "main.py")
    session.first(path)
    open_text(session, tmp_path, "main.py", FILES["main.py"].replace("[2, 3]))", "[3, 2]))"))
    assert session.fresh_first(path) is None
    first = session.first(path)
    assert first is not None
    assert diagnostics(first, path) == ()


def test_small_projects_have_no_first_answer(tmp_path: Path) -> None:
    session = project(tmp_path, FILES)
    assert session.first(shown(tmp_path, "main.py")) is None
    assert session.first(shown(tmp_path, "alone.py")) is None


def test_a_long_file_of_its_own_has_no_first_answer(tmp_path: Path) -> None:
    session = project(tmp_path, {"long.py": "a = 1\n" * 6_000})
    assert session.first(shown(tmp_path, "long.py")) is None


@pytest.mark.usefixtures("wide")
def test_reading_the_files_of_a_project_ends_when_the_text_changes(tmp_path: Path) -> None:
    session = project(tmp_path, FILES)
    asked: list[int] = []

    def changed() -> bool:
        asked.append(1)
        return len(asked) > 3

    with pytest.raises(StaleError):
        session.snapshot(shown(tmp_path, "main.py"), changed)
    assert len(asked) == 4
    assert len(session._lowered) < len(FILES) - 1


def test_an_analysis_that_ends_anywhere_leaves_the_next_what_a_new_one_finds(tmp_path: Path) -> None:
    many = "".join(f"import m{number}\n" for number in range(24))
    modules = {
        f"m{number}.py": f"import near\n\ndef f{number}(x):\n    print(x)\n    return near.scale(x)\n"
        for number in range(24)
    }
    files = {**FILES, **modules, "all.py": many}
    session = project(tmp_path, files)
    path = shown(tmp_path, "near.py")
    checks = 0
    ended = 0
    for number in range(0, 40, 3):
        text = f"import far\n\ndef scale(x):\n    return x * {number}.0\n\ndef more{number % 3}(x):\n    return x\n"
        open_text(session, tmp_path, "near.py", text)
        left = number

        def cancelled() -> bool:
            nonlocal left, checks
            left -= 1
            checks += 1
            return left < 0

        try:
            session.snapshot(path, cancelled)
        except StaleError:
            ended += 1
        text = text.replace("    return x\n", "    print(x)\n    return x\n")
        open_text(session, tmp_path, "near.py", text)
        found = session.snapshot(path)
        fresh = project(tmp_path, files)
        open_text(fresh, tmp_path, "near.py", text)
        expected = fresh.snapshot(path)
        assert found.decisions == expected.decisions
        assert found.findings == expected.findings
    assert ended >= 8
    assert checks > 10 * ended


def test_hints_and_lenses_stay_while_a_statement_is_half_typed(tmp_path: Path) -> None:
    text = textwrap.dedent(FILES["main.py"]).replace("from near import scale\n", "").replace("scale(x)", "x")
    text += "for _ in range(1000):\n    step(tf.ones([2, 3]))\n"
    session = project(tmp_path, {"main.py": text})
    path = shown(tmp_path, "main.py")
    open_text(session, tmp_path, "main.py", text)
    before = session.snapshot(path)
    hints = [(hint.span.line, hint.name, hint.label) for hint in inlay_hints(before, path, 1, 99)]
    lenses = [(lens.span.line, lens.title) for lens in code_lenses(before, path)]
    assert hints
    assert lenses
    lines = text.split("\n")
    at = next(number for number, line in enumerate(lines, 1) if "return x" in line)
    open_text(session, tmp_path, "main.py", "\n".join([*lines[: at - 1], "    more = tf.ones([", *lines[at - 1 :]]))
    broken = session.snapshot(path)
    assert [problem.name for problem in diagnostics(broken, path)] == ["not-analysed"]
    moved = [(line + (line >= at), name, label) for line, name, label in hints]
    assert [(hint.span.line, hint.name, hint.label) for hint in inlay_hints(broken, path, 1, 99)] == moved
    assert [(lens.span.line, lens.title) for lens in code_lenses(broken, path)] == lenses
    changed = next(line for line, name, _ in hints if name == "x")
    open_text(
        session, tmp_path, "main.py", "\n".join([*lines[: changed - 1], f"{lines[changed - 1]} (", *lines[changed:]])
    )
    worse = session.snapshot(path)
    assert not [hint for hint in inlay_hints(worse, path, 1, 99) if hint.span.line == changed]
    open_text(session, tmp_path, "main.py", text)
    again = session.snapshot(path)
    assert [(hint.span.line, hint.name, hint.label) for hint in inlay_hints(again, path, 1, 99)] == hints
