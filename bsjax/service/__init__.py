"""Web service that accepts submissions over a network and shows their progress and results."""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.service.app import service as service
    from bsjax.service.limits import Limits as Limits

__getattr__, __dir__, __all__ = on_first_use(globals())
