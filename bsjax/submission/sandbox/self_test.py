"""Self-test of containment on this machine."""

import json
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from bsjax.submission.sandbox.container import VARIABLE
from bsjax.submission.sandbox.limits import Limits
from bsjax.submission.sandbox.process import Sandbox

_PROBE = Path(__file__).with_name("probe.py")
_VARIABLE = "BSJAX_SELF_TEST_SECRET"
_OUTSIDE = ("/", "/usr", "/etc", "/dev", "/proc/sys", "/var", "/root", "/home")
_TRIED = {
    "recordings": "it cannot read files outside its inputs",
    "store": "it cannot see the store of results",
    "variables": "it does not inherit environment variables",
    "network": "it cannot reach this machine or others over a network",
    "names": "it cannot resolve host names",
    "writing": "it cannot write outside its folder",
    "processes": "it cannot see or signal other processes",
    "tracing": "it cannot trace other processes",
    "namespaces": "it cannot create namespaces, in which it would have privileges",
    "mounting": "it cannot mount file systems",
    "devices": "it cannot see devices of the machine",
}
_LIMITED = {
    "memory": Limits(memory=200 << 20, seconds=60),
    "processes": Limits(processes=32, seconds=60),
    "disk": Limits(disk=32 << 20, seconds=60),
    "time": Limits(seconds=0.5),
}


class Tried(NamedTuple):
    """The result of one test of containment.

    Attributes:
        name: short name of the test.
        asks: the requirement.
        problem: how it is violated; "" if it holds.
    """

    name: str
    asks: str
    problem: str


def self_test() -> Iterator[Tried]:
    """Test the requirements of containment one by one. The first is that a process can be contained at all.

    Example:
        >>> all(not tried.problem for tried in self_test())  # doctest: +SKIP
        True
    """
    by = "podman" if os.environ.get(VARIABLE) else "bubblewrap"
    whole = f"a process is contained by {by}"
    try:
        reached = _attempts()
    except (RuntimeError, ValueError, OSError) as error:
        yield Tried(by, whole, " ".join(str(error).split()))
        return
    yield Tried(by, whole, "")
    for name, asks in _TRIED.items():
        yield Tried(name, asks, f"it reached {reached[name]}" if name in reached else "")
    for name, limits in _LIMITED.items():
        with Sandbox((_PROBE,), limits=limits).start([sys.executable, str(_PROBE), "fill", name]) as process:
            process.wait()
        said = "" if process.passed == name else process.reason or "it was not stopped"
        yield Tried(f"limit: {name}", f"a process that exceeds its limit of {name} is stopped", said)


@cache
def is_contained() -> bool:
    """Whether processes can be contained on this machine and cannot break out; limits are not tested."""
    tried = self_test()
    return all(not next(tried).problem for _ in range(1 + len(_TRIED)))


def _attempts() -> dict[str, str]:
    with (
        tempfile.TemporaryDirectory(prefix="bsjax-self-test-") as folder,
        socket.create_server(("127.0.0.1", 0)) as one,
    ):
        secrets = {}
        for name in ("recordings", "store"):
            path = Path(folder, name)
            path.write_text("secret")
            secrets[name] = str(path)
        listening = [["127.0.0.1", one.getsockname()[1]], ["192.0.2.1", 80]]
        told = {"secrets": secrets, "variable": _VARIABLE, "listening": listening, "process": os.getpid()}
        told["outside"] = [folder, str(Path(sys.prefix)), *_OUTSIDE]
        os.environ[_VARIABLE] = "secret"
        try:
            sandbox = Sandbox((_PROBE,), limits=Limits(seconds=60))
            with sandbox.start([sys.executable, str(_PROBE), "attempt", json.dumps(told)]) as process:
                said = process.stdout.read(1 << 20)
                status = process.wait()
        finally:
            del os.environ[_VARIABLE]
    if status:
        last = (process.log.strip() or process.reason).splitlines()[-1]
        raise ValueError(f"{os.environ.get(VARIABLE) or shutil.which('bwrap')} contains nothing here: {last}")
    return json.loads(said)
