"""Containment of what strangers hand in: a process that sees little, takes little, and reaches nobody."""

from bsjax.submission.sandbox.limits import Limits as Limits
from bsjax.submission.sandbox.process import Contained as Contained
from bsjax.submission.sandbox.process import Sandbox as Sandbox
