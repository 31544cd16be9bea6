"""Python environments for plugins: the packages that they require, on top of the running environment."""

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
    """The folders of installed packages on this process's import path, in order.

    Example:
        >>> len(shared_folders()) > 0
        True
    """
    return [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]


def environment(lines: Sequence[str]) -> Path:
    """The interpreter of an environment with the required packages; the environment is made if there is none yet.

    The environment holds only packages that the running one lacks or has in an unsuitable version. All others are
    shared, so that neither JAX nor torch is installed again: a ``.pth`` file appends the running environment's package
    folders to its path. (``--system-site-packages`` would append those of the base interpreter, which differ if bsjax
    runs in a virtual environment.) The installer treats shared packages as installed. It also gets bsjax's own
    requirements, so that its choices suit bsjax too. It first tries to keep all shared versions, and replaces some
    only if that fails.

    The environment is stored in ``environments`` in bsjax's cache folder, under a digest of the lines, bsjax's
    requirements, Python, bsjax and the shared versions. If one of these changes, a new environment is made. The folder
    may be deleted at any time. One process makes an environment while others wait; an incomplete one is made again.

    Args:
        lines: as in ``requirements.txt``.

    Raises:
        RuntimeError: the packages cannot be installed; the message has the last lines of uv, or of pip if there is no
            uv.
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
    """Whether the marker, which is written last, and the interpreter exist; its link may be broken."""
    return (folder / _COMPLETE).is_file() and python.exists()


def _places(folder: Path) -> dict[str, str]:
    return {"base": str(folder), "platbase": str(folder)}


def _make(folder: Path, python: Path, lines: Sequence[str]) -> None:
    venv.create(folder, clear=True, symlinks=os.name != "nt")
    packages = Path(sysconfig.get_path("purelib", "venv", _places(folder)))
    calls = "; ".join(f"site.addsitedir({path!r})" for path in shared_folders())
    # Python reads .pth files in the order of their names, so installed ones take precedence over shared folders.
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
    """The shared packages by name; of duplicates the first, which is the one that is imported."""
    found: dict[str, metadata.Distribution] = {}
    for package in metadata.distributions(path=shared_folders()):
        if "Name" in package.metadata and "Version" in package.metadata:  # otherwise its removal was interrupted
            found.setdefault(canonicalize_name(package.name), package)
    return found


def _kept(shared: Mapping[str, metadata.Distribution], lines: Iterable[str]) -> Iterator[str]:
    """The shared versions, except those that the lines exclude."""
    named: dict[str, Requirement] = {canonicalize_name(each.name): each for each in map(parsed, lines) if each}
    for name, package in shared.items():
        required = named.get(name)
        if required is None or (not required.url and required.specifier.contains(package.version, prereleases=True)):
            yield f"{name}=={package.version}"


def _text(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")


@contextmanager
def _shown(shared: Mapping[str, metadata.Distribution], packages: Path) -> Iterator[None]:
    """Copy descriptions of shared packages into the environment while uv installs, as uv looks nowhere else.

    Each description lists no files but its own, so that replacing such a package removes nothing from the running
    environment.
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
