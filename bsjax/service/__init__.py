"""Web service that accepts submissions over a network and shows their progress and results."""

from bsjax.service.app import service
from bsjax.service.limits import Limits

__all__ = ["Limits", "service"]
