"""The service that takes submissions over a network, and shows what became of them."""

from bsjax.service.app import service
from bsjax.service.limits import Limits

__all__ = ["Limits", "service"]
