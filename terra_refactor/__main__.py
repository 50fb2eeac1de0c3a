"""`python -I -m terra_refactor`, and the command `terra-refactor`."""

from terra_refactor.isolation import leave_current_folder


def main() -> None:
    """Run the command line, with nothing of the current folder on the path."""
    leave_current_folder()
    from terra_refactor.cli.main import main as run  # noqa: PLC0415 - what it imports is looked for on the path

    run()


if __name__ == "__main__":
    main()
