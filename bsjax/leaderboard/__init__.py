"""The leaderboard: a site of static files from a store of results."""

from bsjax.leaderboard.site import Site, build

__all__ = ["Site", "build"]
