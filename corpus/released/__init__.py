"""Released TensorFlow packages, and the tool's results on them.

`manifest.py` reads packages.toml; `fetch.py` downloads the packages; `trial.py` runs the tool on a folder, measures it
(`measuring.py`) and checks properties that must hold for all code; `summary.py` computes the numbers of a report that are committed
in `expected/`, and compares them; `suites.py` runs packages' own tests, before and after the changes and under the recorder;
`tables.py` writes docs/packages.md.
"""
