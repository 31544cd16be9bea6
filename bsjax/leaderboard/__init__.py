"""The leaderboard: a static website built from a store of results."""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.leaderboard.site import Site as Site
    from bsjax.leaderboard.site import build as build

__getattr__, __dir__, __all__ = on_first_use(globals())
