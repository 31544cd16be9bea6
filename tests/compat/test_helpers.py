"""Small functions that plugins import."""

import contextlib
import http.server
import threading
from functools import partial

import pytest

from bsjax.compat.helpers import download_weight_file


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


@pytest.mark.slow
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
