"""Environments of submissions, installed in a sandbox that sees no private files and reaches only the package index.

Requirements files are also parsed in the sandbox, as they may refer to any file, and packages that are built from
source run their code there.
"""

import json
import sys
from contextlib import nullcontext
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import msgspec

from bsjax.core.discovery import one_line, plugins_under
from bsjax.scoring.isolation.environment import environment
from bsjax.scoring.isolation.requirements import requirements_of
from bsjax.submission.sandbox import Contained, Limits, Sandbox
from bsjax.submission.sandbox.index import Index, reachable

_MOST = 1 << 20


class Environment(msgspec.Struct):
    """The environment in which a submission runs.

    Attributes:
        python: path of the interpreter.
        versions: installed packages and their versions.
        error: why the installation failed; "" if it succeeded.
    """

    python: str
    versions: dict[str, str]
    error: str = ""


class Installed(NamedTuple):
    """The outcome of an installation.

    Attributes:
        environment: the environment; None if the installation failed.
        reason: why it failed.
        process: the process that installed, with its log.
    """

    environment: Environment | None
    reason: str
    process: Contained


def install(submission: Path, folder: Path, limits: Limits, index: Index | None = None) -> Installed:
    """Install the requirements of a submission's plugins.

    Args:
        submission: the folder of its plugins.
        folder: the target folder, used by this submission alone.
        limits: the resource limits of the installation.
        index: the package index; by default that of the setting.

    Raises:
        ValueError: no index is set.
    """
    index = index or Index.of_setting()
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", __name__, str(submission), str(folder)]
    with reachable(index) if index.hosts else nullcontext() as socket:
        readable = [submission, *index.folders]
        if socket is not None:
            readable.append(socket)
            command = [sys.executable, "-m", "bsjax.submission.sandbox.index", str(socket), *command]
        variables = {"BSJAX_HOME": str(folder), **index.variables("{proxy}")}
        sandbox = Sandbox(tuple(readable), (folder,), variables, limits)
        with sandbox.start(command) as process:
            said = process.stdout.read(_MOST)
            process.wait()
    if process.reason:
        return Installed(None, process.reason, process)
    try:
        made = msgspec.json.decode(said.splitlines()[-1] if said else b"", type=Environment)
    except msgspec.DecodeError as error:
        return Installed(None, f"the installation said nothing that can be read ({error})", process)
    return Installed(None if made.error else made, made.error, process)


def _main(submission: str, folder: str) -> None:
    """Install the requirements inside the sandbox and print the environment as JSON."""
    try:
        lines = [line for plugin in plugins_under(Path(submission)) for line in requirements_of(plugin)]
        python = environment(list(dict.fromkeys(lines))) if lines else Path(sys.executable)
        packages = [str(path) for path in Path(folder).glob("environments/*/lib/python*/site-packages")]
        found = metadata.distributions(path=packages)
        made = Environment(str(python), {package.name: package.version for package in found})
    except Exception as error:  # the trusted side learns of the failure only from this line
        sys.stderr.write(f"{error}\n")
        made = Environment("", {}, one_line(error))
    sys.stdout.write(json.dumps(msgspec.to_builtins(made)) + "\n")


if __name__ == "__main__":
    _main(*sys.argv[1:])
