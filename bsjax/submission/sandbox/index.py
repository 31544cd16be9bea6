"""A proxy through which an installation reaches the package index, and nothing else on the network.

A contained process has no network, only a socket to the trusted side. Inside the sandbox, :func:`relay` presents the
socket as an HTTP proxy, which pip and uv can use. The trusted side resolves names, and forwards connections only to the
hosts of the index.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

VARIABLE = "BSJAX_INDEX"
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_PORTS = {"https": 443, "http": 80}
_MOST_HEAD, _PART, _WAIT = 1 << 16, 1 << 16, 60.0


@dataclass(frozen=True)
class Index:
    """A source of packages.

    Attributes:
        url: URL of the index; "" if only folders are used.
        folders: folders of wheels.
        hosts: host names and ports that may be reached.
    """

    url: str = ""
    folders: tuple[Path, ...] = ()
    hosts: frozenset[tuple[str, int]] = frozenset()

    @classmethod
    def of_setting(cls) -> Index:
        """Read the index from ``$BSJAX_INDEX``; the default is the index that pip uses.

        The variable contains the URL of an index and the URLs of hosts of its files, or folders of wheels, separated by
        spaces.

        Raises:
            ValueError: the variable is not set, and pip is not available.

        Example:
            >>> Index.of("https://packages.lab.org/simple https://files.lab.org").hosts == {
            ...     ("packages.lab.org", 443), ("files.lab.org", 443)}
            True
        """
        said = os.environ.get(VARIABLE, "") or _of_pip()
        if not said:
            raise ValueError(f"set ${VARIABLE} to the URL of a package index, or to a folder of wheels")
        return cls.of(said)

    @classmethod
    def of(cls, said: str) -> Index:
        """Parse a setting, see :meth:`of_setting`."""
        parts = said.split()
        urls = [part for part in parts if "://" in part]
        folders = tuple(Path(part).resolve() for part in parts if "://" not in part)
        hosts = frozenset(
            (found.hostname, found.port or _PORTS.get(found.scheme, 443))
            for found in map(urlsplit, urls)
            if found.hostname
        )
        return cls(urls[0] if urls else "", folders, hosts)

    def variables(self, proxy: str) -> dict[str, str]:
        """The environment variables that make pip and uv use the index through a proxy."""
        named = {"PIP_FIND_LINKS": " ".join(map(str, self.folders)), "UV_FIND_LINKS": ",".join(map(str, self.folders))}
        named |= {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "UV_NO_CONFIG": "1"}
        if not self.url:
            return {**named, "PIP_NO_INDEX": "1", "UV_NO_INDEX": "1"}
        named |= {"PIP_INDEX_URL": self.url, "UV_DEFAULT_INDEX": self.url}
        named |= {name: proxy for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")}
        if _CERTIFICATES.exists():
            named |= {"PIP_CERT": str(_CERTIFICATES), "SSL_CERT_FILE": str(_CERTIFICATES)}
        return named


def _of_pip() -> str:
    try:
        from pip._internal.models.index import PyPI
    except ImportError:
        return ""
    return f"{PyPI.simple_url} https://{PyPI.file_storage_domain}"


@contextmanager
def reachable(index: Index) -> Iterator[Path]:
    """Open a socket that forwards to the hosts of an index while the block runs; gives its path."""
    with tempfile.TemporaryDirectory(prefix="bsjax-index-") as folder:
        place = Path(folder).resolve() / "socket"
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(place))  # before the other side can see it
        loop, over = asyncio.new_event_loop(), asyncio.Event()
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            thread = threading.Thread(target=runner.run, args=(_serve(listening, index.hosts, over),), daemon=True)
            thread.start()
            try:
                yield place
            finally:
                loop.call_soon_threadsafe(over.set)
                thread.join()


async def _serve(listening: socket.socket, hosts: frozenset[tuple[str, int]], over: asyncio.Event) -> None:
    connections: set[asyncio.Task[None]] = set()

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            connections.add(task)
            task.add_done_callback(connections.discard)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            async with _closing(writer):
                await _answer(reader, writer, hosts)

    async with await asyncio.start_unix_server(answered, sock=listening, limit=_MOST_HEAD):
        await over.wait()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


@asynccontextmanager
async def _closing(writer: asyncio.StreamWriter) -> AsyncIterator[asyncio.StreamWriter]:
    try:
        yield writer
    finally:
        writer.close()
        with suppress(OSError, asyncio.CancelledError):
            await writer.wait_closed()


async def _answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, hosts: frozenset[tuple[str, int]]
) -> None:
    """Serve one connection: a tunnel (``CONNECT``) or a plain request to a host of the index."""
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _WAIT)
    first, _, rest = head.partition(b"\r\n")
    method, _, target = first.decode("latin-1").partition(" ")
    target = target.rpartition(" ")[0]
    tunnels = method == "CONNECT"
    asked = urlsplit(f"//{target}" if tunnels else target)
    try:
        place = asked.hostname or "", asked.port or _PORTS["https" if tunnels else "http"]
    except ValueError:
        place = "", 0
    if place not in hosts:
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        return
    there_reader, there_writer = await asyncio.wait_for(asyncio.open_connection(*place), _WAIT)
    async with _closing(there_writer):
        if tunnels:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:  # one request per connection, as the next one could go to another host
            path, dropped = asked._replace(scheme="", netloc="").geturl() or "/", (b"proxy-", b"connection:")
            kept = [line for line in rest.split(b"\r\n") if line and not line.lower().startswith(dropped)]
            lines = [f"{method} {path} HTTP/1.1".encode("latin-1"), *kept, b"Connection: close", b"", b""]
            there_writer.write(b"\r\n".join(lines))
        await asyncio.gather(_passed_on(reader, there_writer), _passed_on(there_reader, writer))


async def _passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while part := await reader.read(_PART):
            writer.write(part)
            await writer.drain()
        writer.write_eof()


def relay(place: str, command: Sequence[str]) -> int:
    """Run a command together with a proxy that forwards to a socket; gives the exit status.

    Args:
        place: path of the socket, from :func:`reachable`.
        command: the program and its arguments. ``{proxy}`` in its environment variables is replaced by the URL of the
            proxy.
    """
    listening = socket.create_server(("127.0.0.1", 0))
    proxy = f"http://127.0.0.1:{listening.getsockname()[1]}"
    threading.Thread(target=_accept, args=(listening, place), daemon=True).start()
    named = {name: value.replace("{proxy}", proxy) for name, value in os.environ.items()}
    return subprocess.run(command, env=named, check=False).returncode


def _accept(listening: socket.socket, place: str) -> None:
    while True:
        one, _ = listening.accept()
        other = socket.socket(socket.AF_UNIX)
        other.connect(place)
        for source, target in ((one, other), (other, one)):
            threading.Thread(target=_copy, args=(source, target), daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while part := source.recv(_PART):
            target.sendall(part)
        target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    sys.exit(relay(sys.argv[1], sys.argv[2:]))
