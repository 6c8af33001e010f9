"""The forms of `Module.to` that are refused, and other argument checks of modules."""

import pytest

import tl_core as tl
import tl_nn as nn

CPU = tl.device("cpu")
REFUSED = {
    "a device and a flag": lambda m: m.to(CPU, True),
    "no device and a flag": lambda m: m.to(None, True),
    "an integer dtype": lambda m: m.to(tl.int64),
    "a device and an integer dtype": lambda m: m.to(CPU, tl.int64, True),
    "a list": lambda m: m.to([]),
    "a device and a tensor": lambda m: m.to(CPU, tl.tensor(3)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_forms(name):
    with pytest.raises(TypeError):
        REFUSED[name](nn.Linear(3, 3))


def test_forms_that_hold():
    m = nn.Linear(3, 3)
    for moved in (m.to(CPU, None, True), m.to(tl.float32, True), m.to(m.weight, True)):
        assert moved is m
    with pytest.raises(RuntimeError, match="copy argument"):
        m.to("cpu", copy=True)


def test_a_buffer_does_not_replace_another_attribute():
    m = nn.Module()
    m.name = 5
    with pytest.raises(KeyError, match="already exists"):
        m.name = nn.Buffer(tl.ones(1))


def test_register_buffer_overridden_without_persistence():
    class Narrow(nn.Module):
        def register_buffer(self, name, value):
            super().register_buffer(name, value)

    m = Narrow()
    m.state = nn.Buffer(tl.ones(2))
    assert list(m.state_dict()) == ["state"]


def test_group_norm_needs_more_than_one_value_a_group():
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        nn.GroupNorm(4, 4)(tl.ones(1, 4, 1))
    nn.GroupNorm(2, 4)(tl.ones(1, 4, 1))


def test_attention_of_an_empty_batch():
    layer = nn.TransformerDecoderLayer(8, 2, batch_first=True)
    assert layer(tl.ones(0, 3, 8), tl.ones(0, 5, 8)).shape == (0, 3, 8)
