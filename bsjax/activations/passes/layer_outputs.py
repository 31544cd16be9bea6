"""Handling of a layer's outputs, batch by batch: validation, reduction and storage."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
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

    def keep_on_device(self, start: int, output: Any, ids: Sequence[object]) -> None:
        """Keep the output for the items from ``start`` on, if it stays on the accelerator.

        Raises:
            ValueError: the shape has changed, or values are not real numbers.
        """
        if self.on_device is not None:
            self.on_device.write(start, self.runner.kept_on_device(self.layer, output, self.shape, ids))

    def store(self, start: int, output: Any, ids: Sequence[object]) -> None:
        """Store the output for the items from ``start`` on, on the host; ``ids`` name them in messages.

        Raises:
            ValueError: the shape has changed, or values are not finite.
        """
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


@contextmanager
def meanwhile() -> Generator[Callable[[Callable[[], object]], None]]:
    """A function that runs others in another thread, in order and one at a time.

    It waits for the previous one, and raises its error; so does the end of the block for the last one.

    Example:
        >>> with meanwhile() as run:
        ...     run(lambda: print("one"))
        ...     run(lambda: print("two"))
        one
        two
    """
    last: Future[object] | None = None

    def run(work: Callable[[], object]) -> None:
        nonlocal last
        if last is not None:
            last.result()
        last = thread.submit(copy_context().run, work)

    with ThreadPoolExecutor(max_workers=1) as thread:
        yield run
        if last is not None:
            last.result()
