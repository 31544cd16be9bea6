"""Small functions that plugins import."""

import pytest

from bsjax.compat.helpers import download_weight_file
from tests.support.web import served


@pytest.mark.slow
def test_weights_are_fetched_once_and_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path))
    monkeypatch.setattr("bsjax.data.remote.web_files.ATTEMPTS", 2)
    with served() as web:
        web.files["weights.pth"], web.cut = b"weights", {"weights.pth"}
        with pytest.raises(ConnectionError, match="the last 4 bytes did not come"):
            download_weight_file(f"{web.address}/weights.pth", folder="net")
        with pytest.raises(ConnectionError, match="cannot fetch .*404"):
            download_weight_file(f"{web.address}/none.pth", folder="net")
        assert not list((tmp_path / "models" / "net").iterdir()) and len(web.asked) == 2 + 1
        web.cut.clear()
        for _ in range(2):
            path = download_weight_file(f"{web.address}/weights.pth", folder="net")
        assert path == str(tmp_path / "models" / "net" / "weights.pth") and len(web.asked) == 4
    assert (tmp_path / "models" / "net" / "weights.pth").read_bytes() == b"weights"
