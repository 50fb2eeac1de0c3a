"""Starts the server of the interpreter that runs this file.

`python -m lsp_server` would look for modules in the current folder first, which is the user's project: a file of the same name there
would be run. A script's own folder comes first instead, and it is taken out.
"""

import sys

del sys.path[0]

if __name__ == "__main__":
    from lsp_server.__main__ import main

    main()
