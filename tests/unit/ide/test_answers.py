"""Answers for the editor: hover, hints, lenses, actions."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from ide_support import at_mark, project, shown

from terra_refactor.classify.decision import ExpectedGain
from terra_refactor.ide.code_actions import NewText, NotPossible, Offer, OfferKind, Request, Task, code_actions, perform
from terra_refactor.ide.code_lens import code_lenses
from terra_refactor.ide.diagnostics import Tag, diagnostics
from terra_refactor.ide.hover import hover
from terra_refactor.ide.inlay_hints import HintKind, hint_details, inlay_hints
from terra_refactor.ide.snapshot import Snapshot
from terra_refactor.ide.symbols import symbols
from terra_refactor.ir.function import FunctionKind
from terra_refactor.rules.rule import Severity
from terra_refactor.syntax.location import Span

MODEL = """\
import tensorflow as tf

class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(tf.zeros([4, 8]))

    def step(self, x, *, deep=True):
        h = tf.matmul(x, self.w)
        for _ in range(10):
            h = tf.nn.relu(h + 1.0) * 2.0
        pair = (h, x)
        return h

    def shout(self, x):
        print(x)
        y = tf.reduce_sum(x * 2.0) + 1.0
        for _ in range(10):
            y = tf.nn.relu(y + 1.0) * 2.0
        return y

@tf.function
def nothing(n):
    return None

net = Net()
out = net.step(tf.ones([2, 4]))
for _ in range(100):
    net.step(tf.ones([2, 4]))
