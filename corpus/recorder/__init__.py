"""The mirror of the analysis: which types really reach the functions of a project, and how much of that `analyze` says.

`observe.py` runs a program in a process of its own and writes what it saw; `compare.py` holds that against a report of
`analyze --format json`; `__main__.py` is the command line. docs/accuracy.md defines the terms (recognised, sound, exact, wrong).
"""
