"""What is measured: a table of metrics beside their peers."""

from .measure import measured_in_full
from .table import TABLE, Row

__all__ = ["TABLE", "Row", "measured_in_full"]
