"""Records the types that reach the functions of a project, and compares them with `analyze`. `observe.py` runs a program in a process of
its own and writes the types; `compare.py` compares them with a report of `analyze --format json`; `__main__.py` is the command line.
docs/accuracy.md defines the terms (recognised, sound, exact, wrong).
"""
