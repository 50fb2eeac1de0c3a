"""The command `terra-refactor-lsp`: the language server on standard input and output, or on a TCP port for debugging."""

from terra_refactor.isolation import leave_current_folder


def main() -> None:
    """Serves until the client requests the exit, without the current folder on the path."""
    leave_current_folder()
    from lsp_server.command import main as run  # noqa: PLC0415 - what it imports is looked for on the path

    run()


if __name__ == "__main__":
    main()
