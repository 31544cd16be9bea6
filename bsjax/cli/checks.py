"""Printing of checklists."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from bsjax.data.publishing.checklist import Check


def print_checks(title: object, checks: Sequence[Check], allowed: Collection[str]) -> tuple[int, int]:
    """Print a title and a line per check; gives the number of failures that are not allowed, and of checks run."""
    typer.echo(str(title))
    for check in checks:
        passed = "skipped" if check.skipped else "ok"
        state = passed if check.passed else "allowed" if check.name in allowed else "FAILED"
        colour = {"ok": typer.colors.GREEN, "FAILED": typer.colors.RED}.get(state)
        typer.echo(f"  {typer.style(f'{state:7}', fg=colour)}  {check.name:11}  {check.asks}")
        for line in (line for words in (*check.problems, check.skipped) for line in words.splitlines()):
            typer.echo(f"           {line}")
    return sum(not check.passed and check.name not in allowed for check in checks), sum(
        not check.skipped for check in checks
    )
