"""The options of `terra-refactor-lsp`, and the start of the server: on standard input and output, or on a TCP port for debugging."""

from __future__ import annotations

import argparse
import atexit
import dataclasses
import gc
import logging
import sys
from collections.abc import Sequence

from terra_refactor import __version__
from terra_refactor.generated_methods import keep_generated_methods, reuse_generated_methods


def main(arguments: Sequence[str] | None = None) -> None:
    """Serves until the client requests the exit."""
    options = _parse(arguments)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    gc.disable()  # imports create a hundred thousand objects that are never freed
    try:
        import attr._make as attrs  # noqa: PLC0415

        reuse_generated_methods([dataclasses, attrs])
        from lsp_server.wiring import make_server  # noqa: PLC0415 - needs an extra that may be missing
    except ModuleNotFoundError as error:
        sys.exit(_without_extra(error))
    server = make_server()
    keep_generated_methods()  # an editor may finally kill the server
    atexit.register(keep_generated_methods)
    server.scheduler.collect_when_idle()
    if options.tcp is None:
        server.start_io()
    else:
        host, port = options.tcp
        server.start_tcp(host, port)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="terra-refactor-lsp", description="Language server of terra-refactor.")
    parser.add_argument(
        "--tcp", metavar="HOST:PORT", type=_address, help="listen on this address instead of standard input and output"
    )
    parser.add_argument("--version", action="version", version=f"terra-refactor-lsp {__version__}")
    return parser.parse_args(arguments)


def _address(text: str) -> tuple[str, int]:
    host, separator, port = text.rpartition(":")
    if not separator or not port.isdigit() or not 0 < int(port) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)


def _without_extra(error: ModuleNotFoundError) -> int:
    print(
        f"error: the language server needs {error.name}: pip install 'terra-refactor[lsp]'",
        file=sys.stderr,
    )
    return 2
