"""Common functions of all commands: messages on stderr, the terminal width, columns, and the settings of JAX."""

import os
import shutil
import sys

import typer

from bsjax.core.discovery import one_line


def complain(message: str) -> None:
    """Print a line on stderr, with the name of the program."""
    typer.echo(f"bsjax: {message}", err=True)


def width() -> int | None:
    """Get the width of the terminal in columns; None if stdout is not a terminal, and lines must not be cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def configure_jax() -> None:
    """Set environment variables of JAX, before it is imported; those that the user has set are kept."""
    from bsjax.engine.programs.program_cache import keep_programs_in, programs_dir

    # torch models in the same process also need memory
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    # compiled programs are kept between runs
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        try:
            settings = keep_programs_in(programs_dir())
        except OSError as error:  # not essential: they only make later runs faster
            complain(one_line(error))
            settings = {}
        for name, value in settings.items():
            os.environ.setdefault(name.upper(), str(value))
