"""Containment of untrusted code: processes with restricted file access, limited resources and no network."""

from bsjax.submission.sandbox.limits import Limits as Limits
from bsjax.submission.sandbox.process import Contained as Contained
from bsjax.submission.sandbox.process import Sandbox as Sandbox
