"""Submissions: plugin skeletons, the checklist, and the processing of submitted plugins."""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.submission.checks.checklist import check_plugins as check_plugins
    from bsjax.submission.checks.record import record_plugins as record_plugins
    from bsjax.submission.skeletons import KINDS as KINDS
    from bsjax.submission.skeletons import VARIANTS as VARIANTS
    from bsjax.submission.skeletons import write_skeleton as write_skeleton
    from bsjax.submission.skeletons import write_workflow as write_workflow

__getattr__, __dir__, __all__ = on_first_use(globals())
