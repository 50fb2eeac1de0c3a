"""pygls's protocol with two corrections: every request is answered, and no notification is retained.

pygls 2.1 logs and ignores a request whose parameters do not have the protocol's types, so that the client waits
forever. It retains the handler of each notification under a number that is never looked up: 2.6 kB for each edit.
"""

from __future__ import annotations

import asyncio
from typing import Any

from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol


class AnsweringProtocol(LanguageServerProtocol):
    """Answers unreadable requests with an error, and drops finished ones."""

    def _execute_handler(self, msg_id: Any, *args: Any, **kwargs: Any) -> None:
        super()._execute_handler(msg_id, *args, **kwargs)
        future = self._request_futures.get(msg_id)
        if future is not None:
            loop = (
                asyncio.get_running_loop()
            )  # not immediately: at the end pygls cancels all of them while iterating over this dict
            future.add_done_callback(lambda _: loop.call_soon(self._request_futures.pop, msg_id, None))

    def structure_message(self, data: dict[str, Any]) -> Any:
        """A message as an object of the protocol's types.

        Raises:
            JsonRpcException: the message is invalid; the sender has received an error.
        """
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], None, error.to_response_error())
            raise
