"""TensorFlow packages as their authors released them, and what the tool says and does on them.

`manifest.py` reads packages.toml; `fetch.py` brings the packages; `trial.py` runs the tool on a folder, measures it (`measuring.py`) and checks what must hold on
all code; `summary.py` makes the few numbers that are committed in `expected/` out of a report, and compares them; `suites.py` runs packages' own
tests, before and after the changes and under the recorder; `tables.py` writes docs/packages.md.
"""
