"""Layers without a batch, channels or space: what PyTorch 2.13 gives or refuses, as `layer_sizes.py` recorded it."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import tl_core as tl
import tl_nn as nn

sys.path.insert(0, str(Path(__file__).parent))

from layer_sizes import answer, calls

RECORDED = json.loads(Path(__file__).with_name("layer_sizes.json").read_text())

# Where PyTorch refuses or goes wrong by an accident of how it computes, and tl gives a result.
OWN = {
    r"(Lazy)?Batch|InstanceNorm": "no first element of empty parameters is asked for",
    r"LazyInstanceNorm": "a single sample's channels are its first dimension",
    r"CrossMapLRN2d": "no channel is asked for",
    r"(Lazy)?Conv.d\((0|3), 3": "without channels to sum over, each output channel is its bias",
    r"(Pixel|Channel)(Unshuffle|Shuffle)": "the gradient of nothing is nothing",
    r"EmbeddingBag": "an empty bag is zeros",
    r"(CrossEntropy|NLL)Loss\(red": "a target of no class is out of bounds, an IndexError",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layer", RECORDED)
def test_layers_without_a_batch_channels_or_space(layer):
    library = SimpleNamespace(nn=nn, Tensor=tl.Tensor, zeros=tl.zeros, full=tl.full, int64=tl.int64)
    own = any(re.match(pattern, layer) for pattern in OWN)
    for shapes, record in RECORDED[layer].items():
        result = answer(library, layer, shapes)
        assert result == record or (own and "RuntimeError" not in result), (shapes, result, record)


def test_every_recorded_call_is_made():
    assert {(layer, shapes) for layer, answers in RECORDED.items() for shapes in answers} == set(calls())
