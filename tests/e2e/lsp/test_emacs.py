"""The server in Emacs with eglot, as docs/editors.md configures it, without a window."""

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
EMACS = shutil.which("emacs")
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
"""
SCRIPT = """
(package-initialize)
%s
(require 'eglot)
(require 'flymake)
(require 'json)
(setq eglot-connect-timeout 60 eglot-sync-connect 60)
(find-file (getenv "FILE"))
(apply #'eglot (eglot--guess-contact))
(flymake-mode 1)
(let ((left 300))
  (while (and (> left 0) (< (length (flymake-diagnostics)) 2))
    (accept-process-output nil 0.2)
    (setq left (1- left))))
(defvar found (mapcar (lambda (each) (list (line-number-at-pos (flymake-diagnostic-beg each)) (flymake-diagnostic-text each)))
                      (flymake-diagnostics)))
(goto-char (point-min))
(search-forward "y = x")
(backward-char 5)
(defvar hover (jsonrpc-request (eglot-current-server) :textDocument/hover (eglot--TextDocumentPositionParams)))
(search-backward "def scale")
(forward-char 5)
(dolist (action (eglot-code-actions (point) (point) nil nil))
  (when (eq t (plist-get action :isPreferred))
    (let ((whole (if (plist-get action :edit) action (jsonrpc-request (eglot-current-server) :codeAction/resolve action))))
      (eglot--apply-workspace-edit (plist-get whole :edit) nil))))
(defvar result (list :found (vconcat (mapcar #'vconcat found)) :hover (plist-get (plist-get hover :contents) :value)
                     :text (buffer-substring-no-properties (point-min) (point-max))))
(with-temp-file (getenv "RESULT") (insert (json-encode result)))
(set-buffer-modified-p nil)
"""


def _has_eglot() -> bool:
    if EMACS is None:
        return False
    asked = [EMACS, "--batch", "--eval", "(progn (package-initialize) (require 'eglot))"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


@pytest.mark.slow
def test_diagnostics_hover_and_a_fix_in_emacs(tmp_path: Path) -> None:
    if not _has_eglot():
        pytest.skip("there is no Emacs with eglot")
    assert EMACS is not None
    project = tmp_path / "project"
    project.mkdir()
    (project / "scale.py").write_text(TEXT)
    subprocess.run(
        ["git", "init", "--quiet", str(project)], check=True
    )  # eglot serves projects that a version control knows
    page = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    (configuration,) = re.findall(r"```elisp\n(.*?)```", page, re.DOTALL)
    command = " ".join(json.dumps(part) for part in (sys.executable, "-m", "lsp_server"))
    script = tmp_path / "try.el"
    script.write_text(SCRIPT % configuration.replace('"terra-refactor-lsp"', command))
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "FILE": str(project / "scale.py"),
        "RESULT": str(tmp_path / "result.json"),
    }
    done = subprocess.run(
        [EMACS, "--batch", "-l", str(script)], env=environment, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    assert sorted((line, re.search(r"TR\d+", text)[0]) for line, text in result["found"]) == [
        (3, "TR506"),
        (11, "TR401"),
    ]
    assert "float32 (2, 3)" in result["hover"]
    assert "@tf.function\ndef scale(x):" in result["text"]
