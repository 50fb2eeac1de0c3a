"""The protocol as pygls speaks it, with one thing mended: every request is answered.

pygls 2.1 logs a request whose parameters are not of the protocol's types and passes over it; the client would wait for ever.
"""

from __future__ import annotations

from typing import Any

from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol


class AnsweringProtocol(LanguageServerProtocol):
    """Answers requests that cannot be read with the error that says so."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """A message as an object of the protocol's types.

        Raises:
            JsonRpcException: it is none; whoever sent it has been told.
        """
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], None, error.to_response_error())
            raise
