"""Small functions that plugins import."""

import http.server
import threading
from functools import partial

import pytest

from bsjax.compat.helpers import download_weight_file


def test_weights_are_fetched_once_and_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path))
    source = tmp_path / "web" / "weights.pth"
    source.parent.mkdir()
    source.write_bytes(b"weights")
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=source.parent)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            with pytest.raises(ConnectionError, match="cannot fetch .*404"):
                download_weight_file(f"{url}/nothing.pth", folder="net")
            assert not list((tmp_path / "models" / "net").iterdir())
            path = download_weight_file(f"{url}/weights.pth", folder="net")
        finally:
            server.shutdown()
    assert path == str(tmp_path / "models" / "net" / "weights.pth")
    # What is there is not fetched: nothing listens at this address any more.
    assert download_weight_file(f"{url}/weights.pth", folder="net") == path
    assert (tmp_path / "models" / "net" / "weights.pth").read_bytes() == b"weights"
