"""Adapters of libraries that are not installed."""

import re
import sys

import pytest

import bsjax
from bsjax import adapters

ADAPTERS = {
    "torch": lambda: adapters.from_torch(None, "net"),
    "flax": lambda: adapters.from_flax(None, "net"),
    "keras": lambda: adapters.from_keras(None, "net"),
    "torchvision": lambda: adapters.from_torchvision("resnet18"),
    "timm": lambda: adapters.from_timm("resnet18"),
    "transformers": lambda: adapters.from_huggingface("google/vit"),
    "torchvision ": lambda: bsjax.load_model("alexnet"),
}


@pytest.mark.parametrize(("library", "call"), ADAPTERS.items())
def test_one_line_says_what_to_install(library, call, monkeypatch):
    library = library.strip()
    for name in {library, *(name for name in sys.modules if name.partition(".")[0] == library)}:
        monkeypatch.setitem(sys.modules, name, None)
    extra = "huggingface" if library == "transformers" else library
    with pytest.raises(ImportError, match=re.escape(f"{library} is not installed; run: pip install 'bsjax[{extra}]'")):
        call()
