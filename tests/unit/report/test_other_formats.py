"""The formats that other programs define: right places, right names, nothing that breaks their syntax."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from reported_project import CELLS, analyzed, write_notebook, write_project

from terra_refactor.report.schema import Report, build_report
from terra_refactor.report.to_github import to_github
from terra_refactor.report.to_gitlab import to_gitlab
from terra_refactor.report.to_json import json_schema, to_json, to_json_lines
from terra_refactor.report.to_junit import to_junit
from terra_refactor.report.to_markdown import to_markdown
from terra_refactor.report.to_rdjson import to_rdjson
from terra_refactor.syntax.notebook import read_notebook


@pytest.fixture(name="project", autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def many(count: int) -> Report:
    report = build_report(analyzed())
    warning = next(found for found in report.diagnostics if found.severity == "warning")
    copies = tuple(dataclasses.replace(warning, line=line) for line in range(1, count + 1))
    return dataclasses.replace(report, diagnostics=copies, errors=())


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
    lines = to_github(many(13)).splitlines()
    assert sum(line.startswith("::warning ") for line in lines) == 10
    assert sum(not line.startswith("::") for line in lines) == 3
    assert lines[-1].startswith("::notice") and "3 more" in lines[-1]
    assert len(to_github(many(10)).splitlines()) == 10


def test_markdown_is_no_longer_than_a_step_summary_may_be() -> None:
    whole = to_markdown(many(400))
    short = to_markdown(many(400), max_bytes=3_000)
    assert len(short.encode()) <= 3_000 < len(whole.encode())
    assert "more lines are left out" in short
    assert "| `a b.ipynb, cell 2:3` | TR101" in to_markdown(build_report(analyzed()))


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
    report = build_report(results)
    ugly = dataclasses.replace(report.diagnostics[0], message="bell \x07 & <tag> \ud800")
    report = dataclasses.replace(report, diagnostics=(ugly, *report.diagnostics[1:]))
    root = ElementTree.fromstring(to_junit(report, results.sources).encode())
    assert int(root.attrib["tests"]) == len(root.findall("./testsuite/testcase"))
    assert int(root.attrib["failures"]) == len(root.findall(".//failure")) == len(report.diagnostics)
    assert [suite.attrib["name"] for suite in root.findall("./testsuite[@errors='1']")] == ["broken.py"]
    assert root.find("./testsuite[@name='pkg/__init__.py']/testcase") is not None
    assert "bell \N{REPLACEMENT CHARACTER} & <tag>" in root.findall(".//failure")[0].attrib["message"]


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
