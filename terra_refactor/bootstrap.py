"""The first code of a child process: makes this package importable, and nothing else that lies beside it.

The interpreter is the user's, and this package may not be installed in it. Adding the package's folder to `sys.path`
would expose everything else installed there, perhaps for another interpreter; so only the package itself is
registered.

Run as `python bootstrap.py MODULE ARGUMENT...`: calls the function `main` of that module of this package.
"""

import importlib
import importlib.util
import os
import sys


def _register() -> None:
    package = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location(
        "terra_refactor", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["terra_refactor"] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    _register()
    sys.exit(importlib.import_module(sys.argv[1]).main(*sys.argv[2:]))
