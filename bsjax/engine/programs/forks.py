"""Refusal to compute where JAX would wait for ever: in a fork of a process that has computed."""

import os

_computes: list[int] = []
"""The process that has computed, if any has."""


def refuse_after_fork() -> None:
    """Note that this process computes; called before it does.

    Raises:
        RuntimeError: it was forked from one that did. JAX's threads stay behind in that, and the fork waits for them.

    Example:
        >>> refuse_after_fork()
    """
    if not _computes:
        _computes.append(os.getpid())
    elif _computes[0] != os.getpid():
        raise RuntimeError(
            f"process {os.getpid()} was forked from {_computes[0]}, which had computed before: JAX would wait here for "
            "threads that stayed behind. Start processes by spawn, e.g. multiprocessing.get_context('spawn').Pool() or "
            "ProcessPoolExecutor(mp_context=multiprocessing.get_context('spawn'))"
        )
