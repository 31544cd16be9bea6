"""Registries, which map identifiers to factories of models, benchmarks, metrics and data.

Listing a registry imports nothing. A factory may be given as a string ``"package.module:attribute"``, which is imported
only when it is used, so that listing models does not load their networks. Registrations of plugins are found without
running the plugins (see :mod:`bsjax.core.discovery`), which are also imported on first use.
"""

import difflib
import importlib
from collections.abc import Callable, Collection, Iterable, Iterator, MutableMapping
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from bsjax.core.discovery import Entries, Entry, Factory, Plugin
from bsjax.core.messages import some

REGISTERS_FOR_OTHERS = True


class UnknownIdentifier(KeyError):
    """A ``KeyError`` with a plain message, without the quotes of ``str(KeyError("x"))``.

    Example:
        >>> str(UnknownIdentifier("unknown model 'a'"))
        "unknown model 'a'"
    """

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


def nearest(name: object, known: Iterable[object], n: int = 3) -> list[str]:
    """Find up to ``n`` of the known names that are most similar to a name, best first, ignoring case.

    Example:
        >>> nearest("gabr-V1", ["pixels", "gabor-v1"])
        ['gabor-v1']
    """
    by_lower = {str(key).lower(): str(key) for key in known}
    return [by_lower[key] for key in difflib.get_close_matches(str(name).lower(), by_lower, n=n, cutoff=0.6)]


def hint(name: object, known: Iterable[object]) -> str:
    """What a message says of the known names that are most similar to an unknown one; "" if none is.

    Example:
        >>> hint("gabr-V1", ["pixels", "gabor-v1"])
        '; nearest: gabor-v1'
    """
    near = ", ".join(nearest(name, known))
    return f"; nearest: {near}" if near else ""


