"""Result of a layer choice: the scores by layer, the chosen layers, and the certainty of the choice."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from bsjax.core.files import write_atomically
from bsjax.core.version import __version__
from bsjax.models import ModelCommitment

if TYPE_CHECKING:
    from bsjax.inference.calibration import Maximum
    from bsjax.labelled import Score

_DIGITS = 4


@dataclass(frozen=True)
class RegionChoice:
    """The layer chosen for one region.

    Attributes:
        region: its name, e.g. "V4".
        benchmark: identifier of the benchmark by which it was chosen.
        layer: the layer with the highest ceiled score.
        scores: layer -> its ceiled score, in the order of the model's computation; ``scores[layer].unceiled.raw`` has
            the value of every split and neuroid, if the metric gives these.
        runner_up: the layer with the second highest score; None if there is none.
        margin: difference between the scores of the chosen layer and the runner-up; NaN if there is no other.
        tied: layers whose score equals that of the chosen one up to rounding; the chosen one is the first of them.
        differs: share of bootstrap resamples of neuroids and splits in which another layer wins; for similarities,
            share of draws with the variability of a different choice of stimuli. NaN if unknown.
        nested_score: ceiled score of choices on stimuli held out from the choice; None if it was not requested, or the
            metric has no folds.
        nested_layers: the layer chosen in each fold.
        by_chance: the best layer compared with the best of all layers in each permutation of the stimuli; None if it
            was not requested.

    Example:
        >>> import bsjax
        >>> gabors = bsjax.load_model("gabor-v1")
        >>> choice = bsjax.choose_layers(gabors, benchmarks={"V1": "Simulated.V1-cka"}, nested=False, n_bootstrap=0)
        >>> choice.regions["V1"].layer, choice.regions["V1"].runner_up
        ('complex', 'simple')
    """

    region: str
    benchmark: str
    layer: str
    scores: Mapping[str, Score]
    runner_up: str | None
    margin: float
    tied: tuple[str, ...]
    differs: float
    nested_score: Score | None
    nested_layers: tuple[str, ...]
    by_chance: Maximum | None = None

    @property
    def note(self) -> str:
        """A remark on ties or a single candidate; "" if there is none."""
        if self.tied:
            return f"{', '.join(self.tied)} scored the same; the first in depth was chosen"
        if self.runner_up is None:
            return "there was one layer to choose from, so there is no margin"
        return ""


@dataclass(frozen=True, repr=False)
class LayerChoice:
    """The layers chosen for regions, from :func:`bsjax.choose_layers`.

    Attributes:
        model: the scored model; for an activations model, a commitment without regions.
        layers: the candidates, in the order of the model's computation.
        regions: region -> its choice.

    Example:
        >>> import bsjax
        >>> gabors = bsjax.load_model("gabor-v1")
        >>> choice = bsjax.choose_layers(gabors, benchmarks={"V1": "Simulated.V1-cka"}, nested=False, n_bootstrap=0)
        >>> choice.layers, choice.region_layer_map
        (['simple', 'complex'], {'V1': 'complex'})
    """

    model: ModelCommitment
    layers: list[str]
    regions: dict[str, RegionChoice]

    def __repr__(self) -> str:
        lines = [f"Layers of {self.model.identifier}, chosen from {len(self.layers)}"]
        for region, choice in self.regions.items():
            score = choice.scores[choice.layer]
            margin = "" if choice.runner_up is None else f", {choice.margin:z.3f} above {choice.runner_up}"
            if choice.tied:
                margin = f", the same as {', '.join(choice.tied)}"
            nested = "" if choice.nested_score is None else f"; {float(choice.nested_score):z.3f} on stimuli held out"
            lines.append(f"{region}: {choice.layer}, {float(score):z.3f} on {choice.benchmark}{margin}{nested}")
        return "\n".join(lines)

    @property
    def region_layer_map(self) -> dict[str, str]:
        """Region -> the chosen layer."""
        return {region: choice.layer for region, choice in self.regions.items()}

    @property
    def margin(self) -> dict[str, float]:
        """Region -> difference between the scores of the chosen layer and the runner-up; NaN for a single layer."""
        return {region: choice.margin for region, choice in self.regions.items()}

    @property
    def differs(self) -> dict[str, float]:
        """Region -> share of resamples in which another layer wins."""
        return {region: choice.differs for region, choice in self.regions.items()}

    @property
    def nested_score(self) -> dict[str, Score | None]:
        """Region -> score of the choices on stimuli held out from them; None if there is none."""
        return {region: choice.nested_score for region, choice in self.regions.items()}

    @property
    def p_value(self) -> dict[str, float]:
        """Region -> how often the best of all layers scores as high by chance; NaN if it was not requested."""
        found = {region: choice.by_chance for region, choice in self.regions.items()}
        return {region: math.nan if by_chance is None else by_chance.p_value for region, by_chance in found.items()}

    @property
    def profile(self) -> xr.DataArray:
        """Ceiled scores, dims ``(region, layer)``, layers in the order of computation; NaN where there is none.

        Has the coordinates ``error``, and ``low`` and ``high``, the ends of the 95 % interval over the choice of
        stimuli, neuroids or subjects, if known, dims ``(region, layer)``; and ``benchmark``, dims ``(region,)``.
        """
        spreads = ("error", "low", "high")
        values = np.full((4, len(self.regions), len(self.layers)), np.nan)
        for row, choice in enumerate(self.regions.values()):
            for column, layer in enumerate(self.layers):
                if layer in choice.scores:
                    score = choice.scores[layer]
                    known = score.interval()
                    interval = (np.nan, np.nan) if known is None else (float(known.low), float(known.high))
                    error = np.nan if score.error is None else float(score.error)
                    values[:, row, column] = float(score), error, *interval
        return xr.DataArray(
            values[0],
            dims=["region", "layer"],
            coords={
                "region": list(self.regions),
                "layer": self.layers,
                **{name: (("region", "layer"), part) for name, part in zip(spreads, values[1:], strict=True)},
                "benchmark": ("region", [choice.benchmark for choice in self.regions.values()]),
            },
            name="score",
        )

    def commit(self, identifier: str | None = None) -> ModelCommitment:
        """The model with the chosen layers committed to their regions; other regions are unchanged.

        Args:
            identifier: of the new model; by default the old one.
        """
        regions = {**self.model.region_layer_map, **self.region_layer_map}
        committed = self.model.with_region_layers(regions, identifier)
        committed.layers = list(self.layers)
        committed.behavioral_readout_layer = self.model.behavioral_readout_layer or self.layers[-1]
        return committed

    def save(self, path: str | Path) -> None:
        """Write the map as JSON, which ``ModelCommitment(..., region_layer_map=path)`` reads.

        In addition to the regions there is the key ``"_made_by"``: model, version, and for each region the benchmark,
        score and margin, rounded. Two runs that agree write the same bytes.

        Args:
            path: the file; it is overwritten.
        """
        details = {
            region: {
                "benchmark": choice.benchmark,
                "margin": _rounded(choice.margin),
                "nested_score": None if choice.nested_score is None else _rounded(float(choice.nested_score)),
                "score": _rounded(float(choice.scores[choice.layer])),
            }
            for region, choice in self.regions.items()
        }
        made_by = {"bsjax": __version__, "model": self.model.identifier, "regions": details}
        plain = {**self.region_layer_map, "_made_by": made_by}
        write_atomically(Path(path), (json.dumps(plain, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode())


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else round(value, _DIGITS)
