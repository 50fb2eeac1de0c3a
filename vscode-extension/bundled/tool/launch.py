"""Starts the server of the interpreter that runs this file: `python -I launch.py`.

`python -m lsp_server` would look for modules in the current folder first, which is the user's project: a file of the same name there
would be run. Isolated (-I), Python looks neither there nor beside this file nor where PYTHONPATH says.
"""

if __name__ == "__main__":  # worker processes import this file, too
    from lsp_server.__main__ import main

    main()
