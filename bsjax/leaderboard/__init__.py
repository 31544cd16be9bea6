"""The leaderboard: a static website built from a store of results."""

from bsjax.leaderboard.site import Site, build

__all__ = ["Site", "build"]
