"""A plugin's functions of videos, as the preprocessing and the network of an extraction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bsjax.activations.inputs.shown_items import Item
from bsjax.activations.inputs.video import is_video
from bsjax.activations.network import Batch
from bsjax.compat.activations.extractor import CalledNetwork
from bsjax.compat.activations.images import OfFiles
from bsjax.compat.activations.temporal.inferencers import TemporalInferencer
from bsjax.compat.activations.video import Video, VideoFromImage
from bsjax.core.extras import import_extra


@dataclass(frozen=True)
class OfVideos:
    """A plugin's preprocessing of single videos, in the form that the extraction uses.

    Attributes:
        function: video -> array, tensor, or any other input of the wrapper's ``forward``.
        fps: frames per second of the gray probe video.
        n_frames: number of frames of the gray probe video.
    """

    function: Callable[[Video], Any]
    fps: float
    n_frames: int

    @property
    def probe(self) -> Video:
        """A still gray video, used to probe the network."""
        return VideoFromImage(OfFiles(None).probe, self.fps, 0, 1000 * self.n_frames / self.fps)

    def load(self, item: Item) -> Video:
        """The part of a video that an item refers to; no pixels are read.

        Raises:
            ValueError: the item is not a part of a video.
        """
        if item.window is None:
            raise ValueError(f"{item.path} is to be shown as an image, to a network that sees videos")
        first, n, fps = item.window
        kind = Video if is_video(item.path) else VideoFromImage
        return kind(item.path, fps, 1000 * first / fps, 1000 * (first + n) / fps)

    def __call__(self, videos: Sequence[Video]) -> dict[str, np.ndarray]:
        """The preprocessed videos as a batch, under the name of their type."""
        made = [self.function(video) for video in videos]
        tensors = all(hasattr(each, "detach") for each in made)
        if tensors or all(isinstance(each, np.ndarray) for each in made):
            arrays = [np.asarray(each.detach().cpu() if tensors else each) for each in made]
            if len({array.shape for array in arrays}) == 1:
                return {"tensors" if tensors else "arrays": np.stack(arrays)}
        objects = np.empty(len(made), object)
        for number, each in enumerate(made):
            objects[number] = each
        # The content of objects is opaque; the number of frames distinguishes batches that need a new probe.
        return {"objects": objects, "frames": np.empty((len(made), max(each.num_frames for each in videos), 0))}


class VideoNetwork(CalledNetwork):
    """A wrapper's ``get_activations``, for the layers with a format.

    Args:
        inferencer: object with the function and the formats.
        content: function that returns the object to take a digest of.
    """

    def __init__(self, inferencer: TemporalInferencer, content: Callable[[], object]) -> None:
        super().__init__(inferencer.get_activations, lambda: inferencer.layer_activation_format)
        self._computes = content

    def shapes(self, batch: Batch) -> Mapping[str, tuple[int, ...]]:
        """Shapes of the layers, from one pass."""
        return {layer: output.shape for layer, output in self.run(batch, [*self._known()]).items()}

    def _content(self, batch: Batch) -> Any:
        """The objects that determine the outputs."""
        return self._computes(), tuple(self.hooks.values())

    def _taken(self, batch: Batch) -> list[Any]:
        """The preprocessed videos of a batch, in their original type."""
        if "tensors" in batch:
            return list(import_extra("torch", "torch").from_numpy(batch["tensors"]))
        return list(batch["objects" if "objects" in batch else "arrays"])