class Registry(MutableMapping[str, Factory]):
    """A mapping from identifiers to factories, in order of registration.

    Args:
        kind: kind of entries, in the singular, for messages: "model", "benchmark", "metric".
        listing: the command or call that lists the identifiers, for messages; by default ``bsjax list <kind>s``.
        plugins: name under which plugins use the registry, e.g. ``"model_registry"``; "" if they cannot.
        replaceable: whether running code may replace entries of bsjax, as with a lab's own copy of recordings.

    Example:
        >>> registry = Registry("model")
        >>> registry["pixels"] = lambda: "the model"
        >>> registry.register("root", "math:sqrt", summary="square root")
        >>> registry["pixels"](), registry["root"](4.0)
        ('the model', 2.0)
        >>> registry.match("p*")
        ['pixels']
        >>> registry["pixel"]
        Traceback (most recent call last):
        ...
        bsjax.core.registry.UnknownIdentifier: unknown model 'pixel'; nearest: pixels; see `bsjax list models`
    """

    def __init__(self, kind: str, listing: str | None = None, plugins: str = "", *, replaceable: bool = False) -> None:
        self.kind = kind
        self._listing = listing or f"bsjax list {kind}s"
        self._entries = Entries(kind, plugins, replaceable=replaceable)
        self._sources: dict[str, Entry] = {}
        self._forms: dict[str, str] = {}
        self._tables: list[tuple[Callable[[], Collection[str]] | str, Entry]] = []

    def register(
        self,
        identifier: str,
        factory: Factory | str,
        summary: str = "",
        requires: Iterable[str] = (),
        *,
        row: object = None,
    ) -> None:
        """Register a factory.

        Running code, such as the cell of a notebook, replaces an identifier that running code registered; one of bsjax
        only in a replaceable registry. If a plugin registers a taken identifier, its use raises an error.

        Args:
            identifier: identifier of the entry.
            factory: a callable that builds the object, or ``"package.module:attribute"`` naming one.
            summary: one line for listings; by default the first line of the factory's docstring.
            requires: the extras of bsjax that must be installed, e.g. ``("flax",)``.
            row: first argument of the factory, for a factory that builds several objects.

        Raises:
            ValueError: the identifier is not a non-empty string or is bsjax's own and not replaceable, or the
                factory is neither callable nor a valid string.
        """
        self._entries.add(identifier, self._checked(identifier, factory, summary, requires, row=row))

    def register_source(
        self,
        source: str,
        factory: Factory | str,
        summary: str = "",
        requires: Iterable[str] = (),
        form: str = "NAME@LAYERS",
    ) -> None:
        """Register a factory for all identifiers that begin with ``source:``. It is called with the identifier.

        Listings contain the source, not its identifiers. Such identifiers are never treated as patterns. ``form``
        describes the part after the colon in listings. ``summary``, ``requires`` and errors are as for
        :meth:`register`.

        Example:
            >>> registry = Registry("model")
            >>> registry.register_source("upper", lambda identifier: identifier.upper())
            >>> registry.match("upper:a?b"), registry["upper:a?b"]()
            (['upper:a?b'], 'UPPER:A?B')
            >>> registry["lower:a"]
            Traceback (most recent call last):
            ...
            bsjax.core.registry.UnknownIdentifier: unknown model 'lower:a'; there is no source 'lower', only upper
        """
        self._sources[source] = self._checked(source, factory, summary, requires, takes_identifier=True)
        self._forms[source] = form

    def register_table(
        self,
        identifiers: Callable[[], Collection[str]] | str,
        factory: Factory | str,
        summary: str = "",
        requires: Iterable[str] = (),
    ) -> None:
        """Register a factory for all identifiers of a table. It is called with the identifier.

        Such identifiers are not listed, and do not match patterns. Individually registered identifiers take precedence.
        ``summary``, ``requires`` and errors are as for :meth:`register`.

        Args:
            identifiers: a function that gives the identifiers, or ``"package.module:attribute"`` naming one, which is
                imported when an unregistered identifier is looked up.
            factory: see :meth:`register`.

        Example:
            >>> registry = Registry("model")
            >>> registry.register_table(lambda: ["alexnet", "vgg_16"], lambda identifier: identifier.upper())
            >>> registry["vgg_16"](), list(registry)
            ('VGG_16', [])
            >>> registry["vgg_19"]
            Traceback (most recent call last):
            ...
            bsjax.core.registry.UnknownIdentifier: unknown model 'vgg_19'; nearest: vgg_16; see `bsjax list models`
        """
        entry = self._checked("of a table", factory, summary, requires, takes_identifier=True)
        self._tables.append((identifiers, entry))

    def sources(self) -> dict[str, str]:
        """List the sources, such as ``"timm:NAME@LAYERS"``, with their summaries."""
        return {f"{source}:{self._forms[source]}": _summary(entry) for source, entry in self._sources.items()}

    def is_of_source(self, identifier: object) -> bool:
        """Check whether an identifier belongs to a source or a table, and is not registered individually."""
        return identifier not in self._entries.all() and self._unlisted(identifier) is not None

    def match(self, pattern: str) -> list[str]:
        """Find the identifiers that match a glob (``*``, ``?``, ``[...]``, case-sensitive), in order of registration.

        Raises:
            UnknownIdentifier: nothing matches.
        """
        entries = self._entries.all()
        if pattern in entries or self._unlisted(pattern) is not None:  # an identifier may itself contain brackets
            return [pattern]
        found = [identifier for identifier in entries if fnmatchcase(identifier, pattern)]
        if not found:
            raise self._unknown(pattern)
        return found

    def summary(self, identifier: str) -> str:
        """Get the summary of an entry; "" if none was given and the factory has not been imported."""
        return _summary(self._entry(identifier))

    def requires(self, identifier: str) -> tuple[str, ...]:
        """Get the extras of bsjax that an entry needs, e.g. ``("torch",)``."""
        return self._entry(identifier).requires

    def row(self, identifier: str) -> object:
        """Get the row of an entry; None if it has none."""
        return self._entry(identifier).row

    def plugin_of(self, identifier: str) -> Plugin | None:
        """Get the plugin that registers an identifier; None if bsjax or running code registers it."""
        return self._entry(identifier).plugin

    def is_bsjaxs(self, identifier: str) -> bool:
        """Check whether an identifier is part of bsjax, and not registered by a plugin or by running code.

        Example:
            >>> from bsjax.models import model_registry
            >>> model_registry.is_bsjaxs("pixels"), model_registry.is_bsjaxs("torchvision:resnet18@layer4")
            (True, True)
        """
        return self._entry(identifier).by.startswith("bsjax.") or identifier not in self

    def notes(self) -> list[str]:
        """List problems of plugins that are known without running them, one line each."""
        return self._entries.notes()

    def __getitem__(self, identifier: str) -> Factory:
        entry = self._entry(identifier)
        target = self._entries.target(identifier, entry)
        if isinstance(target, str):
            target = entry.target = self._resolve(identifier, target, entry.requires)
        first = identifier if entry.takes_identifier else entry.row
        return target if first is None else partial(target, first)

    def __setitem__(self, identifier: str, factory: Factory | str) -> None:
        self.register(identifier, factory)

    def __delitem__(self, identifier: str) -> None:
        self._entry(identifier)
        del self._entries.all()[identifier]

    def __contains__(self, identifier: object) -> bool:  # the inherited method would import the factory
        return identifier in self._entries.all()

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries.all())

    def __len__(self) -> int:
        return len(self._entries.all())

    def __repr__(self) -> str:
        return f"<Registry of {self.kind}s: {some(list(self))}>"

    # The inherited comparison would import every factory. A registry equals only itself.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def _checked(
        self, identifier: str, factory: Factory | str, summary: str, requires: Iterable[str], **known: Any
    ) -> Entry:
        if not isinstance(identifier, str) or not identifier:
            raise ValueError(f"the identifier of a {self.kind} must be a non-empty string, got {identifier!r}")
        what = f"{self.kind} {identifier!r}: expected a callable that builds it or 'package.module:attribute'"
        if isinstance(factory, str):
            module, _, attribute = factory.partition(":")
            if not module or not attribute:
                raise ValueError(f"{what}, got {factory!r}")
        elif not callable(factory):
            raise ValueError(f"{what}, got {type(factory).__name__}; wrap what is built already: `lambda: it`")
        return Entry(factory, summary, (requires,) if isinstance(requires, str) else tuple(requires), **known)

    def _unlisted(self, identifier: object) -> Entry | None:
        """The entry of the source or table of an identifier; None if there is none."""
        if not isinstance(identifier, str):
            return None
        source, colon, _ = identifier.partition(":")
        if colon and source in self._sources:
            return self._sources[source]
        return next((entry for known, entry in self._tables if identifier in self._of_table(known)), None)

    def _of_table(self, identifiers: Callable[[], Collection[str]] | str) -> Collection[str]:
        return (self._resolve("of a table", identifiers, ()) if isinstance(identifiers, str) else identifiers)()

    def _entry(self, identifier: str) -> Entry:
        try:
            return self._entries.all()[identifier]
        except (KeyError, TypeError):
            unlisted = self._unlisted(identifier)
            if unlisted is None:
                raise self._unknown(identifier) from None
            return unlisted

    def _unknown(self, identifier: object) -> UnknownIdentifier:
        entries = self._entries.all()
        hints = "".join(f"; {note}" for note in self._entries.notes())
        if not entries and not self._sources and not self._tables:
            return UnknownIdentifier(f"unknown {self.kind} {identifier!r}; no {self.kind} is registered{hints}")
        is_glob = isinstance(identifier, str) and any(character in identifier for character in "*?[")
        stem = str(identifier).translate({ord(c): None for c in "*?[]"}) if is_glob else identifier
        known = [*entries, *(name for identifiers, _ in self._tables for name in self._of_table(identifiers))]
        near = hint(stem, known)
        source, colon, _ = str(identifier).partition(":")
        if colon and self._sources and not near:
            only = ", ".join(self._sources)
            return UnknownIdentifier(f"unknown {self.kind} {identifier!r}; there is no source {source!r}, only {only}")
        what = f"no {self.kind} matches {identifier!r}" if is_glob else f"unknown {self.kind} {identifier!r}"
        if not near and self._entries.lacks_plugins():
            hints += "; if it is a plugin, name the folder that contains it: `bsjax --plugins .`, or $BSJAX_PLUGINS"
        return UnknownIdentifier(f"{what}{near}; see `{self._listing}`{hints}")

    def _resolve(self, identifier: str, target: str, requires: tuple[str, ...]) -> Factory:
        module_name, _, attribute = target.partition(":")
        registered = f"{self.kind} {identifier!r} is registered as {target!r}"
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            missing = error.name or ""
            own = module_name == missing or module_name.startswith(missing + ".")
            if requires and not own:
                raise ModuleNotFoundError(
                    f"{self.kind} {identifier!r} needs {missing}, which is not installed: "
                    f"pip install 'bsjax[{','.join(requires)}]'",
                    name=missing,
                ) from error
            if own:
                raise ValueError(f"{registered}, but there is no module {missing}") from error
            raise
        factory = getattr(module, attribute, None)
        if not callable(factory):
            state = "is not callable" if hasattr(module, attribute) else "does not exist"
            raise ValueError(f"{registered}, but {attribute!r} {state}")
        return factory


def _summary(entry: Entry) -> str:
    if entry.summary or entry.target is None or isinstance(entry.target, str):
        return entry.summary
    if getattr(entry.target, "__name__", "") == "<lambda>":
        return ""
    doc = (getattr(entry.target, "__doc__", None) or "").strip()
    return doc.splitlines()[0] if doc else ""
