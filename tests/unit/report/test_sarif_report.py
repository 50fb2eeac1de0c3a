"""SARIF: every log follows the OASIS schema, and says what a service and an editor need."""

from __future__ import annotations

import json
from email.message import Message
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from reported_project import CELLS, TRAIN, analyzed, write_project

from terra_refactor.report import to_sarif as module
from terra_refactor.report.to_sarif import FINGERPRINT, to_sarif
from terra_refactor.rules.registry import all_rules
from terra_refactor.workspace.results import WorkspaceReport

SCHEMA = Path(__file__).parent / "data" / "sarif-2.1.0.json"


@cache
def validator() -> Any:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def log_of(report: WorkspaceReport) -> Any:
    log = json.loads(to_sarif(report))
    validator().validate(log)
    return log["runs"][0]


@pytest.fixture(name="project")
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "sub dir"
    folder.mkdir()
    write_project(folder)
    monkeypatch.chdir(folder)
    return folder


def of_rule(run: Any, rule: str) -> list[Any]:
    return [result for result in run["results"] if result["ruleId"] == rule]


def test_a_wrong_log_is_refused() -> None:
    with pytest.raises(jsonschema.ValidationError):
        validator().validate({"version": "2.1.0", "runs": [{"results": []}]})


def test_rules_have_their_help(project: Path) -> None:
    run = log_of(analyzed())
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(all_rules())
    printing = next(rule for rule in rules if rule["id"] == "TR101")
    assert "```python" in printing["help"]["markdown"]
    assert printing["defaultConfiguration"]["level"] == "warning"
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_the_documentation_is_linked_where_the_package_names_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = Message()
    package["Project-URL"] = "Source, https://example.org/source"
    monkeypatch.setattr(module, "metadata", lambda _: package)
    driver = log_of(analyzed())["tool"]["driver"]
    assert "informationUri" not in driver and "helpUri" not in driver["rules"][0]
    package["Project-URL"] = "Documentation, https://example.org/manual/"
    driver = log_of(analyzed())["tool"]["driver"]
    assert driver["informationUri"] == "https://example.org/manual"
    assert driver["rules"][0]["helpUri"] == "https://example.org/manual/rules/TR101/"


def test_a_site_of_ones_own_is_linked(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(module.DOCUMENTATION_VARIABLE, "https://docs.example.org/terra/")
    driver = log_of(analyzed())["tool"]["driver"]
    assert driver["informationUri"] == "https://docs.example.org/terra"
    assert driver["rules"][0]["helpUri"] == "https://docs.example.org/terra/rules/TR101/"
    monkeypatch.setenv(module.DOCUMENTATION_VARIABLE, "javascript:alert(1)")
    assert "informationUri" not in log_of(analyzed())["tool"]["driver"]


def test_paths_count_from_the_root_of_the_repository(project: Path) -> None:
    run = log_of(analyzed())
    (result,) = [result for result in of_rule(run, "TR101") if "cell" not in result.get("properties", {})]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact["uri"] == "sub%20dir/pkg/log.py"
    assert artifact["uriBaseId"] == "SRCROOT"
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == project.parent.as_uri() + "/"
    assert run["artifacts"][artifact["index"]]["location"]["uri"] == artifact["uri"]


def test_the_calls_that_lead_to_a_place_are_a_code_flow(project: Path) -> None:
    (result,) = [
        result for result in of_rule(log_of(analyzed()), "TR101") if "cell" not in result.get("properties", {})
    ]
    (flow,) = result["codeFlows"]
    steps = [step["location"]["physicalLocation"] for step in flow["threadFlows"][0]["locations"]]
    assert [step["artifactLocation"]["uri"] for step in steps] == ["sub%20dir/pkg/train.py", "sub%20dir/pkg/log.py"]
    assert steps[0]["region"]["startLine"] == 7
    assert len(result["relatedLocations"]) == 1


def test_a_code_flow_runs_from_the_outermost_call_to_the_place(project: Path) -> None:
    Path("flow.py").write_text(
        "import tensorflow as tf\ndef c(x):\n    print(x)\ndef b(x):\n    c(x)\n@tf.function\ndef a(x):\n    b(x)\na(tf.zeros(2))\n"
    )
    (result,) = [
        result
        for result in of_rule(log_of(analyzed()), "TR101")
        if result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("flow.py")
    ]
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["physicalLocation"]["region"]["startLine"] for step in steps] == [8, 5, 3]
    assert [place["physicalLocation"]["region"]["startLine"] for place in result["relatedLocations"]] == [5, 8]


