"""Small parts that other tests pass by: refused types, defaults of functions, limits of observers, kept attributes."""

import inspect

import pytest

import tl_core as tl
import tl_nn as nn
import tl_quantization as tq
from tl_quantization import learnable_fake_quantization as learnable
from tl_quantization.libraries.decomposed import _check_axis
from tl_quantization.nn.quantized import functional as F
from tl_quantization.quantizer import x86_inductor_quantizer as x86


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("channels", [False, True])
def test_learned_scales_take_floating_numbers_alone(position, channels):
    arguments = [tl.ones(2, 3), tl.ones(3 if channels else 1), tl.zeros(3 if channels else 1)]
    arguments[position] = arguments[position].int()
    kind = "channel" if channels else "tensor"
    function = getattr(learnable, f"_fake_quantize_learnable_per_{kind}_affine")
    name = ("input", "scale", "zero_point")[position]
    with pytest.raises(RuntimeError, match=rf"{name} must be of floating numbers, but got torch\.int32"):
        function(*arguments, *([1] if channels else []), -128, 127)


@pytest.mark.parametrize("channels", [False, True])
def test_gradients_of_learned_scales_are_not_scaled_by_default(channels):
    kind = "channel" if channels else "tensor"
    function = getattr(learnable, f"_fake_quantize_learnable_per_{kind}_affine")
    results = []
    for more in ((), (1.0,), (2.0,)):
        scale = tl.full((3 if channels else 1,), 0.5, requires_grad=True)
        zero = tl.zeros(3 if channels else 1)
        x = tl.tensor([[0.3, 1.6, -2.2], [0.9, -0.4, 5.1]])
        function(x, scale, zero, *([1] if channels else []), -4, 3, *more).sum().backward()
        results.append(scale.grad)
    assert tl.equal(results[0], results[1]) and tl.equal(results[0] * 2, results[2])
    assert results[0].abs().max() > 0


CONVOLUTION = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, "padding_mode": "zeros", "scale": 1.0,
               "zero_point": 0}  # fmt: skip
DEFAULTS = {
    "conv1d": CONVOLUTION, "conv2d": CONVOLUTION, "conv3d": CONVOLUTION,
    "avg_pool2d": {"stride": None, "padding": 0, "ceil_mode": False, "count_include_pad": True,
                   "divisor_override": None},
    "max_pool1d": {"stride": None, "padding": 0, "dilation": 1, "ceil_mode": False, "return_indices": False},
    "max_pool2d": {"stride": None, "padding": 0, "dilation": 1, "ceil_mode": False, "return_indices": False},
    "hardtanh": {"min_val": -1.0, "max_val": 1.0, "inplace": False},
}  # fmt: skip


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_of_functions(name):
    """The defaults in PyTorch's manual."""
    parameters = inspect.signature(getattr(F, name)).parameters
    assert {key: parameters[key].default for key in DEFAULTS[name]} == DEFAULTS[name]


def test_an_axis_is_one_of_the_dimensions():
    x = tl.ones(2, 3)
    _check_axis(x, 1)
    with pytest.raises(AssertionError, match="Expecting axis to be < 2"):
        _check_axis(x, 2)


@pytest.mark.parametrize("is_qat", [False, True])
def test_the_least_scale_of_weights_for_x86(is_qat):
    config = x86.get_default_x86_inductor_quantization_config(is_qat=is_qat)
    observer = config.weight.observer_or_fake_quant_ctr()
    observer = getattr(observer, "activation_post_process", observer)
    assert observer.eps.item() == 2.0**-12


def test_a_fused_model_keeps_the_attributes_of_its_configuration():
    from tl_quantization.graph.custom_config import FuseCustomConfig
    from tl_quantization.quantize_fx import fuse_fx

    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU()).eval()
    model.tag, model.other = "first", "second"
    fused = fuse_fx(model, FuseCustomConfig().set_preserved_attributes(["tag", "absent"]))
    assert fused.tag == "first" and not hasattr(fused, "other") and not hasattr(fused, "absent")


@pytest.mark.parametrize(("layer", "is_fused"), [(nn.ReLU, True), (nn.ReLU6, False), (nn.Identity, False)])
def test_only_a_relu_joins_a_sum(layer, is_fused):
    from tl_quantization.quantize_fx import convert_fx, prepare_fx

    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.activation = layer()

        def forward(self, x, y):
            return self.activation(x + y)

    x, y = tl.linspace(-2, 2, 12).reshape(3, 4), tl.linspace(1, -1, 12).reshape(3, 4)
    model = Sum().eval()
    observed = prepare_fx(model, tq.get_default_qconfig_mapping("x86"), (x, y))
    observed(x, y)
    integer = convert_fx(observed)
    names = {str(getattr(node.target, "__name__", node.target)) for node in integer.graph.nodes}
    assert any("add_relu" in name for name in names) is is_fused
    assert float((integer(x, y) - model(x, y)).abs().max()) < 0.05
