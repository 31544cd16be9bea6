"""A web server of files, with troubles, and a record of what was asked."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote


@dataclass
class Web:
    """A server of files by path, with troubles, and a record of what was asked."""

    files: dict[str, bytes | Path] = field(default_factory=dict)
    status: dict[str, list[int]] = field(default_factory=dict)  # path -> what the next requests are answered
    cut: set[str] = field(default_factory=set)  # paths whose answers end early
    asked: list[str] = field(default_factory=list)
    address: str = ""

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = unquote(request.path).lstrip("/")
        self.asked.append(path)
        statuses = self.status.get(path, [])
        status = statuses.pop(0) if statuses else 200 if path in self.files else 404
        content = self.files.get(path, b"") if status == 200 else b"trouble"
        body = content.read_bytes() if isinstance(content, Path) else content
        request.send_response(status)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[: len(body) // 2] if path in self.cut else body)


@contextmanager
def served() -> Iterator[Web]:
    web = Web()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            web.answer(self)

        def log_message(self, *arguments: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        web.address = f"http://127.0.0.1:{server.server_port}"
        try:
            yield web
        finally:
            server.shutdown()
            thread.join()
