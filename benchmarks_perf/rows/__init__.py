"""What is measured: one file a family of metrics."""

from .predictivity import ROWS, Row, measure

__all__ = ["ROWS", "Row", "measure"]
