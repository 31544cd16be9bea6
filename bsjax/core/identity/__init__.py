"""Identity of everything that determines a result: weights, code, the values that code uses, and the files it opens.

:func:`~bsjax.core.identity.values.identity_of` captures what is known before anything runs, and
:func:`~bsjax.core.identity.opened.following` what is read at run time.
"""
