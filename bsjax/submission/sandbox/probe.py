"""Attempts to break out of the sandbox, run as a script by :mod:`.self_test`.

The script needs only the standard library, so that any interpreter can run it.
"""

import contextlib
import ctypes
import json
import os
import signal
import socket
import sys

_NEW_USER = 0x10000000
_ATTACH = 16


def attempts(told: dict) -> dict:
    """Try to reach forbidden resources; gives each one that was reached -> how."""
    reached: dict[str, str] = {}

    def attempt(name: str, act) -> None:
        with contextlib.suppress(Exception):
            found = act()
            if found:
                reached[name] = str(found)[:200]

    for kind, path in told["secrets"].items():
        attempt(kind, lambda path=path: open(path, "rb").read(100))  # noqa: SIM115
    attempt("variables", lambda: [name for name in os.environ if told["variable"] in name])
    for host, port in told["listening"]:
        attempt("network", lambda host=host, port=port: socket.create_connection((host, port), 2) and (host, port))
    attempt("names", lambda: socket.gethostbyname("example.org"))
    for path in told["outside"]:
        attempt("writing", lambda path=path: open(os.path.join(path, "written"), "w") and path)  # noqa: SIM115
    attempt("processes", lambda: os.kill(told["process"], signal.SIGCONT) or f"process {told['process']}")
    attempt("processes", lambda: len([name for name in os.listdir("/proc") if name.isdigit()]) > 8)
    libc = ctypes.CDLL(None, use_errno=True)
    attempt("tracing", lambda: libc.ptrace(_ATTACH, told["process"], None, None) == 0)
    attempt("namespaces", lambda: libc.unshare(_NEW_USER) == 0 and "a namespace of users")
    attempt("mounting", lambda: libc.mount(b"none", b"/mnt", b"tmpfs", 0, None) == 0)
    attempt("devices", lambda: [name for name in os.listdir("/dev") if name.startswith(("sd", "vd", "nvme", "mem"))])
    return reached


def fill(what: str) -> None:
    """Use up a resource: "memory", "processes", "disk" or "time"."""
    held = []
    while what == "memory":
        held.append(b"x" * (16 << 20))
    while what == "processes":
        with contextlib.suppress(OSError):
            if os.fork() == 0:
                signal.pause()
    with open(os.path.join(os.environ["HOME"], "filled"), "wb") as file:
        while what == "disk":
            file.write(b"x" * (4 << 20))
    while what == "time":
        pass


if __name__ == "__main__":
    if sys.argv[1] == "fill":
        fill(sys.argv[2])
    else:
        sys.stdout.write(json.dumps(attempts(json.loads(sys.argv[2]))))
