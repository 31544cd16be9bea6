"""A real S3 server over HTTP (moto's, in a process of its own), and a relay before it that makes trouble.

The relay passes requests on, and can cut answers off, alter a byte, or refuse. It keeps a record
of what was asked, so that a test can say what came twice.
"""

import http.client
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

CHUNK = 16 * 1024

SETTINGS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_MAX_ATTEMPTS": "1",
}
"""Settings of a machine with credentials for a server here, one attempt, and no others."""


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of a server that is up."""
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        said = []
        for line in process.stderr:
            said.append(line)
            if address := re.search(r"Running on (http://\S+)", line):
                break
        else:
            raise RuntimeError("moto's server did not start:\n" + "".join(said))
        # A pipe that nobody reads would fill, and stop the server.
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield address[1]
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def s3_client(address: str) -> Any:
    """A client that may do anything, whatever the environment says.

    It stores objects without checksums, as they were before S3 had any.
    """
    import boto3
    from botocore.config import Config

    return boto3.client(
        "s3",
        endpoint_url=address,
        region_name="us-east-1",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
        config=Config(s3={"addressing_style": "path"}, request_checksum_calculation="when_required"),
    )


@dataclass
class Asked:
    """One request that came, and what it was answered."""

    path: str
    method: str
    range: str | None
    signed: bool
    status: int
    sent: int = 0


@dataclass
class Trouble:
    """What the relay does to the answers from now on."""

    cut_after: list[int] = field(default_factory=list)  # one answer each: only so many bytes of its body
    together: int = 0  # no answer before so many requests were there at once
    alter: int = 0  # so many answers have one byte changed
    refuse_signed: bool = False
    fail_with: int | None = None


class Relay:
    """The address before the server, its troubles, and its record."""

    def __init__(self, server: str) -> None:
        self.server = urlsplit(server)
        self.trouble = Trouble()
        self.asked: list[Asked] = []
        self.most_at_once = 0
        self._at_once, self._changed = 0, threading.Condition()
        relay = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                relay.come()
                relay.answer(self)

            do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

            def log_message(self, *arguments: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._http.server_port}"

    def close(self) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    @property
    def sent(self) -> int:
        """Bytes of objects that went through."""
        return sum(asked.sent for asked in self.asked if asked.status in (200, 206))

    def come(self) -> None:
        """Counts a request that waits for its answer."""
        with self._changed:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.most_at_once >= self.trouble.together)

    def leave(self) -> None:
        """No longer counts it: before its answer has come, after which there may be another."""
        with self._changed:
            self._at_once -= 1

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        trouble = self.trouble
        headers = dict(request.headers)
        asked = Asked(request.path, request.command, headers.get("Range"), "Authorization" in headers, 0)
        self.asked.append(asked)
        if trouble.refuse_signed and asked.signed:
            asked.status = 403
            return self._send(request, asked, {}, b"<Error><Code>InvalidAccessKeyId</Code></Error>")
        if trouble.fail_with:
            asked.status = trouble.fail_with
            return self._send(request, asked, {}, b"")
        connection = http.client.HTTPConnection(self.server.hostname, self.server.port, timeout=600)
        sent = request.rfile.read(int(headers.get("Content-Length", 0)))
        connection.request(request.command, request.path, sent, headers)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        asked.status = response.status
        fetched = response.status in (200, 206)
        passed = {name.lower(): value for name, value in response.getheaders()}
        for name in ("connection", "date", "server"):
            passed.pop(name, None)
        if trouble.alter and fetched and body:
            trouble.alter -= 1
            middle = len(body) // 2
            body = body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :]
        return self._send(request, asked, passed, body, trouble.cut_after.pop(0) if trouble.cut_after else None)

    def _send(
        self, request: Any, asked: Asked, headers: dict[str, str], body: bytes, cut_after: int | None = None
    ) -> None:
        request.close_connection = True
        self.leave()
        try:
            request.send_response(asked.status)
            for name, value in {"content-length": str(len(body)), **headers}.items():
                request.send_header(name, value)
            request.end_headers()
            body = body[:cut_after]
            for start in range(0, len(body), CHUNK):
                piece = body[start : start + CHUNK]
                request.wfile.write(piece)
                request.wfile.flush()
                asked.sent += len(piece)
        except OSError:  # the other side is gone
            pass
