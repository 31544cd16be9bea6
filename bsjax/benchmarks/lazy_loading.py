"""Lazy loading of data."""

from collections.abc import Callable, Iterator
from threading import RLock
from typing import Any, cast
from weakref import WeakKeyDictionary, ref

_made: WeakKeyDictionary[Callable[[], Any], Callable[[], Any]] = WeakKeyDictionary()


class LazyLoad:
    """Placeholder for the result of a function, called once at first use; like Brain-Score's class of this name.

    Attributes, items, length, iteration and calls are those of the content, and ``isinstance`` sees its type.

    Args:
        load: function without arguments.

    Example:
        >>> stimuli = LazyLoad(lambda: print("loading") or ["a", "b"])
        >>> len(stimuli)
        loading
        2
        >>> stimuli[1], isinstance(stimuli, list)
        ('b', True)
    """

    def __init__(self, load: Callable[[], Any]) -> None:
        object.__setattr__(self, "_lazy_load", load)
        object.__setattr__(self, "_lazy_lock", RLock())

    @property
    def __class__(self) -> type:
        return type(content_of(self))

    @__class__.setter
    def __class__(self, value: type) -> None:
        raise TypeError("the class of a LazyLoad is that of its content")

    def __getattr__(self, name: str) -> Any:
        return getattr(content_of(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(content_of(self), name, value)

    def __getitem__(self, key: Any) -> Any:
        return content_of(self)[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        content_of(self)[key] = value

    def __len__(self) -> int:
        return len(content_of(self))

    def __iter__(self) -> Iterator[Any]:
        return iter(content_of(self))

    def __contains__(self, item: Any) -> bool:
        return item in content_of(self)

    def __bool__(self) -> bool:
        return bool(content_of(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return content_of(self)(*args, **kwargs)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return content_of(self).__array__(*args, **kwargs)

    def __repr__(self) -> str:
        loaded = object.__getattribute__(self, "__dict__").get("_lazy_content")
        return "LazyLoad(not loaded yet)" if loaded is None else repr(loaded[0])


def content_of(given: Any) -> Any:
    """The content of a :class:`LazyLoad`; any other object is returned unchanged.

    Example:
        >>> content_of(LazyLoad(lambda: 3)), content_of(3)
        (3, 3)
    """
    if type(given) is not LazyLoad:
        return given
    own = object.__getattribute__(given, "__dict__")
    with own["_lazy_lock"]:  # several threads load only once
        if "_lazy_content" not in own:
            own["_lazy_content"] = (own["_lazy_load"](),)
            own["_lazy_load"] = None  # frees the objects that the function refers to
    return own["_lazy_content"][0]


def loader(given: Any) -> Callable[[], Any]:
    """Turn ``given``, a :class:`LazyLoad`, a function or an object, into a function that returns its content.

    A function that is given is called only once, also if it is given to several, such as a benchmark and its ceiling,
    as long as one of them lives.

    Example:
        >>> loader(lambda: 3)(), loader(3)()
        (3, 3)
    """
    if type(given) is LazyLoad:
        return lambda: content_of(given)
    if callable(given):
        lazy = _shared(cast("Callable[[], Any]", given))
        return lambda: content_of(lazy)
    return lambda: given


def _shared(load: Callable[[], Any]) -> LazyLoad:
    """The placeholder that was made for this function; a new one if there is none, or its content is in no use."""
    try:
        known = _made.get(load, lambda: None)()
        if known is None:
            known = LazyLoad(load)
            _made[load] = ref(known)
        return known
    except TypeError:  # a callable object that cannot be a key
        return LazyLoad(load)
