"""Notebooks: what Python understands is analysed, all else is kept, and writing back touches only what was edited."""

from __future__ import annotations

import json
from typing import Any

import libcst
import pytest

from terra_refactor.errors import SourceError
from terra_refactor.syntax.parse import parse_module
from terra_refactor.syntax.source import Source, source_from_bytes


def notebook(
    *cells: str | list[str] | dict[str, Any], indent: int | None = 1, ascii_only: bool = False, **extra: Any
) -> Source:
    data = {
        "cells": [
            cell
            if isinstance(cell, dict)
            else {
                "cell_type": "code",
                "execution_count": 1.50,
                "metadata": {"b": 1, "a": [{}]},
                "outputs": [{"text": ["é\n"]}],
                "source": cell,
            }
            for cell in cells
        ],
        "metadata": {"kernelspec": {"language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
        **extra,
    }
    text = json.dumps(data, indent=indent, ensure_ascii=ascii_only) + "\n"
    return source_from_bytes(text.encode(), "study.ipynb")


MARKDOWN = {"cell_type": "markdown", "metadata": {}, "source": ["# 100% !ls"]}


def test_cells_become_one_module() -> None:
    source = notebook(["import a\n", "x = 1"], MARKDOWN, "y = x")
    assert [(cell.index, cell.line, cell.line_count) for cell in source.cells] == [(0, 2, 2), (2, 5, 1)]
    assert source.text == "# %% cell 0\nimport a\nx = 1\n# %% cell 2\ny = x\n"
    assert source.notebook is not None
    assert [source.notebook.cell_line(line) for line in range(1, 7)] == [None, (0, 1), (0, 2), None, (2, 1), None]
    assert source.notebook.module_line(2, 1) == 5
    with pytest.raises(ValueError, match="no line 3"):
        source.notebook.module_line(0, 3)
    with pytest.raises(KeyError):
        source.notebook.module_line(1, 1)


@pytest.mark.parametrize(
    "cell",
    [
        "%matplotlib inline",
        "!pip install x 'don't",
        "files = !ls *.py",
        "n = %timeit -o f()",
        "a, b = %magic",
        "tf.function?",
        "?tf.function",
        "f??",
        "if x:\n    !ls\n    %cd ..\nelse:\n    f?",
        "%%bash\nfor f in *; do\n  echo $f\ndone",
        "%%time\nx = f(1)",
        "\n%%html\n<b>",
        "!ls \\\n  -l \\\n  -a\nx = 1",
        "await f()",
        "async with a as b:\n    pass",
        "x = (1\n  % 2)\ny = '''\n%not a magic\n!neither\n'''",
        "x = 10 \\\n  % 3",
        "y = x != 1",
        "",
        "x = 1\n",
        "\n\n",
    ],
)
def test_every_cell_parses_line_for_line_and_comes_back(cell: str) -> None:
    source = notebook("x = 0", cell, "z = 2")
    parsed = parse_module(source)
    assert source.cells[1].line_count == cell.count("\n") + 1
    assert source.text.splitlines()[source.cells[2].line - 1] == "z = 2"
    assert parsed.module.body
    edited = source.text.replace("z = 2", "z = 3")
    back = json.loads(source.encode(edited))
    assert [item["source"] for item in back["cells"]] == ["x = 0", cell, "z = 3"]


def test_python_around_magics_is_analysed() -> None:
    module = parse_module(notebook("%%time\ndef f(): return 1\n%load_ext x\ny = !ls")).module
    kinds = [type(statement).__name__ for statement in module.body]
    assert kinds == ["FunctionDef", "SimpleStatementLine", "SimpleStatementLine"]
    last = module.body[-1]
    assert "get_ipython()" in module.code_for_node(last)
    assert "%%bash" not in libcst.Module(body=[last]).code


@pytest.mark.parametrize("indent", [None, 1, 2, 4])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("as_list", [True, False])
def test_only_the_edited_source_changes(indent: int | None, ascii_only: bool, as_list: bool) -> None:
    def form(text: str) -> str | list[str]:
        return text.splitlines(keepends=True) if as_list else text

    before = notebook(
        form("s = 'é\t'\nx = 1"),
        MARKDOWN,
        form("def f():\n    return 'ü'\n"),
        form(""),
        indent=indent,
        ascii_only=ascii_only,
    )
    after = notebook(
        form("s = 'é\t'\nx = 1"),
        MARKDOWN,
        form("@g\ndef f():\n    return 'ü'\n"),
        form(""),
        indent=indent,
        ascii_only=ascii_only,
    )
    edited = before.text.replace("def f", "@g\ndef f")
    data = before.encode(edited)
    assert data == after.encode(after.text)
    assert before.encode(before.text) == before.notebook.document.encode() if before.notebook else False


def test_an_import_before_everything_goes_to_the_first_cell() -> None:
    source = notebook("x = 1", "y = 2")
    back = json.loads(source.encode("import tensorflow as tf\n" + source.text))
    assert [cell["source"] for cell in back["cells"]] == ["import tensorflow as tf\nx = 1", "y = 2"]


def test_text_that_looks_like_a_separator() -> None:
    cell = "# %% cell 1\npass  # %% kept 0\nx = 1"
    source = notebook(cell, "%time\ny = 2")
    back = json.loads(source.encode(source.text.replace("y = 2", "y = 3")))
    assert [item["source"] for item in back["cells"]] == [cell, "%time\ny = 3"]


def test_an_edit_that_loses_a_cell_is_refused() -> None:
    source = notebook("x = 1", "y = 2")
    with pytest.raises(SourceError, match="lost the beginning of cell 1"):
        source.encode("# %% cell 0\nx = 1\n")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{", "is not a notebook"),
        (b"[]", "no nbformat"),
        (b'{"nbformat": 2, "worksheets": []}', "nbformat 2; only 3 and 4 are read"),
        (b'{"nbformat": 3, "cells": []}', "no list of cells"),
        (b'{"nbformat": 4}', "no list of cells"),
        (b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": 1}]}', "neither text nor a list"),
        (b'{"nbformat": 4, "cells": [], "metadata": {"kernelspec": {"language": "R"}}}', "in R, not in Python"),
        (b'{"nbformat": 4, "cells": ' + b"[" * 100_000, "nested too deeply|is not a notebook"),
    ],
)
def test_not_a_notebook(data: bytes, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        source_from_bytes(data, "bad.ipynb")


def test_no_code_at_all() -> None:
    source = notebook(MARKDOWN)
    assert (source.text, source.cells) == ("", ())
    assert parse_module(source).module.body == ()


def test_a_notebook_of_nbformat_3() -> None:
    code = {"cell_type": "code", "language": "python"}
    first = {
        "cells": [{"cell_type": "markdown", "source": ["# x"]}, {**code, "input": ["x = 1\n", "%time\n", "y = x"]}]
    }
    second = {"cells": [{**code, "language": "ruby", "input": "puts 1"}, {**code, "input": "z = y"}]}
    document = json.dumps({"worksheets": [first, second], "metadata": {"name": ""}, "nbformat": 3}, indent=1)
    source = source_from_bytes(document.encode(), "old.ipynb")
    assert [cell.source for cell in source.cells] == ["x = 1\n%time\ny = x", "z = y"]
    edited = source.text.replace("z = y", "z = y + 1").replace("x = 1", "x = 2")
    back = json.loads(source.encode(edited))
    assert back["worksheets"][0]["cells"][1]["input"] == ["x = 2\n", "%time\n", "y = x"]
    assert [cell["input"] for cell in back["worksheets"][1]["cells"]] == ["puts 1", "z = y + 1"]
