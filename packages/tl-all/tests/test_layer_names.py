"""Private names of layers, optimizers and devices that libraries import, with results recorded from PyTorch 2.13."""

import importlib
from collections import namedtuple

import pytest

import tl
from tl import nn


def value_of(dotted):
    module, _, name = f"tl.{dotted}".rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("_AdaptiveAvgPoolNd", nn.AdaptiveAvgPool2d(2)),
        ("_AdaptiveMaxPoolNd", nn.AdaptiveMaxPool1d(2)),
        ("_AvgPoolNd", nn.AvgPool3d(2)),
        ("_LPPoolNd", nn.LPPool2d(2, 2)),
        ("_MaxPoolNd", nn.MaxPool1d(2)),
    ],
)
def test_base_classes_of_pooling(name, layer):
    assert isinstance(layer, value_of(f"nn.modules.pooling.{name}"))


def test_recurrent_functions():
    functions = value_of("nn.modules.rnn._rnn_impls")
    assert functions == {"RNN_TANH": tl._VF.rnn_tanh, "RNN_RELU": tl._VF.rnn_relu}
    with pytest.warns(FutureWarning, match="index_select"):
        moved = value_of("nn.modules.rnn.apply_permutation")(tl.tensor([[1, 2, 3]]), tl.tensor([2, 0, 1]))
    assert moved.tolist() == [[3, 1, 2]]


@pytest.mark.parametrize(
    ("arguments", "minimum"),
    [
        ((0.0, 1.0, -2.0, 1.0, 0.5, 1.0), 0.6667),
        ((0.0, 1.0, -2.0, 1.0, 3.5, 1.0, (0.1, 0.2)), 0.1046),
        ((1.0, 1.0, -2.0, 0.0, 0.5, -5.0), 0.2338),
    ],
)
def test_a_cubic_is_interpolated(arguments, minimum):
    result = value_of("optim.lbfgs._cubic_interpolate")(*arguments)
    assert float(result) == pytest.approx(minimum, abs=1e-4)


def quartic(start, size, direction):
    point = (start + size * direction).requires_grad_()
    loss = ((point - 3) ** 4).sum()
    loss.backward()
    return float(loss), point.grad


def test_the_line_search():
    start = tl.zeros(2)
    loss, gradient = quartic(start, 0.0, start)
    direction = -gradient
    search = value_of("optim.lbfgs._strong_wolfe")
    result = search(quartic, start, 1.0, direction, loss, gradient, gradient.dot(direction))
    assert result[0] == pytest.approx(0.00526994, rel=1e-4)
    assert result[1].tolist() == pytest.approx([0.0465, 0.0465], abs=1e-4)
    assert (float(result[2]), result[3]) == (pytest.approx(0.0299, abs=1e-4), 5)
    least = search(quartic, start, 1.0, direction, loss, gradient, gradient.dot(direction), max_ls=1)
    assert least[3] < result[3]


CUDA = [
    (3, 3),
    ("cuda:1", 1),
    ("cpu", ValueError),
    ("xpu:0", ValueError),
    (None, ValueError),
    ("cuda", ValueError),
]


@pytest.mark.parametrize(("device", "index"), CUDA)
def test_the_index_of_a_cuda_device(device, index):
    function = value_of("cuda._get_device_index")
    if index is ValueError:
        with pytest.raises(
            ValueError, match=r"Expected a (cuda device|torch\.device with a specified index)"
        ):
            function(device)
    else:
        assert function(device) == index


def test_the_index_of_other_devices():
    assert value_of("cuda._get_device_index")("cpu", allow_cpu=True) == -1
    assert value_of("xpu._get_device_index")("xpu:1") == 1
    assert value_of("mtia._get_device_index")("mtia:2") == 2
    assert value_of("accelerator._get_device_index")(1) == 1
    with pytest.raises(ValueError, match="Expected a xpu or cpu device, but got: cuda:0"):
        value_of("xpu._get_device_index")("cuda:0", allow_cpu=True)
    with pytest.raises(RuntimeError, match="Accelerator expected"):
        value_of("accelerator._get_device_index")("cuda:0")


def test_small_functions():
    assert value_of("nn.utils.clip_grad._get_total_norm")([tl.tensor([3.0, 4.0])]).item() == 5
    check = value_of("nn.utils.convert_parameters._check_param_device")
    assert check(tl.zeros(1), None) == check(tl.zeros(1), -1) == -1
    with pytest.raises(TypeError, match="different devices"):
        check(tl.zeros(1), 0)
    is_named = value_of("nn.parallel.scatter_gather._is_namedtuple")
    assert is_named(namedtuple("Point", "x")(1))
    assert not is_named((1,)) and not is_named(tl.zeros(2).max(0))
