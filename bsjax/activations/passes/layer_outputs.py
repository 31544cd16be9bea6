"""Handling of a layer's outputs, batch by batch: validation, reduction and storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bsjax.activations.passes.results import OnDevice, Result
from bsjax.activations.passes.runner import Runner
from bsjax.activations.reducers import Reduction


@dataclass
class Sink:
    """Destination of one layer's outputs.

    Attributes:
        runner: the network, which validates outputs.
        layer: the layer's name.
        shape: of its output for one item.
        reduction: reduces the output; None for no reduction.
        result: stores it on the host; None if it stays on the accelerator only.
        on_device: keeps it on the accelerator; None if it does not stay there.
    """

    runner: Runner
    layer: str
    shape: tuple[int, ...]
    reduction: Reduction | None
    result: Result | None
    on_device: OnDevice | None

    def take(self, start: int, output: Any, ids: Sequence[object]) -> None:
        """Store the output for the items from ``start`` on; ``ids`` name them in messages.

        Raises:
            ValueError: the shape has changed, or values are not finite.
        """
        if self.on_device is not None:
            self.on_device.write(start, self.runner.kept_on_device(self.layer, output, self.shape, ids))
        if self.result is None:
            return
        done = max(self.result.rows_done - start, 0)
        if done >= len(output):
            return
        values = self.runner.checked(self.layer, output, self.shape, ids)
        if self.reduction is not None:
            values = self.reduction(values)
        self.result.write(start + done, values[done:])

    def finish(self) -> Any:
        """All rows, on the accelerator if they stay there."""
        kept = None if self.result is None else self.result.finish()
        return kept if self.on_device is None else self.on_device.finish()
