"""The watch over the queue: at the end of a submission the leaderboard is built again, and letters are sent."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bsjax.results import ResultStore
from bsjax.service.board import build_board
from bsjax.service.mail import send
from bsjax.submission import protection, queue
from bsjax.submission.accounts import accounts

OVER = ("done", "failed", "cancelled")
"""The states that a submission stays in."""

_LOOKS_EVERY = 3.0
_WRITTEN_OF = ("done", "failed", "waiting")


@contextmanager
def watching(
    store: ResultStore, board: Path, title: str, server: str | None, address: Callable[[str], str]
) -> Iterator[None]:
    """Look at the queue again and again, in a thread.

    Args:
        store: the store of results.
        board: the folder of the leaderboard.
        title: of it.
        server: through whom letters are sent, as of :func:`~bsjax.service.mail.send`; None for no letters.
        address: of the page of a submission.
    """
    over = threading.Event()

    def watch() -> None:
        built, states = None, None
        while True:
            try:
                found = queue.submissions(store)
                ended = [(each.id, each.since, each.visibility) for each in found if each.state in OVER]
                shown = ended, protection.protections(store)
                if shown != built:
                    built = shown
                    _build(store, board, title)
                now = {each.id: each.state for each in found}
                new = [each for each in found if states is not None and states.get(each.id) != each.state]
                states = now
                if server:
                    _write(store, [each for each in new if each.state in _WRITTEN_OF], server, address)
            except Exception:  # the database may be gone for a while
                logging.getLogger(__name__).exception("the queue cannot be watched")
            if over.wait(_LOOKS_EVERY):
                return

    thread = threading.Thread(target=watch, name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(30)


def _build(store: ResultStore, board: Path, title: str) -> None:
    try:
        build_board(store, board, title=title)
    except ValueError as error:  # there is nothing to show yet
        logging.getLogger(__name__).info("no leaderboard: %s", error)


def _write(store: ResultStore, found: list[queue.Submission], server: str, address: Callable[[str], str]) -> None:
    to = {each.id: each.email for each in accounts(store) if each.revoked is None and each.email} if found else {}
    for each in found:
        if each.account in to:
            # The reason may be of a private step: it is on the page, for those who may see it.
            text = f"{each.name} is {each.state}.\n\n{address(each.id)}\n"
            send(server, to[each.account], f"{each.name}: {each.state}", text)
