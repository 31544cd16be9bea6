"""Common ground of all commands: messages on stderr, the width to write in, and the settings of JAX."""

import os
import shutil
import sys
from collections.abc import Collection, Sequence

import typer

from bsjax.core.discovery import one_line


def complain(message: str) -> None:
    """One line on stderr, with the name of the program."""
    typer.echo(f"bsjax: {message}", err=True)


def width() -> int | None:
    """Columns of the terminal; None where the output goes elsewhere, and nothing is to be cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def in_columns(rows: Sequence[Sequence[str]], left: Collection[int] | None = None) -> list[str]:
    """Rows as lines whose columns are two spaces apart, aligned to the left: all of them, or those of these numbers.

    Example:
        >>> in_columns([["layer", "V1"], ["conv", "0.3"]], left={0})
        ['layer   V1', 'conv   0.3']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if left is None or number in left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def configure_jax() -> None:
    """Settings that have to stand before JAX is imported; what the user has set stays."""
    from bsjax.engine.programs.program_cache import keep_programs_in, programs_dir

    # torch models in the same process need memory too
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    # compiled programs are kept between runs
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        try:
            settings = keep_programs_in(programs_dir())
        except OSError as error:  # they make later runs faster, and nothing else
            complain(one_line(error))
            settings = {}
        for name, value in settings.items():
            os.environ.setdefault(name.upper(), str(value))
