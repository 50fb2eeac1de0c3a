"""The server in a headless Neovim with its built-in client, as docs/editors.md configures it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls")
ROOT = Path(__file__).parents[3]
NEOVIM = shutil.which("nvim")
TEXT = """\
import tensorflow as tf

def scale(x):
    y = x * 2.0
    for _ in range(20):
        y = tf.nn.relu(y + 1.0)
    return y

for _ in range(1000):
    scale(tf.ones([2, 3]))
bad = tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))

def told(x):
    print(x)
    return x

def asking(x):
    return told(x)
"""
SCRIPT = """
local function answer()
  local found = {}
  vim.wait(60000, function()
    return #vim.lsp.get_active_clients({ bufnr = 0 }) > 0 and #vim.diagnostic.get(0) >= 2
  end, 50)
  for _, item in ipairs(vim.diagnostic.get(0)) do
    table.insert(found, { code = item.code, line = item.lnum + 1, source = item.source })
  end
  local place = { textDocument = vim.lsp.util.make_text_document_params(), position = { line = 3, character = 4 } }
  local hover = vim.lsp.buf_request_sync(0, "textDocument/hover", place, 20000)
  vim.api.nvim_win_set_cursor(0, { 17, 5 })
  vim.lsp.buf.outgoing_calls()
  vim.wait(20000, function() return #vim.fn.getqflist() > 0 end, 50)
  local calls = {}
  for _, item in ipairs(vim.fn.getqflist()) do
    table.insert(calls, { text = item.text, line = item.lnum })
  end
  vim.cmd("cclose")
  local range = { start = { line = 2, character = 4 }, ["end"] = { line = 2, character = 4 } }
  local asked = { textDocument = place.textDocument, range = range, context = { diagnostics = {}, triggerKind = 1 } }
  local actions = vim.lsp.buf_request_sync(0, "textDocument/codeAction", asked, 20000)
  for id, reply in pairs(actions) do
    for _, action in ipairs(reply.result or {}) do
      if action.isPreferred then
        local client = vim.lsp.get_client_by_id(id)
        local resolved = action.edit and action
          or vim.lsp.buf_request_sync(0, "codeAction/resolve", action, 20000)[id].result
        vim.lsp.util.apply_workspace_edit(resolved.edit, client.offset_encoding)
      end
    end
  end
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\\n")
  local _, first = next(hover)
  return { found = found, calls = calls, hover = first.result and first.result.contents.value, text = text }
end
local ok, result = pcall(answer)
local file = io.open(vim.env.RESULT, "w")
file:write(vim.json.encode(ok and result or { error = tostring(result) }))
file:close()
vim.cmd("qa!")
"""


def configuration() -> str:
    """The configuration of the manual that this Neovim understands, with the server under test as its command."""
    assert NEOVIM is not None
    version = subprocess.run([NEOVIM, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"NVIM v(\d+)\.(\d+)", version)
    assert found is not None
    new = (int(found[1]), int(found[2])) >= (0, 11)
    page = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```lua\n(.*?)```", page, re.DOTALL)
    command = "{ " + ", ".join(json.dumps(part) for part in (sys.executable, "-m", "lsp_server")) + " }"
    return str(blocks[0 if new else 1]).replace('{ "terra-refactor-lsp" }', command)


@pytest.mark.slow
@pytest.mark.skipif(NEOVIM is None, reason="Neovim is not installed")
def test_neovim_shows_findings_and_makes_a_change(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "m.py").write_text(TEXT)
    (tmp_path / "init.lua").write_text(configuration())
    (tmp_path / "ask.lua").write_text(SCRIPT)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "RESULT": str(tmp_path / "result.json"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    assert NEOVIM is not None
    subprocess.run(
        [NEOVIM, "--headless", "-u", "init.lua", "m.py", "-c", "luafile ask.lua"],
        cwd=tmp_path,
        env=environment,
        timeout=120,
        check=True,
        capture_output=True,
    )
    result = json.loads((tmp_path / "result.json").read_text())
    assert "error" not in result, result
    assert ("TR401", 11) in {(item["code"], item["line"]) for item in result["found"]}
    assert "float32 (2, 3)" in result["hover"]
    assert result["calls"] == [{"text": "told", "line": 18}]
    assert "@tf.function\ndef scale" in result["text"]
