"""The intermediate representation of programs.

Computes: structured operations from LibCST trees (`build/`), and checks of their invariants (`check.py`).
Needs: `syntax`. Gives: `ModuleIR` and `Program` (`program.py`), the operations (`ops.py`), traversals (`walk.py`) and a text form
(`pprint.py`). A lowered module holds no syntax tree, so it can be pickled: the cache and the worker processes exchange it.
"""
