"""The command line: a file for each command, which reads options, asks the workspace, and prints.

Gives: `main.main`, the entry point of `terra-refactor`. Exit codes are in `exit_codes.py`, shared options in
`options.py`; `errors.py` turns every kind of failure into one line and one code.
"""
