"""The page: its data cannot break out of it, its drawing is sound, and in a browser its filters filter."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from reported_project import analyzed, write_project

from terra_refactor.report.call_graph import GraphRegion, draw_call_graph, regions
from terra_refactor.report.to_html import to_html

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(name="project", autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


def test_the_page_loads_nothing_and_its_data_stays_inside() -> None:
    page = to_html(analyzed())
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!#)""", page)
    assert "@import" not in page and "url(" not in page
    assert page.count("</script>") == 2
    data = data_of(page)
    assert len(data["functions"]) == data["summary"]["functions"]


def test_the_same_results_give_the_same_page() -> None:
    report = analyzed()
    assert to_html(report) == to_html(report)


def test_a_proposed_change_has_its_diff() -> None:
    data = data_of(to_html(analyzed()))
    (pays,) = [entry for entry in data["functions"] if entry["name"] == "pays"]
    assert pays["action"] == "add_tf_function"
    assert "+@tf.function\n def pays(x, w):\n" in pays["diff"]
    assert [entry["name"] for entry in data["functions"] if entry.get("diff")] == ["pays"]


def test_the_page_begins_with_what_to_do() -> None:
    data = data_of(to_html(analyzed()))
    (change,) = data["agenda"]["changes"]
    assert change["action"] == "add_tf_function" and data["functions"][change["f"]]["name"] == change["name"] == "pays"
    assert data["agenda"]["heldBack"] == []


def test_the_call_graph_tells_what_runs_in_graphs() -> None:
    report = analyzed()
    names = {decision.function: decision.qualname for decision in report.decisions}
    where = {names[function]: region for function, region in regions(report.decisions).items()}
    assert where == {
        "f": GraphRegion.GRAPH,
        "show": GraphRegion.GRAPH,
        "step": GraphRegion.GRAPH,
        "pays": GraphRegion.PROPOSED,
    }
    graph = draw_call_graph(report.decisions)
    assert [(names[a], names[b]) for a, b in graph.edges] == [("step", "show")]
    left, right = sorted(graph.nodes, key=lambda node: node.x)
    assert (names[left.function], names[right.function]) == ("step", "show")
    assert left.x + left.width < right.x
    assert draw_call_graph(report.decisions, max_nodes=1).left_out == 2


@pytest.fixture(name="page", scope="module")
def _page() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        yield page
        browser.close()


@pytest.mark.slow
def test_in_a_browser(page: Any, project: Path) -> None:
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: wrong.append(request.url) if not request.url.startswith("file:") else None)
    (project / "report.html").write_text(to_html(analyzed()), encoding="utf-8")
    page.goto((project / "report.html").as_uri())

    assert page.locator("#changes li").count() == 1
    page.locator("#changes button.name").press("Enter")
    assert "pays" in page.locator("tr.function:focus").inner_text()
    page.locator("tr.function:focus").press("Enter")

    rows = page.locator("tr.function")
    assert rows.count() == 4
    page.fill("#search", "pays")
    assert page.locator("#count").inner_text() == "1 of 4"
    rows.first.click()
    assert page.locator("pre.diff .add").inner_text() == "+@tf.function"
    assert "float32 (2, 4)" in page.locator("td.details").inner_text()
    rows.first.press("Enter")
    assert page.locator("td.details").count() == 0

    page.fill("#search", "no such name")
    assert page.locator("#function-table tbody").inner_text() == "No function is like that."
    page.fill("#search", "")
    page.select_option("#class", "unsafe")
    assert {row.strip() for row in page.locator("tr.function td:nth-child(2)").all_inner_texts()} == {"unsafe"}
    page.select_option("#class", "")
    page.click("th[data-key=name] button")
    names = page.locator("tr.function .name").all_inner_texts()
    assert names == sorted(names)

    page.fill("#finding-search", "cell 2")
    assert page.locator("#finding-count").inner_text() == "0 of 3"
    page.fill("#finding-search", "ipynb")
    assert "a b.ipynb, cell 2, line 3" in page.locator(".finding").inner_text()
    assert "broken.py:2" in page.locator("#errors").inner_text()

    page.press("#finding-search", "Enter")
    assert page.locator("#finding-search").input_value() == "ipynb", "the page was loaded again"

    nodes = page.locator("#canvas .node")
    assert nodes.count() == 2
    assert page.locator("#canvas").bounding_box()["height"] < 200
    assert page.locator("#canvas .node.graph").count() == 2
    nodes.first.click()
    assert page.locator("td.details").count() == 1
    assert page.locator("#canvas .node.chosen").count() == 1

    page.select_option("#view", "near")
    page.fill("#around", "show")
    assert page.locator("#drawn").inner_text() == "2 functions"
    page.get_by_role("button", name="Who calls it").first.click()
    assert (
        page.locator("#canvas .node.chosen text").text_content()
        == page.locator("tr.function[aria-expanded=true] .name").inner_text()
    )
    page.locator("#canvas .node").last.click()
    assert page.locator("#canvas .node.chosen text").text_content() == "show"
    page.click("#to-table")
    assert "pkg/log.py" in page.locator("tr.function:focus").inner_text()

    page.locator("#canvas").focus()
    world = page.locator("#canvas svg > g")
    places = [world.get_attribute("transform")]
    for key in ("ArrowRight", "ArrowDown", "+", "-"):
        page.keyboard.press(key)
        places.append(world.get_attribute("transform"))
    assert all(before != after for before, after in pairwise(places)), "each key moves the call graph or scales it"
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    canvas, box = page.locator("#canvas").bounding_box(), page.locator("#canvas .node:focus rect").bounding_box()
    assert canvas["x"] <= box["x"] and box["x"] + box["width"] <= canvas["x"] + canvas["width"], "it came into view"
    other = page.locator("#canvas .node:focus text").text_content()
    assert other != "show"
    page.keyboard.press("Enter")
    assert page.locator("#canvas .node.chosen:focus text").text_content() == other
    assert wrong == []
