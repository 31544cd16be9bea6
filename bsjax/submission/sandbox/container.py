"""A podman container as the alternative to bubblewrap, configured by ``$BSJAX_CONTAINER``.

The same folders are mounted as under bubblewrap, so the image may be empty.
"""

import json
import os
import resource
import shlex
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from bsjax.submission.sandbox.limits import THREADS, Limits

VARIABLE = "BSJAX_CONTAINER"
# The system calls that podman allows by default; those that create namespaces are removed from them.
_ALLOWED = Path("/usr/share/containers/seccomp.json")
_NAMESPACES = {"clone", "clone3", "setns", "unshare"}
_NEW_NAMESPACE = 0x7E020080
# Podman would copy the first two from the machine, and make the others writable.
_EMPTY = ("/etc/hosts", "/etc/resolv.conf")
_CLOSED = ("/dev", "/run", "/var/tmp")
# Podman's default limits exceed what some machines allow.
_HANDLES = {"nofile": (resource.RLIMIT_NOFILE, 1 << 12), "nproc": (resource.RLIMIT_NPROC, 1 << 15)}
_UNLIMITED = 1 << 64
_LAST = 10.0
# The guard has its own session and removes the container when its pipe closes, so also if this process is killed.
_FIRST = '"$@"; exit $?'
_GUARD = 'cat > /dev/null; exec "$@"'


class Container:
    """A container for one process.

    Args:
        setting: podman, its global options, and an image, such as ``podman bsjax-empty``.

    Raises:
        RuntimeError: the program of the setting is not installed, or the image is missing.
    """

    def __init__(self, setting: str) -> None:
        *self._program, self._image = shlex.split(setting)
        if not self._program or shutil.which(self._program[0]) is None:
            raise RuntimeError(
                f"${VARIABLE} must be podman and an image, such as 'podman bsjax-empty', got {setting!r}"
            )
        self._name = f"bsjax-{uuid.uuid4().hex[:12]}"
        self._folder = Path(tempfile.mkdtemp(prefix="bsjax-container-")).resolve()
        self._pid = 0
        remove = [*self._program, "rm", "--force", self._name]
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "sh", *remove],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def around(
        self,
        command: Sequence[str],
        variables: Mapping[str, str],
        readable: Sequence[Path],
        writable: Sequence[Path],
        folder: Path,
        limits: Limits,
        in_memory: int,
    ) -> list[str]:
        """Wrap a command so that it runs in the container, with no other environment variables than these."""
        asked = ["--rm", "--interactive", "--pull", "never", "--name", self._name, "--pidfile", str(self._pidfile)]
        asked += ["--network", "none", "--hostname", "model", "--read-only", "--cap-drop", "ALL"]
        asked += ["--security-opt", "no-new-privileges", "--security-opt", "label=disable", *self._calls()]
        asked += ["--memory", str(limits.memory), "--memory-swap", str(limits.memory)]
        asked += ["--pids-limit", str(THREADS * limits.processes), "--timeout", str(round(limits.seconds) + 1)]
        for name, (kind, most) in _HANDLES.items():
            asked += ["--ulimit", f"{name}={min(resource.getrlimit(kind)[1] % _UNLIMITED, most)}"]
        asked += ["--stop-signal", "KILL", "--shm-size", str(in_memory)]
        asked += ["--tmpfs", f"/tmp:rw,size={in_memory},mode=1777"]
        for place in _CLOSED:
            asked += ["--tmpfs", f"{place}:ro,size=64k,mode=755"]
        for place in _EMPTY:
            asked += ["--volume", f"{os.devnull}:{place}:ro"]
        for path in readable:
            asked += ["--volume", f"{path}:{path}:ro"]
        for path in writable:
            asked += ["--volume", f"{path}:{path}"]
        given = [f"{name}={value}" for name, value in variables.items()]
        # The first process of a container (PID 1) cannot end itself by a signal: it is a shell that waits for the
        # command.
        inner = ["/bin/sh", "-c", _FIRST, "sh", "/usr/bin/env", "-i", *given, *command]
        return [*self._program, "run", *asked, "--workdir", str(folder), self._image, *inner]

    def pid(self) -> int:
        """The process id of its first process on this machine; 0 before it has started."""
        with suppress(OSError, ValueError):
            self._pid = self._pid or int(self._pidfile.read_text())
        return self._pid

    def end(self) -> None:
        """Kill all processes in the container and remove it."""
        self._guard.stdin.close()  # type: ignore[union-attr]
        with suppress(subprocess.TimeoutExpired):
            self._guard.wait(_LAST)
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _pidfile(self) -> Path:
        return self._folder / "pid"

    def _calls(self) -> list[str]:
        """The option that allows podman's default system calls, except those that create namespaces."""
        if not _ALLOWED.exists():
            return []
        allowed = json.loads(_ALLOWED.read_text())
        for rule in allowed["syscalls"]:
            rule["names"] = [name for name in rule["names"] if name not in _NAMESPACES]
        # Allows clone if its flags, masked with the first value, equal the second value.
        plain = {"index": 0, "value": _NEW_NAMESPACE, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
        allowed["syscalls"] += [{"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [plain]}]
        path = self._folder / "seccomp.json"
        path.write_text(json.dumps(allowed))
        return ["--security-opt", f"seccomp={path}"]
