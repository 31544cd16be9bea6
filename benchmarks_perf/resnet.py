"""A residual network of 25 million parameters in torch, with random weights: the shape of a ResNet-50."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import nn

_STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))
_WIDER = 4


class Bottleneck(nn.Module):
    """Three convolutions beside a shortcut."""

    def __init__(self, n_in: int, width: int, stride: int) -> None:
        super().__init__()
        n_out = _WIDER * width
        self.body = nn.Sequential(
            *_normalised(n_in, width, 1, 1),
            nn.ReLU(),
            *_normalised(width, width, 3, stride),
            nn.ReLU(),
            *_normalised(width, n_out, 1, 1),
        )
        same = n_in == n_out and stride == 1
        self.shortcut = nn.Identity() if same else nn.Sequential(*_normalised(n_in, n_out, 1, stride))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The block's output."""
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet(seed: int = 0) -> nn.Sequential:
    """The network: ``stem``, ``layer1`` to ``layer4``, ``pool``, ``logits``; takes ``(images, 3, 224, 224)``."""
    torch.manual_seed(seed)
    stages, n_in = [], 64
    for number, (width, depth) in enumerate(_STAGES, start=1):
        blocks = []
        for block in range(depth):
            blocks.append(Bottleneck(n_in, width, 2 if block == 0 and number > 1 else 1))
            n_in = _WIDER * width
        stages.append((f"layer{number}", nn.Sequential(*blocks)))
    stem = nn.Sequential(*_normalised(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, stride=2, padding=1))
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    parts = [("stem", stem), *stages, ("pool", head), ("logits", nn.Linear(n_in, 1000))]
    return nn.Sequential(OrderedDict(parts)).eval()


def _normalised(n_in: int, n_out: int, side: int, stride: int) -> tuple[nn.Module, nn.Module]:
    return nn.Conv2d(n_in, n_out, side, stride, padding=side // 2, bias=False), nn.BatchNorm2d(n_out)
