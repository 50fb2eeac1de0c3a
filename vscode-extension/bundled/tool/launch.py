"""Starts the server: `python -I launch.py` that of the interpreter, `python -I -S launch.py --bundled` the one that the extension carries.

`python -m lsp_server` would look for modules in the current folder first, which is the user's project: a file of the same name there
would be run. Isolated (-I), Python looks neither there nor beside this file nor where PYTHONPATH says. Without site (-S), what the
user's environment has installed cannot take the place of what the extension carries.
"""

import sys

if __name__ == "__main__":  # worker processes import this file, too
    if sys.argv[1:2] == ["--bundled"]:
        import os

        del sys.argv[1]
        sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "libs"))

    from lsp_server.__main__ import main

    main()
