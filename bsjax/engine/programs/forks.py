"""Error instead of a deadlock of JAX in a fork of a process that has computed."""

import os

_computes: list[int] = []
"""Id of the process that has computed, if any."""


def refuse_after_fork() -> None:
    """Records that this process computes; call it before each computation.

    Raises:
        RuntimeError: the process was forked from one that has computed. JAX's threads do not exist in the fork, which
            would wait for them forever.

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
