"""Isolation: a job in a separate process, in an environment with the packages that its plugins require."""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.scoring.isolation.process import isolated_score as isolated_score

__getattr__, __dir__, __all__ = on_first_use(globals())
