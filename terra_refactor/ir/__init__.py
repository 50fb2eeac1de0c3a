"""The intermediate representation: what a program is, before anything is known about it.

Computes: structured operations from LibCST trees (`build/`), and whether they keep their promises (`check.py`).
Needs: `syntax`. Gives: `ModuleIR` and `Program` (`program.py`), the operations (`ops.py`), ways to go through them
(`walk.py`) and to read them (`pprint.py`). A lowered module holds no syntax tree, so it can be pickled: the cache and
the worker processes exchange it.
"""
