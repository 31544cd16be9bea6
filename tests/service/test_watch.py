"""What follows from the end of a submission: the leaderboard without what is private, and a letter."""

import socket
import threading
import time

import pytest

from bsjax import Score
from bsjax.results import ResultStore
from bsjax.service.mail import send
from bsjax.service.watch import watching
from bsjax.submission import queue
from bsjax.submission.accounts import account_of, add_account

BENCHMARK = "Simulated.V1-cka"


class Post:
    """A server of SMTP, as far as a letter goes; it keeps what it is sent."""

    def __init__(self):
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"smtp://127.0.0.1:{self._socket.getsockname()[1]}"
        self.letters = []
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self):
        self._socket.close()

    def _serve(self):
        while True:
            try:
                at, _ = self._socket.accept()
            except OSError:
                return
            with at, at.makefile("rwb") as file:
                file.write(b"220 here\r\n")
                file.flush()
                while line := file.readline():
                    if line.upper().startswith(b"DATA"):
                        file.write(b"354 go on\r\n")
                        file.flush()
                        self.letters.append(b"".join(iter(file.readline, b".\r\n")).decode())
                    file.write(b"221 bye\r\n" if line.upper().startswith(b"QUIT") else b"250 yes\r\n")
                    file.flush()


def until(true, seconds=20):
    for _ in range(int(seconds / 0.05)):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to be")


def end(store, made):
    while (step := queue.claim_next(store, "w", 60, submission_id=made.id)) is not None:
        queue.finish(store, step.id, "w")


def shown(board):
    data = board / "data.js"
    return data.read_text() if data.exists() else ""


@pytest.mark.slow
def test_the_board_follows_and_a_letter_is_written(tmp_path):
    post, board, files = Post(), tmp_path / "board", tmp_path / "submission" / "files"
    files.mkdir(parents=True)
    with ResultStore(tmp_path / "results.db") as store:
        token = add_account(store, "lab", email="doe@lab.org")
        facts = {"registers": {"model": ["doe-net"], "benchmark": ["Doe2026-own"]}}
        of = {"folder": files, "kinds": ["model"], "steps": ["a"], "account": account_of(store, token).id}
        made = queue.add(store, name="doe", content="0", facts=facts, **of)
        for model, benchmark in (("pixels", BENCHMARK), ("doe-net", BENCHMARK), ("pixels", "Doe2026-own")):
            store.add(Score(0.5, provenance={"model": model, "benchmark": benchmark}))
        with watching(store, board, "Scores", post.url, lambda one: f"https://lab.org/{one}"):
            until(lambda: "pixels" in shown(board))
            end(store, made)
            until(lambda: post.letters)
            assert "doe-net" not in shown(board) and "Doe2026-own" not in shown(board)
            queue.show(store, made.id, "public")
            until(lambda: "doe-net" in shown(board) and "Doe2026-own" in shown(board))
        # What ends while no service runs is told by the next.
        later = queue.add(store, name="roe", content="1", **of)
        end(store, later)
        with watching(store, board, "Scores", post.url, lambda one: f"https://lab.org/{one}"):
            until(lambda: len(post.letters) == 2)
    assert f"https://lab.org/{later.id}" in post.letters[1]
    assert "To: doe@lab.org" in post.letters[0] and f"https://lab.org/{made.id}" in post.letters[0]
    post.close()


def test_a_letter_that_cannot_be_sent_stops_nothing(caplog):
    with socket.create_server(("127.0.0.1", 0)) as at:
        port = at.getsockname()[1]
    send(f"smtp://doe:secret@127.0.0.1:{port}", "doe@lab.org", "done", "text")
    assert "no letter to doe@lab.org" in caplog.text and "secret" not in caplog.text
