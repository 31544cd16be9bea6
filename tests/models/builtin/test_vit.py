"""vit-random: a transformer whose tokens are patches of the image, and whose weights are those of its seed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("flax")

from bsjax.models.builtin.vit import make_vit, vit_random


@pytest.mark.slow
def test_its_candidates_are_its_blocks_and_regions_go_by_depth():
    model = vit_random()
    shapes = model.activations_model.layers()
    assert model.layers == [f"blocks.{n}" for n in range(6)]
    assert [shapes[layer] for layer in model.layers] == [(145, 96)] * 6
    depth = list(shapes)
    regions = [depth.index(list(names)[0]) for names in model.region_layer_map.values()]
    assert [str(region) for region in model.region_layer_map] == ["V1", "V2", "V4", "IT"]
    assert regions == sorted(regions)


@pytest.mark.slow
def test_attention_carries_a_patch_to_all_tokens_and_positions_count():
    network = make_vit(size=24, width=8, n_blocks=1)
    images = jnp.zeros((1, 24, 24, 3)).at[0, :8, :8].set(1.0)
    tokens = network.patches(images).reshape(1, 9, 8)
    block = jax.jit(network.blocks[0])
    blank = network.patches(jnp.zeros((1, 24, 24, 3))).reshape(1, 9, 8)
    changed = np.abs(np.asarray(block(tokens) - block(blank))).max(axis=2)[0]
    assert (changed > 0).all() and changed[0] == changed.max()
    moved = jnp.zeros((1, 24, 24, 3)).at[0, 16:, 16:].set(1.0)
    assert not np.allclose(network(images), network(moved), atol=1e-6)
