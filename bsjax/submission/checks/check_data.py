"""The checklist for data: their registration and their content."""

import ast
import re
from pathlib import Path
from typing import Any

import pandas as pd

from bsjax.core.left_behind import files_in
from bsjax.data import data_registry, stimulus_set_registry
from bsjax.data.publishing.checklist import Check, check_assembly, check_stimulus_set
from bsjax.submission.checks.attempt import attempt, check

_FROM_S3 = {
    "load_assembly_from_s3": {"identifier", "version_id", "sha1", "bucket", "cls"},
    "load_stimulus_set_from_s3": {"identifier", "bucket", "csv_sha1", "zip_sha1", "csv_version_id", "zip_version_id"},
}
_SHA1 = re.compile(r"[0-9a-f]{40}")


def check_data(identifier: str) -> list[Check]:
    """Load an assembly and run the checklist of :func:`bsjax.data.check_assembly`."""
    loaded, problem = attempt(lambda: data_registry[identifier]())
    checks = [check("loads", "the data load", problem)]
    if problem:
        return checks
    more, problem = attempt(lambda: check_assembly(loaded, identifier, type(loaded).__name__))
    return [*checks, *(more or [check("class", "they are an assembly", problem)])]


def check_stimuli(identifier: str) -> list[Check]:
    """Load a stimulus set and run the checklist of :func:`bsjax.data.check_stimulus_set`."""
    loaded, problem = attempt(lambda: stimulus_set_registry[identifier]())
    if not problem and not isinstance(loaded, pd.DataFrame):
        problem = f"got a {type(loaded).__name__}: return a bsjax.StimulusSet"
    checks = [check("loads", "the stimuli load", problem)]
    return checks if problem else [*checks, *check_stimulus_set(loaded, identifier)]


def check_registrations(folder: Path) -> list[Check]:
    """Check that data on S3 are registered with everything needed to find and verify them.

    The code is parsed, not run, and nothing is downloaded. Plugins without data on S3 get no item.
    """
    problems, calls = [], 0
    for path in files_in(folder, "*.py"):
        tree, problem = attempt(lambda path=path: ast.parse(path.read_bytes()))
        if problem:
            continue  # reported by another check
        for node in ast.walk(tree):
            name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            if isinstance(node, ast.Call) and name in _FROM_S3:
                calls += 1
                problems += [f"{path.name} line {node.lineno}: {each}" for each in _of_call(node, _FROM_S3[name])]
    asks = "data from S3 are registered with bucket, versions and SHA-1 digests"
    return [check("sha1", asks, *problems)] if calls else []


def _of_call(node: ast.Call, needed: set[str]) -> list[str]:
    given: dict[str | None, Any] = {keyword.arg: keyword.value for keyword in node.keywords}
    if node.args or None in given:
        return []  # positional and unpacked arguments are left to the loader
    lacking = sorted(needed - given.keys())
    problems = [f"no {', '.join(lacking)}: take the registration that `bsjax data upload` prints"] if lacking else []
    for name in sorted(needed & given.keys()):
        value = given[name]
        if name.endswith("sha1") and isinstance(value, ast.Constant) and not _SHA1.fullmatch(str(value.value)):
            problems.append(f"{name} is {value.value!r}, which is no SHA-1 digest: 40 hexadecimal digits")
    return problems
