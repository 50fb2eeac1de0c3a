"""terra-refactor: decides which TensorFlow 2 functions may run as graphs.

Holds the version, and the hook of IPython. Importing a room must not import the others, so nothing is re-exported here.
"""

__version__ = "0.2.0"


def load_ipython_extension(shell: object) -> None:
    """Adds the magics `%terra` and `%%terra`; `%load_ext terra_refactor` calls it."""
    from terra_refactor.ide.ipython import register  # noqa: PLC0415 - no other importer pays for it

    register(shell)
