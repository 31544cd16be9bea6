from tests.metrics.conftest import x64

__all__ = ["x64"]
