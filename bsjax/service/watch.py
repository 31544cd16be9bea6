"""A thread that watches the queue, rebuilds the leaderboard and sends notifications."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from bsjax.core.files import cache_dir, write_atomically
from bsjax.results import ResultStore
from bsjax.service.board import build_board
from bsjax.service.mail import send
from bsjax.submission import protection, queue
from bsjax.submission.accounts import accounts

OVER = ("done", "failed", "cancelled")
"""Final states of a submission."""

_LOOKS_EVERY = 3.0
_WRITTEN_OF = ("done", "failed", "waiting")


@contextmanager
def watching(
    store: ResultStore, board: Path, title: str, server: str | None, address: Callable[[str], str]
) -> Iterator[None]:
    """Watch the queue in a thread while the block runs.

    The leaderboard is rebuilt when a submission ends, or the visibility or a protection changes. Owners are notified
    when a submission is done, fails or waits for a review.

    Args:
        store: the store of results.
        board: the folder of the leaderboard.
        title: title of the leaderboard.
        server: SMTP server, see :func:`~bsjax.service.mail.send`; None sends no notifications.
        address: submission id -> URL of its page.
    """
    over = threading.Event()
    # Submissions that ended while no service ran are also notified; those before the first start are not.
    told = cache_dir().absolute() / "letters-until"
    until = told.read_text() if told.exists() else datetime.now(UTC).isoformat()

    def watch() -> None:
        nonlocal until
        built = None
        while True:
            try:
                found = queue.submissions(store)
                ended = [(each.id, each.since, each.visibility) for each in found if each.state in OVER]
                shown = ended, protection.protections(store)
                if shown != built:
                    built = shown
                    _build(store, board, title)
                new = [each for each in found if each.since > until]
                if server:
                    _write(store, [each for each in new if each.state in _WRITTEN_OF], server, address)
                if new or not told.exists():
                    until = max([until, *(each.since for each in new)])
                    write_atomically(told, until.encode())
            except Exception:  # the database may be unavailable for a while
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
            # Without the reason, which may be private: the page shows it to those who may see it.
            text = f"{each.name} is {each.state}.\n\n{address(each.id)}\n"
            send(server, to[each.account], f"{each.name}: {each.state}", text)
