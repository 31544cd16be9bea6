"""Printing of checklists."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from bsjax.cli.terminal import width

if TYPE_CHECKING:
    from bsjax.data.publishing.checklist import Check

Allow = Annotated[list[str] | None, typer.Option("--allow", metavar="CHECK", help="A check that may fail; repeatable.")]


def print_checks(title: object, checks: Sequence[Check], allowed: Collection[str]) -> tuple[int, int]:
    """Print a title and a line per check; gives the number of failures that are not allowed, and of checks run."""
    typer.echo(str(title))
    for check in checks:
        passed = "skipped" if check.skipped else "ok"
        state = passed if check.passed else "allowed" if check.name in allowed else "FAILED"
        colour = {"ok": typer.colors.GREEN, "FAILED": typer.colors.RED}.get(state)
        asks = _wrapped(check.asks, 24)
        typer.echo(f"  {typer.style(f'{state:7}', fg=colour)}  {check.name:11}  {asks}")
        for line in (line for words in (*check.problems, check.skipped) for line in words.splitlines()):
            typer.echo(f"           {_wrapped(line, 11)}")
    return sum(not check.passed and check.name not in allowed for check in checks), sum(
        not check.skipped for check in checks
    )


def _wrapped(text: str, indent: int) -> str:
    """Text that begins in the column ``indent``, with its lines cut at words where a terminal ends."""
    columns = width()
    if columns is None or indent + len(text) <= columns:
        return text
    return f"\n{'':{indent}}".join(textwrap.wrap(text, max(20, columns - indent), break_long_words=False))
