"""What produced a number: weights, code, the values that code reads, and the files that were opened on the way.

:func:`~bsjax.core.identity.values.identity_of` tells what is there before anything runs;
:func:`~bsjax.core.identity.opened.following` what is read while it runs.
"""
