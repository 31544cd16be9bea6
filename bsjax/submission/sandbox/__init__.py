"""Containment of untrusted code: processes with restricted file access, limited resources and no network."""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.submission.sandbox.limits import Limits as Limits
    from bsjax.submission.sandbox.process import Contained as Contained
    from bsjax.submission.sandbox.process import Sandbox as Sandbox

__getattr__, __dir__, __all__ = on_first_use(globals())
