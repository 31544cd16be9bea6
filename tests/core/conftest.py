from tests.submission.conftest import plugin, search

__all__ = ["plugin", "search"]
