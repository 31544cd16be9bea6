"""Authoring of plugins: a folder to start from, and the checklist for its submission."""

from bsjax.submission.checklist import check_plugins as check_plugins
from bsjax.submission.record import record_plugins as record_plugins
from bsjax.submission.skeletons import KINDS as KINDS
from bsjax.submission.skeletons import VARIANTS as VARIANTS
from bsjax.submission.skeletons import write_skeleton as write_skeleton
from bsjax.submission.skeletons import write_workflow as write_workflow
