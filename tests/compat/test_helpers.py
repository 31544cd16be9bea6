"""Small functions that plugins import."""

import contextlib
import http.server
import threading
from functools import partial

import numpy as np
import pytest

from bsjax.compat.helpers import (
    combine_fields,
    download_weight_file,
    flatten,
    map_fields,
)


@contextlib.contextmanager
def served(answer):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            answer(self)

        def log_message(self, format, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/weights.pth"
        finally:
            server.shutdown()
            thread.join()


def test_weights_are_fetched_once_and_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path))
    monkeypatch.setattr("bsjax.data.remote.web_files.ATTEMPTS", 2)
    asked = []

    def answer(request, status=200, stated=7):
        asked.append(request.path)
        request.send_response(status)
        request.send_header("Content-Length", str(stated))
        request.end_headers()
        request.wfile.write(b"weights")

    with (
        served(partial(answer, stated=9)) as url,
        pytest.raises(ConnectionError, match="the last 2 bytes did not come"),
    ):
        download_weight_file(url, folder="net")
    assert len(asked) == 2
    with served(partial(answer, status=404)) as url, pytest.raises(ConnectionError, match="cannot fetch .*404"):
        download_weight_file(url, folder="net")
    assert not list((tmp_path / "models" / "net").iterdir())
    with served(answer) as url:
        asked.clear()
        for _ in range(2):
            path = download_weight_file(url, folder="net")
    assert path == str(tmp_path / "models" / "net" / "weights.pth") and len(asked) == 1
    assert (tmp_path / "models" / "net" / "weights.pth").read_bytes() == b"weights"


class Fields:
    def __init__(self, one, two):
        self.one, self.two = one, two


def test_fields_of_objects():
    fields = Fields(1, 2)
    map_fields(fields, lambda value: 10 * value)
    assert vars(fields) == {"one": 10, "two": 20}
    both = combine_fields([fields, Fields(3, 4)], sum)
    assert type(both) is Fields and vars(both) == {"one": 13, "two": 24} and vars(fields) == {"one": 10, "two": 20}
    assert combine_fields([], sum) == []
    with pytest.raises(AttributeError, match="two"):
        combine_fields([fields, type("Other", (), {"one": 3})()], sum)


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 2, 3, 4)])
def test_units_and_their_places(shape):
    output = np.random.default_rng(0).normal(size=shape)
    flat, places = flatten(output, return_index=True)
    assert flat.shape == (2, np.prod(shape[1:])) and flatten(output).tolist() == flat.tolist()
    for unit, place in enumerate(places):
        assert output[(1, *place)] == flat[1, unit]


def test_the_home_of_weights(monkeypatch, tmp_path):
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path))
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "w.pth").write_bytes(b"here")
    # What is there is not fetched: nothing listens at this address.
    assert download_weight_file("http://127.0.0.1:9/w.pth") == str(tmp_path / "models" / "w.pth")