net.shout(tf.ones([2, 4]))
nothing(3)
"""


def model(folder: Path) -> tuple[Snapshot, str]:
    path = shown(folder, "m.py")
    return project(folder, {"m.py": MODEL}).snapshot(path), path


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(MODEL.splitlines(), 1) if text in line)


@pytest.mark.parametrize(
    ("marked", "said"),
    [
        ("‸h = tf.matmul(x, self.w)", "float32 (2, 8)"),
        ("tf.matmul(‸x, self.w)", "float32 (2, 4)"),
        ("tf.matmul(x, self.‸w)", "variable float32 (4, 8)"),
        ("def step(self, ‸x, *, deep=True)", "float32 (2, 4)"),
        ("‸out = net.step", "float32 (2, 8)"),
        ("def ‸step", "**Net.step**: safe · Add @tf.function"),
        ("def ‸shout", "TR101"),
        ("@‸tf.function", "TR502"),
    ],
)
def test_hover(tmp_path: Path, marked: str, said: str) -> None:
    plain = marked.replace("‸", "")
    assert plain in MODEL
    snapshot, path, line, column = at_mark(tmp_path, MODEL.replace(plain, marked, 1))
    answer = hover(snapshot, path, line, column)
    assert answer is not None
    assert said in answer.text
    assert answer.span.contains(line, column)


@pytest.mark.parametrize("marked", ["‸import tensorflow", "‸class Net", "‸for _ in range(10)"])
def test_no_hover_where_there_is_nothing_to_tell(tmp_path: Path, marked: str) -> None:
    plain = marked.replace("‸", "")
    snapshot, path, line, column = at_mark(tmp_path, MODEL.replace(plain, marked, 1))
    assert hover(snapshot, path, line, column) is None


def test_hover_on_a_suppression_tells_the_rule(tmp_path: Path) -> None:
    snapshot, path, line, column = at_mark(tmp_path, "x = 1  # terra: ‸ignore[TR101]\n")
    answer = hover(snapshot, path, line, column)
    assert answer is not None
    assert "host-print-or-log" in answer.text


def test_hints(tmp_path: Path) -> None:
    snapshot, path = model(tmp_path)
    hints = {(hint.span.line, hint.name): hint for hint in inlay_hints(snapshot, path, 1, 99)}
    matmul = line_of("h = tf.matmul")
    assert hints[matmul, "h"].label == "float32 (2, 8)"
    assert hints[line_of("pair ="), "pair"].label == "(float32 (2, 8), float32 (2, 4))"
    assert hints[line_of("self.w ="), "w"].kind is HintKind.ATTRIBUTE
    parameter = hints[line_of("def step"), "x"]
    assert (parameter.label, parameter.annotation) == ("float32 (2, 4)", ": tf.Tensor")
    assert (line_of("net = Net"), "net") not in hints
    only = inlay_hints(snapshot, path, matmul, matmul, [HintKind.BINDING])
    assert [hint.name for hint in only] == ["h"]
    details = hint_details(snapshot, path, parameter.function.index, "x", parameter.span.line)
    assert "dataflow" in details
    assert f":{line_of('out = ')}" in details
    assert "as it is called" in hint_details(snapshot, path, hints[matmul, "h"].function.index, "h", matmul)
    assert hint_details(snapshot, path, 999, "x", 1) == ""


def test_lenses(tmp_path: Path) -> None:
    snapshot, path = model(tmp_path)
    titles = {lens.qualname: (lens.title, lens.applies) for lens in code_lenses(snapshot, path)}
    assert titles["Net.step"] == ("Add @tf.function", True)
    assert titles["Net.shout"] == ("Co-execute · no graph: host print or log", True)
    assert titles["nothing"] == ("Remove @tf.function", True)
    assert "Net.__init__" not in titles
    without_shim = {lens.qualname for lens in code_lenses(snapshot, path, co_execution=False)}
    assert without_shim == titles.keys() - {"Net.shout"}
    every = code_lenses(snapshot, path, every=True, co_execution=False)
    assert ("Net.shout", "stays eager: host print or log") in {(lens.qualname, lens.title) for lens in every}


@pytest.mark.parametrize(
    ("seconds", "title"), [(2.34, "Add @tf.function · saves about 2.3 s"), (0.01, "Add @tf.function")]
)
def test_a_lens_says_what_a_run_would_save(tmp_path: Path, seconds: float, title: str) -> None:
    snapshot, path = model(tmp_path)
    gain = ExpectedGain(400, seconds, "record")
    decisions = tuple(replace(each, expected_gain=gain) for each in snapshot.decisions[path])
    lenses = code_lenses(replace(snapshot, decisions={path: decisions}), path)
    assert title in [lens.title for lens in lenses if lens.qualname == "Net.step"]


def test_tests_and_factories_have_no_lens(tmp_path: Path) -> None:
    work = """
        y = x
        for _ in range(20):
            y = tf.nn.relu(y + 1.0) * 2.0
        return {result}
    """
    body = textwrap.indent(textwrap.dedent(work), "    ")
    text = "import tensorflow as tf\n\n" + "".join(
        f"def {name}(x):\n{body.format(result=result)}\n"
        for name, result in (("step", "y"), ("test_step", "y"), ("make", "tf.keras.layers.Dense(4)(y)"))
    )
    calls = "".join(f"    {name}(tf.ones([2, 4]))\n" for name in ("step", "test_step", "make"))
    text += f"for _ in range(1000):\n{calls}"
    path = shown(tmp_path, "m.py")
    snapshot = project(tmp_path, {"m.py": text}).snapshot(path)
    assert {decision.qualname for decision in snapshot.decisions[path]} == {"step", "test_step", "make"}
    assert [lens.qualname for lens in code_lenses(snapshot, path, every=True)] == ["step"]


def test_diagnostics_carry_tags_and_related_places(tmp_path: Path) -> None:
    snapshot, path = model(tmp_path)
    problems = {problem.rule: problem for problem in diagnostics(snapshot, path)}
    assert problems["TR502"].tags == (Tag.UNNECESSARY,)
    chain = """
        import tensorflow as tf

        def say(x):
            print(x)

        @tf.function
        def f(x):
            say(x)
            return x * 2.0

        f(tf.ones([3]))
    """
    folder = tmp_path / "chain"
    snapshot = project(folder, {"m.py": chain}).snapshot(shown(folder, "m.py"))
    (printed,) = [each for each in diagnostics(snapshot, shown(folder, "m.py")) if each.rule == "TR101"]
    assert [place.span.line for place in printed.related] == [9]


def test_stale_state_names_the_places_that_change_it(tmp_path: Path) -> None:
    text = """
        import tensorflow as tf

        FACTOR = 1.0

        class Model:
            def __init__(self):
                self.scale = 1.0

            def set_scale(self, scale):
                self.scale = scale

            @tf.function
            def apply(self, x):
                return x * self.scale * FACTOR

        def change():
            global FACTOR
            FACTOR = 2.0

        model = Model()
        model.apply(tf.ones([2]))
        model.set_scale(2.0)
        change()
        model.apply(tf.ones([2]))
    """
    path = shown(tmp_path, "m.py")
    stale = [p for p in diagnostics(project(tmp_path, {"m.py": text}).snapshot(path), path) if p.rule == "TR106"]
    places = {problem.message.split("`")[1]: [place.span.line for place in problem.related] for problem in stale}
    assert places == {"self.scale": [11], "FACTOR": [19]}


def test_the_card_links_the_lines_of_hazards(tmp_path: Path) -> None:
    snapshot, path = model(tmp_path)
    line = line_of("def shout")
    answer = hover(snapshot, path, line, 10, place_link="[{2}]({1})".format)
    assert answer is not None
    assert f"TR101 [line {line + 1}]({line + 1}): " in answer.text


def test_symbols_hold_classes_and_what_was_decided(tmp_path: Path) -> None:
    snapshot, path = model(tmp_path)
    net, nothing = symbols(snapshot, path)
    assert [(symbol.name, symbol.kind) for symbol in (net, nothing)] == [
        ("Net", FunctionKind.CLASS_BODY),
        ("nothing", FunctionKind.FUNCTION),
    ]
    assert [method.name for method in net.inner] == ["__init__", "step", "shout"]
    assert net.inner[1].detail == "safe · Add @tf.function"
    assert net.name_span.line == line_of("class Net")
    assert net.span.encloses(net.inner[2].span)


def test_a_file_that_does_not_parse_has_one_quiet_diagnostic(tmp_path: Path) -> None:
    snapshot = project(tmp_path, {"m.py": "x = (\n"}).snapshot(shown(tmp_path, "m.py"))
    (problem,) = diagnostics(snapshot, shown(tmp_path, "m.py"))
    assert (problem.rule, problem.severity) == (None, Severity.INFORMATION)


def offers(snapshot: Snapshot, path: str, line: int, *, explicit: bool = False) -> list[Offer]:
    return list(code_actions(snapshot, path, line, line, explicit=explicit))


def test_a_safe_function_has_a_preferred_quick_fix(tmp_path: Path) -> None:
    snapshot, path = model(tmp_path)
    here = offers(snapshot, path, line_of("def step"))
    (fix,) = [offer for offer in here if offer.kind is OfferKind.QUICK_FIX and offer.preferred]
    assert fix.title == "Add @tf.function: Net.step"
    assert fix.finding is not None
    assert fix.finding.rule == "TR506"
    result = perform(snapshot, fix.request)
    assert isinstance(result, NewText)
    assert result.assumptions == ()
    assert "    @tf.function\n    def step(" in result.text
    assert OfferKind.REWRITE_ADD in {offer.kind for offer in here}


def test_all_safe_changes_at_once(tmp_path: Path) -> None:
    snapshot, path = model(tmp_path)
    (everything,) = [offer for offer in offers(snapshot, path, 1) if offer.kind is OfferKind.REFACTOR_ALL]
    assert "2 safe changes" in everything.title
    result = perform(snapshot, everything.request)
    assert isinstance(result, NewText)
    assert "@tf.function\n    def step" in result.text
    assert "@tf.function\ndef nothing" not in result.text


def test_fixing_all_changes_no_decorator(tmp_path: Path) -> None:
    snapshot, path = model(tmp_path)
    assert not [offer for offer in offers(snapshot, path, 1) if offer.kind is OfferKind.FIX_ALL]
    text = MODEL.replace("import tensorflow as tf\n", "import tensorflow as tf  # terra: ignore[TR101]\n", 1)
    assert text != MODEL
    snapshot = project(tmp_path, {"m.py": text}).snapshot(path)
    (everything,) = [offer for offer in offers(snapshot, path, 1) if offer.kind is OfferKind.FIX_ALL]
    result = perform(snapshot, everything.request)
    assert isinstance(result, NewText)
    assert "terra: ignore" not in result.text
    assert result.text.count("tf.function") == text.count("tf.function")


def test_what_cannot_be_done_says_why_and_only_when_asked(tmp_path: Path) -> None:
    snapshot, path = model(tmp_path)
    inside = line_of("super().__init__()")
    assert not [offer for offer in offers(snapshot, path, inside) if offer.kind is OfferKind.REWRITE_ADD]
    line = line_of("tf.reduce_sum(x * 2.0)")
    (rewrite,) = [o for o in offers(snapshot, path, line, explicit=True) if o.kind.value.startswith("refactor.")]
    assert rewrite.disabled is not None or rewrite.kind is OfferKind.REWRITE_CO_EXECUTE


def test_a_speculative_change_names_its_assumptions(tmp_path: Path) -> None:
    text = """
        import tensorflow as tf
        import mystery

        def train_step(images):
            y = images
            for _ in range(20):
                y = tf.nn.relu(y * 2.0) + 1.0
            return mystery.scale(y)
    """
    snapshot = project(tmp_path, {"m.py": text}).snapshot(shown(tmp_path, "m.py"))
    (rewrite,) = [
        offer for offer in offers(snapshot, shown(tmp_path, "m.py"), 5) if offer.kind is OfferKind.REWRITE_ADD
    ]
    assert rewrite.assumptions
    assert "assumption" in rewrite.title
    assert not [offer for offer in offers(snapshot, shown(tmp_path, "m.py"), 5) if offer.kind is OfferKind.REFACTOR_ALL]
    result = perform(snapshot, rewrite.request)
    assert isinstance(result, NewText)
    assert result.assumptions == rewrite.assumptions


def test_a_finding_with_a_cure_offers_it(tmp_path: Path) -> None:
    text = """
        import tensorflow as tf

        @tf.function
        def f(x):
            print(x)
            return x * 2.0

        f(tf.ones([3]))
    """
    path = shown(tmp_path, "m.py")
    snapshot = project(tmp_path, {"m.py": text}).snapshot(path)
    (cure,) = [offer for offer in offers(snapshot, path, 6) if offer.request.task is Task.CURE]
    assert cure.title == "Print with tf.print"
    assert cure.finding is not None
    assert cure.finding.rule == "TR101"
    result = perform(snapshot, cure.request)
    assert isinstance(result, NewText)
    assert "    tf.print(x)\n" in result.text
    assert isinstance(perform(snapshot, replace(cure.request, rule="TR102")), NotPossible)


def test_a_hint_stands_behind_the_annotation(tmp_path: Path) -> None:
    text = """
        import tensorflow as tf
        from typing import Callable

        def f(x: tf.Tensor, y: "dict[str, int)]"=2, *, z: Callable[[int, int], float] = None,
              w: tf.Tensor
              ):
            return x + w

        f(tf.ones([3]), tf.ones([2]), z=tf.ones([4]), w=tf.ones([3]))
    """
    path = shown(tmp_path, "m.py")
    snapshot = project(tmp_path, {"m.py": text}).snapshot(path)
    lines = (tmp_path / "m.py").read_text().splitlines()
    found = {
        hint.name: lines[hint.span.line - 1][hint.span.column - 1 : hint.span.end_column - 1]
        for hint in inlay_hints(snapshot, path, 1, 99, [HintKind.PARAMETER])
    }
    assert found == {
        "x": "x: tf.Tensor",
        "y": 'y: "dict[str, int)]"',
        "z": "z: Callable[[int, int], float]",
        "w": "w: tf.Tensor",
    }


def test_a_hazard_of_a_function_that_is_no_graph_yet_can_be_cured(tmp_path: Path) -> None:
    snapshot, path = model(tmp_path)
    line = line_of("print(x)")
    assert not [finding for finding in snapshot.findings.get(path, ()) if finding.rule == "TR101"]
    (cure,) = [offer for offer in offers(snapshot, path, line) if offer.request.task is Task.CURE]
    assert cure.title == "Print with tf.print, so that Net.shout can be a graph"
    assert cure.kind is OfferKind.REWRITE_CURE
    assert cure.finding is None
    result = perform(snapshot, cure.request)
    assert isinstance(result, NewText)
    assert result.text == MODEL.replace("        print(x)", "        tf.print(x)")
    (tmp_path / "m.py").write_text(result.text)
    after = project(tmp_path, {}).snapshot(path)
    (decision,) = [each for each in after.decisions[path] if each.qualname == "Net.shout"]
    assert "TR101" not in {hazard.rule for hazard in decision.hazards}


def test_an_action_on_what_is_gone_says_so(tmp_path: Path) -> None:
    snapshot, path = model(tmp_path)
    assert isinstance(perform(snapshot, Request(Task.REFACTOR, path, "Net.gone", 3)), NotPossible)
    assert isinstance(perform(snapshot, Request(Task.FIX_ALL, "other.py")), NotPossible)


SHAPE = "import tensorflow as tf\ny = tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))\n"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (SHAPE, SHAPE[:-1] + "  # terra: ignore[TR401] a reason\n"),
        (SHAPE.replace("\n", "\r\n"), SHAPE[:-1].replace("\n", "\r\n") + "  # terra: ignore[TR401] a reason\r\n"),
        (SHAPE[:-1], SHAPE[:-1] + "  # terra: ignore[TR401] a reason"),
        (SHAPE[:-1] + "  # terra: ignore[TR302] old\n", SHAPE[:-1] + "  # terra: ignore[TR302, TR401] old\n"),
        (
            SHAPE.replace("(tf.ones", "(\\\n  tf.ones", 1),
            SHAPE.replace("(tf.ones", "(\\\n  tf.ones", 1)[:-1] + "  # terra: ignore[TR401] a reason\n",
        ),
    ],
)
def test_suppression_with_a_reason_takes_the_finding_away(tmp_path: Path, text: str, after: str) -> None:
    path = shown(tmp_path, "m.py")
    (tmp_path / "m.py").write_bytes(text.encode())
    session = project(tmp_path, {})
    snapshot = session.snapshot(path)
    (finding,) = [finding for finding in snapshot.findings[path] if finding.rule == "TR401"]
    request = Request(Task.SUPPRESS, path, rule="TR401", span=finding.span, reason="a reason")
    result = perform(snapshot, request)
    assert isinstance(result, NewText)
    assert result.text == after
    (tmp_path / "m.py").write_bytes(result.text.encode())
    session.files_changed([path], listing=False)
    assert "TR401" not in {finding.rule for finding in session.snapshot(path).findings.get(path, ())}


def test_a_reason_stays_in_its_comment(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(SHAPE)
    snapshot = project(tmp_path, {}).snapshot(shown(tmp_path, "m.py"))
    request = Request(
        Task.SUPPRESS, shown(tmp_path, "m.py"), rule="TR401", span=Span(2, 5, 2, 40), reason="two\nlines # here"
    )
    result = perform(snapshot, request)
    assert isinstance(result, NewText)
    assert result.text.endswith("# terra: ignore[TR401] two lines here\n")


def test_a_change_of_which_nothing_but_its_gain_is_unknown_says_so(tmp_path: Path) -> None:
    text = """\
        import tensorflow as tf

        class Net(tf.Module):
            def ‸__call__(self, x: tf.Tensor):
                for _ in range(40):
                    x = tf.nn.relu(x * 2.0) + 1.0
                return x

        Net()(tf.ones([2]))
        """
    snapshot, path, line, _ = at_mark(tmp_path, text)
    assert [lens.title for lens in code_lenses(snapshot, path)] == ["Add @tf.function · if it pays"]
    result = perform(snapshot, Request(Task.REFACTOR, path, "Net.__call__", line))
    assert isinstance(result, NewText)
    assert result.assumptions[0].startswith("it pays: about ")
