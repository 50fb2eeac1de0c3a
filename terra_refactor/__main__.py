"""`python -I -m terra_refactor`, and the command `terra-refactor`."""

from terra_refactor.isolation import leave_current_folder


def main() -> None:
    """Runs the command line, without the current folder on the path."""
    leave_current_folder()
    import atexit  # noqa: PLC0415
    import dataclasses  # noqa: PLC0415

    from terra_refactor.generated_methods import keep_generated_methods, reuse_generated_methods  # noqa: PLC0415

    reuse_generated_methods([dataclasses])
    atexit.register(keep_generated_methods)
    from terra_refactor.cli.main import main as run  # noqa: PLC0415 - what it imports is looked for on the path

    run()


if __name__ == "__main__":
    main()