def test_a_fix_can_be_applied(project: Path) -> None:
    (result,) = of_rule(log_of(analyzed()), "TR506")
    (change,) = result["fixes"][0]["artifactChanges"]
    lines = TRAIN.splitlines(keepends=True)
    for replacement in reversed(change["replacements"]):
        region = replacement["deletedRegion"]
        assert (region["startLine"], region["startColumn"]) == (region["endLine"], region["endColumn"])
        at = region["startLine"] - 1
        line = lines[at]
        lines[at] = (
            line[: region["startColumn"] - 1]
            + replacement["insertedContent"]["text"]
            + line[region["startColumn"] - 1 :]
        )
    assert "".join(lines) == TRAIN.replace("def pays", "@tf.function\ndef pays")


def test_a_notebook_is_shown_where_its_document_holds_the_code(project: Path) -> None:
    document = (project / "a b.ipynb").read_text().splitlines()
    (result,) = [result for result in of_rule(log_of(analyzed()), "TR101") if "cell" in result.get("properties", {})]
    assert result["properties"] == {"cell": 2, "cellLine": 3}
    region = result["locations"][0]["physicalLocation"]["region"]
    assert document[region["startLine"] - 1][region["startColumn"] - 1 :].startswith("print(")
    assert document[region["endLine"] - 1][: region["endColumn"] - 1].endswith(", x)")
    assert "print" in CELLS[2][1]


def test_fingerprints_survive_moved_lines_and_tell_places_apart(project: Path) -> None:
    def prints() -> dict[str, int]:
        results = log_of(analyzed())["results"]
        return {
            result["partialFingerprints"][FINGERPRINT]: result["locations"][0]["physicalLocation"]["region"][
                "startLine"
            ]
            for result in results
        }

    before = prints()
    assert len(before) == len(analyzed().findings)
    train = project / "pkg" / "train.py"
    train.write_text("# one\n# two\n\n" + TRAIN, encoding="utf-8")
    after = prints()
    assert set(after) == set(before)
    assert after != before


def test_what_a_comment_silences_is_there_with_its_reason(project: Path) -> None:
    log = project / "pkg" / "log.py"
    log.write_text(log.read_text().replace("print(*things)", "print(*things)  # terra: ignore[TR101] wanted"))
    run = log_of(analyzed())
    silenced = [result for result in run["results"] if result["suppressions"]]
    assert [result["suppressions"][0]["justification"] for result in silenced] == ["wanted"]
    assert {result["ruleId"] for result in silenced} == {"TR101"}
    assert "baselineState" not in run["results"][0]


def test_what_could_not_be_analysed_is_a_notification(project: Path) -> None:
    (notification,) = log_of(analyzed())["invocations"][0]["toolExecutionNotifications"]
    assert notification["level"] == "error"
    assert notification["locations"][0]["physicalLocation"]["region"]["startLine"] == 2


def test_what_is_beyond_the_limit_is_said(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = analyzed()
    assert len(report.findings) > 2
    monkeypatch.setattr(module, "MAX_RESULTS", 2)
    run = log_of(report)
    assert len(run["results"]) == 2
    assert all(result["level"] != "note" for result in run["results"])
    said = [entry["message"]["text"] for entry in run["invocations"][0]["toolExecutionNotifications"]]
    assert any(f"{len(report.findings) - 2} results" in text for text in said)
