"""From an upload to a row of the leaderboard, in real processes."""

import io
import json
import shutil
import time
import zipfile

import pytest
import urllib3

from bsjax.results import ResultStore
from bsjax.results.database import VARIABLE
from bsjax.submission.accounts import add_account
from bsjax.submission.skeletons import write_skeleton
from tests.service.conftest import Client, bearer, free_port
from tests.service.test_kills import process
from tests.service.test_watch import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
]


def test_from_an_upload_to_a_row_of_the_leaderboard(tmp_path, monkeypatch):
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path / "home"))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "results.db"))
    folder, packed = write_skeleton("model", "doe-net", tmp_path), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for path in folder.rglob("*.py"):
            file.write(path, path.relative_to(tmp_path))
    with ResultStore() as store:
        token = add_account(store, "lab")
    port = free_port()
    with process(port, "--workers", "1", "--benchmark", "Simulated.V1-cka"):
        client = Client(f"http://127.0.0.1:{port}")
        answer = client.upload(token, packed.getvalue(), "doe")
        assert answer.status == 201, answer.data
        one = json.loads(answer.data)["id"]

        def seen():
            return json.loads(client.ask("GET", f"/api/submissions/{one}", bearer(token)).data)

        until(lambda: seen()["over"], 300)
        assert seen()["state"] == "done", seen()
        time.sleep(5)

        def board():
            return urllib3.request("GET", f"http://127.0.0.1:{port}/board/data.js").data

        assert b"doe-net" not in board()
        client.sign_in(token)
        fields = {"csrf": client.csrf(f"/submissions/{one}")}
        assert client.ask("POST", f"/submissions/{one}/publish", fields=fields).status == 303
        until(lambda: b"doe-net" in board())
