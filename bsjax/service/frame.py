"""ASGI middleware that adds security headers and writes the access log."""

import json
import sys
import time
from datetime import UTC, datetime
from typing import Any

from starlette.datastructures import MutableHeaders

LARGEST_FORM = 64 << 10
"""Largest form without a file, in bytes."""

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# The pages of the leaderboard contain their own policy, which the charts need.
_POLICY_OF_BOARD = "frame-ancestors 'none'"


class Framed:
    """ASGI middleware around an application.

    Args:
        app: the application.
        is_encrypted: whether browsers reach it over https only.
    """

    def __init__(self, app: Any, is_encrypted: bool) -> None:
        self._app, self._is_encrypted = app, is_encrypted

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, and log it as a line of JSON on stdout."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.monotonic(), 500
        state = scope.setdefault("state", {})

        async def answer(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._add_headers(MutableHeaders(scope=message), scope["path"])
            await send(message)

        try:
            await self._app(scope, receive, answer)
        finally:
            line = {"time": datetime.now(UTC).isoformat(), "method": scope["method"], "path": scope["path"]}
            line |= {"status": status, "ms": round(1000 * (time.monotonic() - begun), 1)}
            sys.stdout.write(json.dumps(line | {"account": state.get("account")}) + "\n")
            sys.stdout.flush()

    def _add_headers(self, headers: MutableHeaders, path: str) -> None:
        is_board = path.startswith("/board/")
        headers["Content-Security-Policy"] = _POLICY_OF_BOARD if is_board else _POLICY
        headers["X-Content-Type-Options"] = "nosniff"
        headers["Referrer-Policy"] = "no-referrer"
        headers["X-Frame-Options"] = "DENY"
        headers["Cross-Origin-Opener-Policy"] = "same-origin"
        if self._is_encrypted:
            headers["Strict-Transport-Security"] = "max-age=31536000"
        if not is_board and not path.startswith("/static/"):
            headers["Cache-Control"] = "no-store"
