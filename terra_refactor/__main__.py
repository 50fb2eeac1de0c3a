"""`python -m terra_refactor`: the same as the command `terra-refactor`."""

from terra_refactor.cli.main import main

if __name__ == "__main__":
    main()
