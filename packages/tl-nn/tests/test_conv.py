"""Convolution layers: what they call, what they refuse, how lazy ones learn their sizes."""

import copy
import pickle

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn

PLAIN = [nn.Conv1d, nn.Conv2d, nn.Conv3d]
TRANSPOSED = [nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d]
LAZY = [nn.LazyConv1d, nn.LazyConv2d, nn.LazyConv3d]
LAZY_TRANSPOSED = [nn.LazyConvTranspose1d, nn.LazyConvTranspose2d, nn.LazyConvTranspose3d]


def dims(kind):
    return int(kind.__name__[-2])


def sample(kind, channels=4, size=6, batch=2):
    rng = np.random.default_rng(0)
    return tl.tensor(rng.normal(size=(batch, channels, *(size,) * dims(kind))).tolist())


@pytest.mark.parametrize("kind", PLAIN)
def test_a_kernel_of_one_is_a_linear_layer(kind):
    layer, x = kind(4, 3, 1), sample(kind)
    expected = np.einsum("oc,nc...->no...", np.array(layer.weight.flatten(1).tolist()), np.array(x.tolist()))
    expected += np.array(layer.bias.tolist()).reshape(-1, *(1,) * dims(kind))
    np.testing.assert_allclose(layer(x).tolist(), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(layer(x[0]).tolist(), expected[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", PLAIN)
def test_sizes(kind):
    layer = kind(4, 6, 3, stride=2, padding=1, dilation=2, groups=2, bias=False)
    n = dims(kind)
    assert tuple(layer.weight.shape) == (6, 2, *(3,) * n) and layer.bias is None
    assert tuple(layer(sample(kind)).shape) == (2, 6, *(2,) * n)
    assert tuple(kind(4, 6, 4, padding="same")(sample(kind)).shape) == (2, 6, *(6,) * n)
    assert tuple(kind(4, 6, 4, padding="valid")(sample(kind)).shape) == (2, 6, *(3,) * n)


@pytest.mark.parametrize("kind", TRANSPOSED)
def test_a_transposed_convolution_takes_back_the_size(kind):
    layer, n = kind(4, 6, 3, stride=2, padding=1, groups=2), dims(kind)
    assert tuple(layer.weight.shape) == (4, 3, *(3,) * n)
    assert tuple(layer(sample(kind)).shape) == (2, 6, *(11,) * n)
    assert tuple(layer(sample(kind), output_size=(12,) * n).shape) == (2, 6, *(12,) * n)
    assert tuple(layer(sample(kind), output_size=(2, 6, *(11,) * n)).shape) == (2, 6, *(11,) * n)
    with pytest.raises(ValueError, match="requested an output size"):
        layer(sample(kind), output_size=(13,) * n)
    with pytest.raises(ValueError, match="output_size must have"):
        layer(sample(kind), output_size=(11,) * (n + 1))


def test_initialisation_stays_in_bounds():
    layer = nn.Conv2d(8, 16, 3, groups=2)
    bound = 1 / np.sqrt(4 * 9)
    for values in (layer.weight, layer.bias):
        assert 0.5 * bound < values.abs().max().item() <= bound


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": 0}, "groups must be a positive integer, but got 0"),
        ({"groups": 3}, "in_channels must be divisible by groups, but got 4 and 3"),
        ({"out_channels": 3, "groups": 2}, "out_channels must be divisible by groups, but got 3 and 2"),
        ({"padding": "full"}, "Invalid padding string 'full'"),
        (
            {"padding": "same", "stride": 2},
            r"not supported for strided convolutions, but got stride=\(2, 2\)",
        ),
        (
            {"padding_mode": "mirror"},
            "one of zeros, reflect, replicate, circular, but got padding_mode='mirror'",
        ),
    ],
)
def test_faults(options, message):
    with pytest.raises(ValueError, match=message):
        nn.Conv2d(**{"in_channels": 4, "out_channels": 4, "kernel_size": 3, **options})


def test_transposed_faults():
    with pytest.raises(ValueError, match='Only "zeros" padding mode is supported'):
        nn.ConvTranspose1d(1, 1, 1, padding_mode="reflect")


def test_printing():
    layer = nn.Conv2d(4, 8, 3, padding=1, dilation=2, groups=2, bias=False, padding_mode="reflect")
    assert repr(layer) == (
        "Conv2d(4, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), dilation=(2, 2), groups=2, bias=False, "
        "padding_mode=reflect)"
    )
    layer = nn.ConvTranspose1d(4, 8, 3, stride=2, output_padding=1)
    assert repr(layer) == "ConvTranspose1d(4, 8, kernel_size=(3,), stride=(2,), output_padding=(1,))"


# Lazy layers


@pytest.mark.parametrize("kind", [*LAZY, *LAZY_TRANSPOSED])
def test_lazy_layers_become_plain_ones(kind):
    layer = kind(8, 3, groups=2)
    assert layer.has_uninitialized_params() and layer.cls_to_become is not None
    out = layer(sample(kind))
    assert type(layer) is kind.cls_to_become and not hasattr(layer, "_initialize_hook")
    assert layer.in_channels == 4 and out.shape[1] == 8
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad
    assert 0 < layer.weight.abs().max().item() <= 1
    assert layer(sample(kind)).tolist() == out.tolist()


def test_lazy_layers_take_single_samples():
    layer = nn.LazyConv2d(8, 3)
    layer(sample(nn.Conv2d)[0])
    assert layer.in_channels == 4
    with pytest.raises(RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\) input"):
        nn.LazyConv2d(8, 3)(tl.zeros(2, 2))


def test_lazy_layers_load_what_is_initialized():
    source, target = nn.Linear(3, 2), nn.LazyLinear(2)
    target.load_state_dict(source.state_dict())
    assert target.weight.tolist() == source.weight.tolist()
    assert target(tl.ones(1, 3)).tolist() == source(tl.ones(1, 3)).tolist() and type(target) is nn.Linear
    lazy = nn.LazyLinear(2)
    lazy.load_state_dict(nn.LazyLinear(2).state_dict())
    assert lazy.has_uninitialized_params()
    with pytest.raises(RuntimeError, match="shape of an uninitialized parameter"):
        nn.Linear(3, 2).load_state_dict(nn.LazyLinear(2).state_dict())


def test_lazy_layers_move_and_copy():
    layer = nn.LazyLinear(2).double()
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert twin(tl.ones(1, 3, dtype=tl.float64)).dtype == tl.float64 and twin.in_features == 3
    assert layer.has_uninitialized_params()


def test_uninitialized_parameters_refuse_operators():
    parameter = nn.UninitializedParameter(dtype=tl.float64)
    assert parameter.dtype == tl.float64 and parameter.requires_grad and parameter.is_floating_point()
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        tl.add(parameter, 1)
    with pytest.raises(RuntimeError, match="Can't access the shape"):
        parameter.shape  # noqa: B018
    with pytest.raises(RuntimeError, match="Can't share memory"):
        parameter.share_memory_()
    parameter.materialize((2, 3), dtype=tl.float32)
    assert type(parameter) is nn.Parameter and (parameter.dtype, parameter.shape) == (tl.float32, (2, 3))
    buffer = nn.UninitializedBuffer()
    assert not buffer.requires_grad
    buffer.materialize((2,))
    assert type(buffer) is tl.Tensor


def test_a_lazy_class_must_initialize_everything():
    class Forgetful(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.UninitializedParameter()

        def initialize_parameters(self, x):
            pass

    with pytest.raises(RuntimeError, match="has not been fully initialized"):
        Forgetful()(1)


# Blocks


def test_unfold_and_fold():
    x = tl.arange(2.0 * 4 * 5).reshape(1, 2, 4, 5)
    blocks = nn.Unfold(2, stride=(2, 3))(x)
    assert tuple(blocks.shape) == (1, 8, 4)
    assert blocks[0, :, 0].tolist() == [0, 1, 5, 6, 20, 21, 25, 26]
    back = nn.Fold((4, 5), 2, stride=(2, 3))(blocks)
    value = np.array(x.tolist())
    value[..., 2] = 0  # no block reaches this column
    np.testing.assert_array_equal(back.tolist(), value)
    assert (
        repr(nn.Fold((4, 5), 2)) == "Fold(output_size=(4, 5), kernel_size=2, dilation=1, padding=0, stride=1)"
    )
