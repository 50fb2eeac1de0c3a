"""The formats that other programs define: right places, right names, nothing that breaks their syntax."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from reported_project import CELLS, analyzed, write_notebook, write_project

from terra_refactor.classify.decision import ExpectedGain, Level
from terra_refactor.report.agenda import agenda_of
from terra_refactor.report.schema import build_report
from terra_refactor.report.to_github import to_github
from terra_refactor.report.to_gitlab import to_gitlab
from terra_refactor.report.to_json import json_schema, to_json, to_json_lines
from terra_refactor.report.to_junit import to_junit
from terra_refactor.report.to_markdown import to_markdown
from terra_refactor.report.to_rdjson import to_rdjson
from terra_refactor.rules.rule import Severity
from terra_refactor.syntax.location import Span
from terra_refactor.syntax.notebook import read_notebook
from terra_refactor.workspace.results import WorkspaceReport


@pytest.fixture(name="project", autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def many(count: int) -> WorkspaceReport:
    """Results with as many findings, which differ in their lines."""
    results = analyzed()
    warning = next(found for found in results.findings if found.severity is Severity.WARNING)
    copies = tuple(dataclasses.replace(warning, span=Span(line, 1, line, 2)) for line in range(1, count + 1))
    return dataclasses.replace(results, findings=copies, errors=())


@pytest.mark.parametrize("lines", [True, False])
def test_every_place_of_a_notebook_leads_to_its_document(project: Path, lines: bool) -> None:
    write_notebook(project / "n.ipynb", lines=lines)
    text = (project / "n.ipynb").read_text()
    notebook = read_notebook(text, "n.ipynb")
    document = text.splitlines()
    for cell in notebook.cells:
        source = CELLS[cell.index][1]
        for inside, line in enumerate(source.split("\n")):
            for column, character in enumerate(line):
                place = notebook.document_place(cell.line + inside, column + 1)
                written = json.dumps(character)[1:-1]
                assert document[place[0] - 1][place[1] - 1 :].startswith(written)


def test_json_tells_the_cell_of_a_notebook_and_follows_the_schema() -> None:
    report = json.loads(to_json(build_report(analyzed())))
    jsonschema.validate(report, json_schema())
    (found,) = [entry for entry in report["diagnostics"] if entry["path"].endswith(".ipynb")]
    assert found["cell"] == {"index": 2, "line": 3, "column": 5}
    assert [entry["path"] for entry in report["functions"] if "cell" in entry] == ["a b.ipynb"]


def test_json_lines_are_the_members_of_the_report() -> None:
    report = build_report(analyzed())
    whole = json.loads(to_json(report))
    lines = [json.loads(line) for line in to_json_lines(report).splitlines()]
    assert lines[0] == {"type": "run", "schema": whole["schema"], "tool": whole["tool"]}
    assert lines[-1] == {"type": "summary", **whole["summary"]}
    for kind, key in (("function", "functions"), ("diagnostic", "diagnostics"), ("error", "errors")):
        assert [{"type": kind, **entry} for entry in whole[key]] == [line for line in lines if line["type"] == kind]


def test_github_shows_ten_of_a_level_and_says_how_many_there_are() -> None:
    lines = to_github(build_report(many(13))).splitlines()
    assert sum(line.startswith("::warning ") for line in lines) == 10
    assert sum(not line.startswith("::") for line in lines) == 3
    assert lines[-1].startswith("::notice") and "3 more" in lines[-1]
    assert len(to_github(build_report(many(10))).splitlines()) == 10


def test_markdown_is_no_longer_than_a_step_summary_may_be() -> None:
    whole = to_markdown(many(400))
    short = to_markdown(many(400), max_bytes=3_000)
    assert len(short.encode()) <= 3_000 < len(whole.encode())
    assert "more lines are left out" in short
    assert "| `a b.ipynb, cell 2:3` | TR101" in to_markdown(analyzed())


def test_markdown_leads_with_what_the_agenda_leads_with() -> None:
    results = analyzed()
    hot = tuple(
        dataclasses.replace(each, held_back=True, reason="logs", rule="TR101") if each.qualname == "show" else each
        for each in results.decisions
    )
    results = dataclasses.replace(results, decisions=hot)
    agenda = agenda_of(results)
    assert [item.name for item in agenda.changes + agenda.held_back] == ["pays", "show"]
    text = to_markdown(results)
    to_do, _, rest = text.partition("### Hot, but kept eager by a hazard")
    assert " `pays` | safe | add `tf.function` |" in to_do
    assert " `show` | TR101 | logs |" in rest
    assert text.index("### To do") < text.index("### Hot") < text.index("### Warning")


def test_markdown_says_what_a_change_saves_and_what_level_it_needs() -> None:
    results = analyzed()
    item = agenda_of(results).changes[0]
    changed = tuple(
        dataclasses.replace(each, level=Level.SPECULATIVE, expected_gain=ExpectedGain(40, 2.5, "record"))
        if each.qualname == item.name
        else each
        for each in results.decisions
    )
    text = to_markdown(dataclasses.replace(results, decisions=changed))
    assert "at `--level speculative`, saves about 2.5 s in the recorded runs (40 calls)" in text


def test_gitlab_gets_its_fields_and_unique_fingerprints() -> None:
    issues = json.loads(to_gitlab(analyzed()))
    assert {issue["severity"] for issue in issues} <= {"info", "minor", "major", "critical", "blocker"}
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    (notebook,) = [issue for issue in issues if issue["location"]["path"] == "a b.ipynb"]
    assert notebook["description"].endswith("(cell 2, line 3)")
    (broken,) = [issue for issue in issues if issue["severity"] == "blocker"]
    assert broken["location"] == {"path": "broken.py", "lines": {"begin": 2}}


def test_junit_counts_and_survives_what_xml_does_not_allow() -> None:
    results = analyzed()
    ugly = dataclasses.replace(results.findings[0], message="bell \x07 & <tag> \ud800")
    results = dataclasses.replace(results, findings=(ugly, *results.findings[1:]))
    root = ElementTree.fromstring(to_junit(results).encode())
    assert int(root.attrib["tests"]) == len(root.findall("./testsuite/testcase"))
    assert int(root.attrib["failures"]) == len(root.findall(".//failure")) == len(results.findings)
    assert [suite.attrib["name"] for suite in root.findall("./testsuite[@errors='1']")] == ["broken.py"]
    assert root.find("./testsuite[@name='pkg/__init__.py']/testcase") is not None
    assert "bell \N{REPLACEMENT CHARACTER} & <tag>" in root.findall(".//failure")[0].attrib["message"]


def test_junit_names_stay_when_lines_move_and_other_findings_come(project: Path) -> None:
    def names() -> list[tuple[str, str]]:
        root = ElementTree.fromstring(to_junit(analyzed()).encode())
        return [(case.attrib["classname"], case.attrib["name"]) for case in root.iter("testcase")]

    file = project / "pkg" / "train.py"
    shown = '    show("ä😀", x)\n'
    twice = file.read_text(encoding="utf-8").replace(shown, f"{shown}    print(w)\n    print( w)\n    print(w)\n")
    file.write_text(twice, encoding="utf-8")
    before = names()
    of_rule = "TR101 host-print-or-log in step: "
    assert {name for _, name in before if name.startswith(of_rule)} >= {
        f"{of_rule}print(w)",
        f"{of_rule}print( w)",
        f"{of_rule}print(w) (2)",
    }
    assert len(set(before)) == len(before)
    file.write_text("# one line more\n" + twice, encoding="utf-8")
    assert names() == before
    # the first finding of the function is another one now
    file.write_text(twice.replace(shown, f"    print(x)\n{shown}"), encoding="utf-8")
    assert sorted(names()) == sorted([*before, ("pkg/train.py", f"{of_rule}print(x)")])
    # long lines that begin alike
    long = [f"    print({'w + ' * 30}{number})\n" for number in (1, 2)]
    file.write_text(twice.replace(shown, "".join([*long, shown])), encoding="utf-8")
    added = {name for _, name in names()} - {name for _, name in before}
    file.write_text(twice.replace(shown, f"{long[1]}{shown}"), encoding="utf-8")
    (alone,) = {name for _, name in names()} - {name for _, name in before}
    assert len(added) == 2 and alone in added and len(alone) < 140


def test_rdjson_counts_bytes_and_suggests_changes(project: Path) -> None:
    (project / "wide.py").write_text(
        'import tensorflow as tf\n@tf.function\ndef f(x):\n    s = "ä😀"; print(s)\n    return x\nf(tf.zeros([2]))\n',
        encoding="utf-8",
    )
    diagnostics = json.loads(to_rdjson(analyzed()))["diagnostics"]
    (wide,) = [
        entry for entry in diagnostics if entry["location"]["path"] == "wide.py" and entry["code"]["value"] == "TR101"
    ]
    start = wide["location"]["range"]["start"]
    line = (project / "wide.py").read_bytes().split(b"\n")[start["line"] - 1]
    assert line[start["column"] - 1 :].startswith(b"print(")
    (pays,) = [entry for entry in diagnostics if entry.get("code", {}).get("value") == "TR506"]
    (suggestion,) = pays["suggestions"]
    assert suggestion["text"] == "@tf.function\n"
    assert suggestion["range"]["start"] == suggestion["range"]["end"] == {"line": 11, "column": 1}
