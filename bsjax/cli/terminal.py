"""Common ground of all commands: messages on stderr, the width to write in, and the settings of JAX."""

import os
import shutil
import sys

import typer

from bsjax.core.discovery import one_line


def complain(message: str) -> None:
    """One line on stderr, with the name of the program."""
    typer.echo(f"bsjax: {message}", err=True)


def width() -> int | None:
    """Columns of the terminal; None where the output goes elsewhere, and nothing is to be cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def configure_jax() -> None:
    """Settings that have to stand before JAX is imported; what the user has set stays."""
    from bsjax.engine.program_cache import keep_programs_in, programs_dir

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
