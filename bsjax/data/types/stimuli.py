"""Stimulus sets: one stimulus per row, with the path of its file."""

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, Self

import pandas as pd

# The readers are looked up by their public names when needed, because types do not depend on files.
from bsjax import data
from bsjax.core.messages import some
from bsjax.core.registry import UnknownIdentifier, hint

# Attribute names in Brain-Score's tutorials -> the actual attributes.
_TUTORIAL_NAMES = {"name": "identifier", "image_paths": "stimulus_paths"}


class StimulusSet(pd.DataFrame):
    """A table of stimuli with a column ``stimulus_id``, and the paths of their files.

    Args:
        data: anything that a DataFrame is made from: a list of rows as dicts, a DataFrame, or another stimulus set
            (whose identifier and paths are inherited).
        identifier: name of the set.
        stimulus_paths: stimulus id -> path of its file.
        options: passed to ``pandas.DataFrame``.

    Attributes:
        identifier: name of the set, or None.
        stimulus_paths: stimulus id -> ``Path``. It may hold more ids than the set has rows, for example after a
            selection.

    Both attributes are kept by the selection of rows, ``copy()``, pickling, ``merge`` and ``pandas.concat``.

    Example:
        >>> rows = [{"stimulus_id": "a", "object_name": "dog"}, {"stimulus_id": "b", "object_name": "car"}]
        >>> stimuli = StimulusSet(rows, identifier="two", stimulus_paths={"a": "a.png", "b": "b.png"})
        >>> dogs = stimuli[stimuli["object_name"] == "dog"]
        >>> dogs.identifier, len(dogs), dogs.get_stimulus("a").name
        ('two', 1, 'a.png')
    """

    _metadata = ["identifier", "stimulus_paths"]  # attributes that pandas passes on to a selection

    identifier: str | None
    stimulus_paths: dict[Hashable, Path]

    def __init__(
        self,
        data: Any = None,
        *options: Any,
        identifier: str | None = None,
        stimulus_paths: Mapping[Any, str | Path] | None = None,
        **named_options: Any,
    ) -> None:
        super().__init__(data, *options, **named_options)
        inherited = data if isinstance(data, StimulusSet) else None
        self.identifier = identifier if identifier is not None or inherited is None else inherited.identifier
        if stimulus_paths is None and inherited is not None:
            stimulus_paths = inherited.stimulus_paths
        self.stimulus_paths = {key: Path(path) for key, path in (stimulus_paths or {}).items()}

    @property
    def _constructor(self) -> type["StimulusSet"]:
        return StimulusSet

    @classmethod
    def from_files(cls, csv_path: str | Path, dir_path: str | Path, exact: bool = True) -> Self:
        """Read a stimulus set, as ``bsjax.data.read_stimulus_set`` does.

        Args:
            csv_path: the table.
            dir_path: the folder of the stimuli's files.
            exact: whether to refuse files in the folder that belong to no stimulus, and repeated ids.

        Raises:
            FileNotFoundError: the table, the folder, or the file of a stimulus is missing.
            ValueError: the table is invalid, or does not match the folder.
        """
        return cls(data.read_stimulus_set(csv_path, dir_path, exact=exact))

    # pandas declares this final, but offers no other hook to find the sources of a joined table.
    def __finalize__(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, other: Any, method: str | None = None, **kwargs: Any
    ) -> Self:
        super().__finalize__(other, method=method, **kwargs)
        # Joined sets combine their paths; pandas would drop them.
        sources = getattr(other, "input_objs", None) or getattr(other, "objs", ())
        joined = [source for source in sources if isinstance(source, StimulusSet)]
        if joined:
            paths: dict[Hashable, Path] = {}
            for source in joined:
                more = source.stimulus_paths
                differ = [each for each in paths.keys() & more.keys() if Path(paths[each]) != Path(more[each])]
                # The rows of both remain; a merge, which joins rows, takes the files of its left side.
                if differ and len(self) == sum(map(len, joined)):
                    raise ValueError(
                        f"stimulus sets that are joined give different files to stimulus_id {some(differ)}"
                    )
                paths = {**more, **paths}
            identifiers = {source.identifier for source in joined}
            self.stimulus_paths = paths
            self.identifier = identifiers.pop() if len(identifiers) == 1 else None
        else:  # an own copy, so that changes to a selection do not affect the whole set
            self.stimulus_paths = dict(self.stimulus_paths)
        return self

    # Also declared final, but a property would hide a column of that name.
    def __setattr__(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, name: str, value: Any
    ) -> None:
        # A column of either name takes precedence, as for any other table.
        if name in _TUTORIAL_NAMES and name not in self.columns:
            name = _TUTORIAL_NAMES[name]
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        if name in _TUTORIAL_NAMES and name not in self.columns:
            return getattr(self, _TUTORIAL_NAMES[name])
        return super().__getattr__(name)

    def get_stimulus(self, stimulus_id: Any) -> Path:
        """The path of a stimulus' file.

        Raises:
            KeyError: no path is known for this id; the message has the nearest ids.
        """
        try:
            return Path(self.stimulus_paths[stimulus_id])
        except (KeyError, TypeError):
            raise UnknownIdentifier(
                f"no path for stimulus {stimulus_id!r} in stimulus set {self.identifier!r} with "
                f"{len(self.stimulus_paths)} paths{hint(stimulus_id, self.stimulus_paths)}"
            ) from None

    def problems(self) -> list[str]:
        """Violations of the data standard, one line each; empty if there are none."""
        if "stimulus_id" not in self.columns:
            return [f"no column 'stimulus_id' (columns present: {some(self.columns) or 'none'})"]
        problems = []
        ids = pd.Index(self["stimulus_id"])
        if not len(ids):
            problems.append("it has no rows")
        problems += id_problems(ids)
        unique = ids.dropna().unique()
        without = [stimulus_id for stimulus_id in unique if stimulus_id not in self.stimulus_paths]
        if without:
            problems.append(f"stimulus_paths lacks {some(without)}")
        paths = [self.stimulus_paths[stimulus_id] for stimulus_id in unique if stimulus_id in self.stimulus_paths]
        absent = [path for path in paths if not Path(path).is_file()]
        if absent:
            problems.append(f"no such file: {some(absent)}")
        return problems

    def validate(self) -> None:
        """Verify the data standard: a column ``stimulus_id`` of unique ids, and an existing file for each.

        Raises:
            ValueError: the set violates it; one message lists all problems.
        """
        problems = self.problems()
        if problems:
            name = f" {self.identifier!r}" if self.identifier else ""
            raise ValueError(f"not a valid stimulus set{name}: " + "; ".join(problems))


def id_problems(ids: pd.Index, unique: bool = True) -> list[str]:
    """Problems of stimulus ids that are missing or, if they should be unique, repeated.

    Example:
        >>> id_problems(pd.Index(["a", None]))
        ['stimulus_id is missing in 1 of 2 rows: fill it in']
    """
    missing = int(ids.isna().sum())
    problems = [f"stimulus_id is missing in {missing} of {len(ids)} rows: fill it in"] if missing else []
    ids = ids.dropna()
    repeated = ids[ids.duplicated()].unique() if unique else []
    if len(repeated):
        problems.append(f"stimulus_id repeats {some(repeated)}: give each stimulus an id of its own")
    return problems
