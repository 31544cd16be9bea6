from tests.support.plugin_fixtures import plugin, search

__all__ = ["plugin", "search"]
