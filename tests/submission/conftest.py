"""Plugins written for a test, and stores of results."""

from tests.results.conftest import database, new_schema, place, postgres, store
from tests.support.plugin_fixtures import plugin, search

__all__ = ["database", "new_schema", "place", "plugin", "postgres", "search", "store"]

# Code of others, which is to run as plugins alone: as tests they would register with this process.
collect_ignore = ["tutorials"]
