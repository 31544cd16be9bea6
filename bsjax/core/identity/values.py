"""Digests of Python values by content, which are equal in every process and differ if anything relevant differs.

They are the keys of stored results. In case of doubt digests differ: this only causes a recomputation, whereas equal
digests of different values would give wrong results.
"""

import copyreg
import enum
import hashlib
import logging
import os
import struct
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import PurePath
from types import (
    BuiltinFunctionType,
    FunctionType,
    MappingProxyType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any, TypeVar

from bsjax.core.digests.arrays import Undigestible, array_digest
from bsjax.core.identity.code import (
    PYTHON,
    Named,
    class_content,
    distribution_of,
    function_content,
    module_content,
    named,
)
from bsjax.core.identity.patched import patched

_FORMAT = b"bsjax 2"
# Types that do not affect any result.
_IDLE = (logging.Logger, type(threading.Lock()), type(threading.RLock()), TypeVar)
_MOST_PARTS = 2_000_000
Instead = Callable[[Any], Any]


def identity_of(value: object, instead: Instead | None = None) -> str:
    """Compute the identity of a value by its content, 32 hexadecimal digits.

    It is the same in every process, on every machine and every Python version: it does not depend on addresses, hashes
    or the order of sets. Types matter: ``1``, ``1.0`` and ``True`` differ. The order of a dict also matters.

    - Arrays (NumPy, JAX, torch): dtype, shape and elements, regardless of library and device.
    - Functions and classes of an installed distribution: name and version. Those of bsjax: only the name, see
      :func:`~bsjax.core.identity.source.own_source`. The user's own: source, defaults, closures, and everything outside
      that they name, followed through modules; names that are constructed at run time are not followed.
    - Patches of functions, methods or classes in the distributions that occur, except for the standard library, see
      :mod:`bsjax.core.identity.patched`.
    - Other objects: their class, and the state by which they would be copied. Paths: only the path, since the content
      is noted when it is read. Loggers and locks: only their presence.

    Files and environment variables that code reads at run time are not included; they are tracked by
    :func:`~bsjax.core.identity.opened.following`.

    Args:
        value: any value.
        instead: called with each part of the value; returns the part, or a replacement to digest.

    Raises:
        Undigestible: the content of a part cannot be determined, e.g. of an open file, a generator, or an object
            implemented in C without accessible state; the message names it.

    Example:
        >>> scale = 2.0
        >>> before = identity_of([lambda image: image * scale, {"size": 224}])
        >>> before == identity_of([lambda picture: picture * scale, {"size": 224}])
        False
        >>> identity_of({1, 2, 3}) == identity_of({3, 2, 1}), identity_of((1,)) == identity_of((1.0,))
        (True, False)
        >>> identity_of(n for n in range(3))
        Traceback (most recent call last):
        ...
        bsjax.core.digests.arrays.Undigestible: nothing vouches for the content of a generator
    """
    try:
        walk = _Walk(instead)
        return _joined("value", [walk.of(value), walk.of_what_is_patched()]).hex()
    except RecursionError:
        raise Undigestible(f"the parts of a {type(value).__name__} are nested too deeply to take a digest of") from None


class _Walk:
    """A traversal of a value and everything that it refers to.

    A reference to an enclosing object is represented by the number of levels up. Digests of objects without such
    references are cached. Own functions and classes can refer to each other in cycles, so they are numbered in order of
    occurrence from the first one.
    """

    def __init__(self, instead: Instead | None) -> None:
        self._instead = instead
        self._above: dict[int, int] = {}  # id -> depth of the enclosing objects
        self._highest = 0  # the smallest depth of any reference
        self._done: dict[int, tuple[Any, bytes]] = {}  # includes the objects, so that their ids are not reused
        self._code: dict[int, int] | None = None
        self._distributions: set[str] = set()
        self._trail: list[str] = []
        self._n_parts = 0

    def of(self, value: Any) -> bytes:
        leaf = _leaf(value)
        if leaf is not None:
            if isinstance(value, Named):
                self._distributions.add(value.distribution)
            return leaf
        key = id(value)
        if key in self._done:
            return self._done[key][1]
        depth = len(self._above)
        if key in self._above:
            self._highest = min(self._highest, self._above[key])
            return _joined("above", [str(depth - self._above[key]).encode()])
        self._n_parts += 1
        if self._n_parts > _MOST_PARTS:
            raise self._refused(value, "its parts refer to each other too often")
        outer, self._highest = self._highest, depth
        self._above[key] = depth
        try:
            digest = self._content(value)
        finally:
            del self._above[key]
        if self._highest >= depth:
            self._done[key] = value, digest
        self._highest = min(outer, self._highest)
        return digest

    def of_what_is_patched(self) -> bytes:
        """The digest of patches of the distributions that occurred."""
        digests, known = [], {PYTHON}
        while left := self._distributions - known:  # a patch may use further distributions
            known |= left
            digests.append(self.of(patched(left)))
        return _joined("patched", digests)

    def _content(self, value: Any) -> bytes:
        if self._instead is not None and (other := self._instead(value)) is not value:
            return self.of(other)
        try:
            array = array_digest(value)
        except Undigestible as error:
            raise self._refused(value, str(error)) from None
        if array is not None:
            return _joined("array", [array])
        kind: Any = type(value)
        if kind in (list, tuple):
            return _joined(kind.__name__, map(self.of, [*value]))
        if kind in (dict, MappingProxyType):
            return self._mapping("dict", value)
        if kind in (set, frozenset):
            return _joined("set", sorted(map(self.of, [*value])))
        if isinstance(value, enum.Enum):
            return _joined("enum", [self.of(kind), self.of(value.name)])
        if kind is partial:
            return _joined("partial", [self.of((value.func, value.args, sorted(value.keywords.items())))])
        if kind in (staticmethod, classmethod, MethodType):
            owner = [self.of(value.__self__)] if kind is MethodType else []
            return _joined(str(kind.__name__), [self.of(value.__func__), *owner])
        if kind is property:
            return _joined("property", [self.of(value.fget)])
        if isinstance(value, weakref.ReferenceType):
            return _joined("weak", [self.of(value())])
        if isinstance(value, (type, FunctionType, ModuleType)):
            return self._of_code(value)
        return self._of_object(value)

    def _mapping(self, kind: str, value: Any) -> bytes:
        parts = []
        for key, part in [*value.items()]:  # copied, as another thread may add items
            with self._inside(repr(key) if isinstance(key, (str, int)) else type(key).__name__):
                parts += [self.of(key), self.of(part)]
        return _joined(kind, parts)

    def _of_code(self, value: type | FunctionType | ModuleType) -> bytes:
        known = module_content(value) if isinstance(value, ModuleType) else named(value)
        if isinstance(known, Named):
            return self.of(known)
        if self._code is None:  # numbered from the start, so that its digest does not depend on the context
            outer, self._code, self._done = self._done, {}, {}
            try:
                return self._numbered(value)
            finally:
                self._code, self._done = None, outer
        return self._numbered(value)

    def _numbered(self, value: Any) -> bytes:
        numbers = self._code if self._code is not None else {}
        if id(value) in numbers:
            return _joined("seen", [str(numbers[id(value)]).encode()])
        numbers[id(value)] = len(numbers)
        kind = "class" if isinstance(value, type) else type(value).__name__
        with self._inside(f"{kind} {value.__name__}"):
            if isinstance(value, type):
                return _joined(kind, [self.of(value.__name__), self._mapping(kind, class_content(value))])
            if isinstance(value, FunctionType):
                return self._mapping(kind, function_content(value))
            return _joined(kind, [self.of(module_content(value))])

    def _of_object(self, value: Any) -> bytes:
        kind: Any = type(value)
        known = named(value)
        if known is not None:
            return self.of(known)
        if kind in (BuiltinFunctionType, MethodWrapperType):
            return _joined("built-in", [self.of(value.__name__), self.of(value.__self__)])
        if kind.__name__.endswith("_descriptor") and kind.__module__ == "builtins":
            return _joined("descriptor", [self.of(value.__objclass__), self.of(value.__name__)])
        if _wraps(value):
            return _joined("wrapper", [self.of(kind.__name__), self.of(value.__wrapped__)])
        try:
            reduce = copyreg.dispatch_table.get(kind)
            reduced: Any = kind.__reduce_ex__(value, 4) if reduce is None else reduce(value)
        except RecursionError:
            raise
        except Exception:  # the class does not support copying
            raise self._refused(value) from None
        if isinstance(reduced, str):  # the name of a global
            known = named(value, reduced)
            if known is None:
                raise self._refused(value)
            return self.of(known)
        with self._inside(f"a {kind.__name__}"):
            make, arguments, state, elements, items = (*reduced, None, None, None)[:5]
            parts = [make, arguments, _sorted_state(state), [*(elements or ())], [*(items or ())]]
            return _joined("object", map(self.of, parts))

    def _refused(self, value: Any, why: str = "") -> Undigestible:
        where = ", of ".join(reversed(self._trail))
        named = f"nothing vouches for the content of a {type(value).__name__}" + (f" ({where})" if where else "")
        return Undigestible(f"{named}: {why}" if why else named)

    @contextmanager
    def _inside(self, name: str) -> Iterator[None]:
        self._trail.append(name)
        yield
        self._trail.pop()  # not needed after an error, whose message is already made


def _wraps(value: Any) -> bool:
    """Whether a value is a function in a wrapper implemented in C, such as by ``functools.cache`` or ``jax.jit``."""
    kind = type(value)
    return (
        hasattr(value, "__wrapped__")
        and not isinstance(kind.__init__, FunctionType)
        and bool(distribution_of(kind.__module__))
    )


def _sorted_state(state: Any) -> Any:
    """The state with attributes sorted by name, since the order of assignment does not matter."""
    if type(state) is dict and all(isinstance(name, str) for name in state):
        return dict(sorted(state.items()))
    if type(state) is tuple and len(state) == 2:  # attributes, and slots
        return tuple(_sorted_state(part) for part in state)
    return state


def _joined(kind: str, parts: Iterable[bytes] = ()) -> bytes:
    """The digest of a kind and its parts."""
    running = hashlib.sha256(_FORMAT)
    for part in (kind.encode(), *parts):
        running.update(len(part).to_bytes(8, "little"))
        running.update(part)
    return running.digest()[:16]


def _leaf(value: Any) -> bytes | None:
    """The digest of a value without parts; None for others."""
    kind = type(value)
    if value is None or value is Ellipsis or value is NotImplemented or kind in (bool, int):
        return _joined(kind.__name__, [str(value).encode()])
    if kind is str:
        return _joined("str", [value.encode("utf-8", "surrogatepass")])
    if kind in (bytes, bytearray, memoryview):
        return _joined("bytes", [bytes(value)])
    if kind in (float, complex):
        return _joined(kind.__name__, [struct.pack("<dd", value.real, value.imag)])
    if isinstance(value, PurePath):
        return _joined("path", [os.path.abspath(value).encode("utf-8", "surrogateescape")])
    if isinstance(value, _IDLE):
        return _joined("idle", [kind.__name__.encode()])
    if isinstance(value, Named):
        return _joined("named", [part.encode() for part in value])
    return None
