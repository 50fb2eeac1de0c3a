"""The command line: one file per command, which reads options, calls the workspace, and prints.

Gives: `main.main`, the entry point of `terra-refactor`. Exit codes are in `exit_codes.py`, shared options in
`options.py`; `errors.py` turns every kind of failure into one line and one code.
"""
