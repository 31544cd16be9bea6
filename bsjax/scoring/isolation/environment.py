"""Environments of Python for plugins: what they require, above what the running environment has."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bsjax.core.files import cache_dir, exclusive, write_atomically
from bsjax.core.version import __version__
from bsjax.core.watching import stage
from bsjax.scoring.isolation.requirements import own_requirements, parsed

_LAST_LINES = 8
_COMPLETE = "complete"


def shared_folders() -> list[str]:
    """The folders of installed packages that this process imports from, in its order.

    Example:
        >>> len(shared_folders()) > 0
        True
    """
    return [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]


def environment(lines: Sequence[str]) -> Path:
    """The interpreter of the environment that has what is required; it is made where there is none yet.

    An environment holds only what the running one lacks or has in a version that is not asked for. Everything else is
    shared, so that neither JAX nor torch is installed once more: a ``.pth`` file puts the running environment's
    folders of packages after its own. (``--system-site-packages`` would put those of the base interpreter there, which
    are others where bsjax runs in a virtual environment.) The installer counts what is shared as installed, and gets
    bsjax's own requirements beside the plugins', so that what it chooses suits bsjax too. First it is asked for what
    goes with the versions that are shared; only if nothing does, it may install others of them.

    It lies in ``environments`` of the folder that bsjax stores in, under a digest of the lines, of what bsjax requires,
    of Python, of bsjax and of the versions that are shared: where one of them changes, another is made. Its folder may
    be deleted at any time. One process makes it while others wait; one whose making was broken off is made again.

    Args:
        lines: as in ``requirements.txt``.

    Raises:
        RuntimeError: they cannot be installed; the message has the last lines of uv, or of pip where there is no uv.
        OSError: the environment cannot be written.

    Example:
        >>> environment(["timm>=1.0"])  # doctest: +SKIP
        PosixPath('/home/doe/.bsjax/environments/955d04818111cece/bin/python')
    """
    folder = cache_dir().absolute() / "environments" / _key(lines)
    python = Path(sysconfig.get_path("scripts", "venv", _places(folder)), "python.exe" if os.name == "nt" else "python")
    if _is_complete(folder, python):
        return python
    with exclusive(folder):
        if not _is_complete(folder, python):
            try:
                with stage(f"installing {', '.join(lines)}"):
                    _make(folder, python, lines)
            except BaseException:  # also an interrupt
                shutil.rmtree(folder, ignore_errors=True)
                raise
    return python


def _key(lines: Sequence[str]) -> str:
    shared = {path: sorted(each.name for each in Path(path).glob("*-info")) for path in shared_folders()}
    parts = [
        [*lines],
        [str(each) for each in own_requirements().values()],
        [sys.version, sys.base_prefix, sysconfig.get_platform()],
        [__version__, str(Path(__file__).parents[3])],
        shared,
    ]
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _is_complete(folder: Path, python: Path) -> bool:
    """The marker is written last; the interpreter is a link, which may lead to one that has been removed since."""
    return (folder / _COMPLETE).is_file() and python.exists()


def _places(folder: Path) -> dict[str, str]:
    return {"base": str(folder), "platbase": str(folder)}


def _make(folder: Path, python: Path, lines: Sequence[str]) -> None:
    venv.create(folder, clear=True, symlinks=os.name != "nt")
    packages = Path(sysconfig.get_path("purelib", "venv", _places(folder)))
    calls = "; ".join(f"site.addsitedir({path!r})" for path in shared_folders())
    # Files of this kind are read by name: what an installed one adds comes before what is shared.
    (packages / "zz_shared.pth").write_text(f"import site; {calls}\n", encoding="utf-8")
    asked = write_atomically(folder / "requirements.txt", _text([*lines, *map(str, own_requirements().values())]))
    shared = _shared_packages()
    kept = write_atomically(folder / "shared.txt", _text(_kept(shared, lines)))
    uv = shutil.which("uv")
    if uv is not None:
        command = [uv, "pip", "install", "--python", str(python)]
    else:
        quiet = ["--disable-pip-version-check", "--no-input", "--progress-bar=off"]
        command = [str(python), "-m", "pip", "install", *quiet]
        if find_spec("pip") is None:
            _run([str(python), "-m", "ensurepip"], lines)
    command += ["-r", str(asked)]
    with _shown(shared, packages) if uv is not None else nullcontext():
        try:
            _run([*command, "-c", str(kept)], lines)
        except RuntimeError:
            _run(command, lines)
    write_atomically(folder / _COMPLETE, _text(lines))


def _shared_packages() -> dict[str, metadata.Distribution]:
    """By name; of two the first, which is the one that is imported."""
    found: dict[str, metadata.Distribution] = {}
    for package in metadata.distributions(path=shared_folders()):
        if "Name" in package.metadata and "Version" in package.metadata:  # else its removal was broken off
            found.setdefault(canonicalize_name(package.name), package)
    return found


def _kept(shared: Mapping[str, metadata.Distribution], lines: Iterable[str]) -> Iterator[str]:
    """The versions that are shared, save those that the lines exclude."""
    named: dict[str, Requirement] = {canonicalize_name(each.name): each for each in map(parsed, lines) if each}
    for name, package in shared.items():
        required = named.get(name)
        if required is None or (not required.url and required.specifier.contains(package.version, prereleases=True)):
            yield f"{name}=={package.version}"


def _text(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")


@contextmanager
def _shown(shared: Mapping[str, metadata.Distribution], packages: Path) -> Iterator[None]:
    """uv looks at an environment's own folder alone: the descriptions of what is shared lie there while it installs.

    Each lists no file but its own, so that to replace such a package removes nothing of the running environment.
    """
    for name, package in shared.items():
        info = packages / f"{name.replace('-', '_')}-{package.version}.dist-info"
        info.mkdir()
        description = package.read_text("METADATA") or package.read_text("PKG-INFO") or ""
        (info / "METADATA").write_text(description, encoding="utf-8")
        (info / "INSTALLER").write_text("bsjax\n")
        (info / "RECORD").write_text("".join(f"{info.name}/{file},,\n" for file in ("METADATA", "INSTALLER", "RECORD")))
    yield
    for installer in packages.glob("*.dist-info/INSTALLER"):
        if installer.read_text() == "bsjax\n":
            shutil.rmtree(installer.parent)


def _run(command: Sequence[str], lines: Sequence[str]) -> None:
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=variables,
        check=False,
    )
    if done.returncode:
        said = [line.strip() for line in done.stdout.splitlines() if line.strip()][-_LAST_LINES:]
        tool = command[2] if command[1] == "-m" else "uv"
        raise RuntimeError(f"{tool} cannot install {', '.join(lines)}: " + "\n".join(said))
