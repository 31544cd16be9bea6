"""A service in a thread, with accounts, and zips to hand in."""

import io
import socket
import threading
import time
import zipfile
from contextlib import contextmanager

import pytest
import urllib3

pytest.importorskip("fastapi")
import uvicorn

from bsjax.results import ResultStore
from bsjax.service import Limits, service
from bsjax.submission.accounts import add_account

try:
    from tests.support.browser import CHROMIUM, DRIVER
    from tests.support.browser import browser as opened
except ModuleNotFoundError as error:
    if error.name != "selenium":
        raise
    CHROMIUM = DRIVER = None

PLUGIN = "from bsjax import model_registry\n\nmodel_registry[{name!r}] = lambda: None\n"


def zipped(name: str, extra: bytes = b"") -> bytes:
    """A zip of a plugin that registers a model."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr("models/plugin/__init__.py", PLUGIN.format(name=name))
        if extra:
            file.writestr("models/plugin/weights.bin", extra)
    return made.getvalue()


class Client:
    """Asks a service, with cookies as a browser keeps them, from an address of its own behind the proxy."""

    def __init__(self, url, address="192.0.2.1"):
        self.url, self.address, self.cookie = url, address, ""
        self._pool = urllib3.PoolManager(retries=False)

    def ask(self, method, path, headers=None, **asked):
        given = {"X-Forwarded-For": self.address, **({"Cookie": self.cookie} if self.cookie else {}), **(headers or {})}
        answer = self._pool.request(method, self.url + path, headers=given, redirect=False, **asked)
        if "set-cookie" in answer.headers:
            self.cookie = answer.headers["set-cookie"].split(";")[0]
        return answer

    def csrf(self, path="/sign-in"):
        return self.ask("GET", path).data.decode().split('name="csrf" value="')[1].split('"')[0]

    def sign_in(self, token):
        return self.ask("POST", "/sign-in", fields={"token": token, "csrf": self.csrf()}, encode_multipart=False)

    def upload(self, token, content, name="model", **asked):
        return self.ask("POST", f"/api/submissions?name={name}", bearer(token), body=content, **asked)


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def free_port():
    with socket.socket() as at:
        at.bind(("127.0.0.1", 0))
        return at.getsockname()[1]


@contextmanager
def serving(store, **asked):
    """The address of a service of a store, in a thread."""
    port = free_port()
    app = service(store, public_url=f"http://127.0.0.1:{port}", **asked)
    server = uvicorn.Server(uvicorn.Config(app, port=port, access_log=False, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("home")
        patch.setenv("BSJAX_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module")
def store(home):
    with ResultStore(home / "results.db") as opened:
        yield opened


@pytest.fixture(scope="module")
def tokens(store):
    made = {name: add_account(store, name) for name in ("lab", "other")}
    return {**made, "op": add_account(store, "op", operator=True)}


@pytest.fixture(scope="module")
def url(store, tokens):
    with serving(store, limits=Limits(n_bytes=1 << 20, pause=0.5, seconds=3)) as address:
        yield address


@pytest.fixture
def client(url):
    return Client(url)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if not (CHROMIUM and DRIVER):
        pytest.skip("there is no browser")
    with opened(tmp_path_factory.mktemp("downloads")) as one:
        yield one
