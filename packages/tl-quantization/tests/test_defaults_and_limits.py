"""Small parts that other tests pass by: refused types, defaults of functions, limits of observers, kept attributes."""

import inspect
import warnings

import pytest

import tl_core as tl
import tl_nn as nn
import tl_quantization as tq
from tl_quantization import learnable_fake_quantization as learnable
from tl_quantization.backend_config import (
    BackendPatternConfig,
    DTypeConfig,
    DTypeWithConstraints,
    ObservationType,
)
from tl_quantization.libraries.decomposed import _check_axis
from tl_quantization.nn.quantized import functional as F
from tl_quantization.observed_fake_quantization import choose_qparams_optimized
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


NO_LIMITS = (
    "quant_min_lower_bound=None, quant_max_upper_bound=None, scale_min_lower_bound=None, "
    "scale_max_upper_bound=None, scale_exact_match=None, zero_point_exact_match=None)"
)
TYPES = "DTypeConfig({}, {}, {}, bias_dtype=torch.float32, is_dynamic=None)".format(
    *(
        f"{name}_dtype_with_constraints=DTypeWithConstraints(dtype=torch.{dtype}, {NO_LIMITS}"
        for name, dtype in (("input", "quint8"), ("output", "quint8"), ("weight", "qint8"))
    )
)


def test_texts_of_patterns():
    """The texts of PyTorch 2.13, with the class of this library."""
    types = DTypeConfig(tq.quint8, tq.quint8, tq.qint8, tl.float32)
    start = (
        "BackendPatternConfig({'pattern': <class 'tl_nn.modules.linear.Linear'>, "
        "'observation_type': <ObservationType.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT: 0>"
    )
    assert repr(BackendPatternConfig(nn.Linear)) == start + "})"
    assert (
        repr(BackendPatternConfig(nn.Linear).add_dtype_config(types))
        == f"{start}, 'dtype_configs': [{TYPES}]}})"
    )
    config = (
        BackendPatternConfig(nn.Linear).set_root_module(nn.Linear)._set_input_type_to_index({"weight": 1})
    )
    config._set_num_tensor_args_to_observation_type({0: ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT})
    assert repr(config) == (
        f"{start}, 'root_module': <class 'tl_nn.modules.linear.Linear'>, "
        "'_num_tensor_args_to_observation_type': {0: <ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT: 1>}, "
        "'_input_type_to_index': {'weight': 1}})"
    )


@pytest.mark.parametrize(
    ("numbers", "high", "low"),
    [([0.0, 1e-9], 1e-9, 0.0), ([0.0, 1e-7, 3e-8], 1e-7, 0.0), ([0.0, 15.0], 15.0, 0.0), ([1.0, 1.0], 1.0, 1.0),
     ([0.5, -2.0, 7.0], 7.0, -2.0)],
)  # fmt: skip
def test_ranges_whose_step_is_below_float16(numbers, high, low):
    """Recorded from PyTorch 2.13. The step of the first two ranges is 0 in float16."""
    x = tl.tensor(numbers)
    limits = choose_qparams_optimized(x, len(numbers), 10, 0.16, 4)
    assert [limit.item() for limit in limits] == pytest.approx([high, low], rel=1e-6, abs=0)


@pytest.mark.parametrize(("eps", "is_used"), [(2**-12, True), (2**-11, True), (2**-13, False), (None, False)])
def test_the_least_scale_of_a_backend(eps, is_used):
    from tl_quantization.graph.support import _satisfies

    types = DTypeWithConstraints(dtype=tq.quint8, scale_min_lower_bound=2**-12)
    observer = tq.MinMaxObserver(dtype=tq.quint8, **({} if eps is None else {"eps": eps}))
    if eps is None:
        del observer.eps
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert _satisfies(types, observer) is is_used
    texts = [str(warning.message) for warning in caught]
    if is_used:
        assert texts == []
    elif eps is None:
        assert texts == ["QConfig must specify 'eps' for this backend, ignoring it"]
    else:
        (text,) = texts
        assert (
            f"QConfig eps ({eps}) must be greater than or equal to the backend's minimum scale ({2**-12})"
            in text
        )


def test_shared_parameters_that_nobody_reads_are_deleted():
    from tl_compiler import fx
    from tl_quantization.export.constant_fold import drop_unread

    root = nn.Module()
    root.weight = root.twin = nn.Parameter(tl.ones(2))
    root.register_buffer("count", tl.zeros(1))
    root.register_buffer("other", root.count)
    root.layer = nn.Linear(1, 1)
    graph = fx.Graph()
    layer = graph.call_module("layer", (graph.get_attr("weight"),))
    graph.output(layer)
    module = fx.GraphModule(root, graph)
    module.twin, module.layers = module.weight, nn.Linear(1, 1)
    module.register_buffer("count", tl.zeros(1))
    module.register_buffer("other", module.count)
    drop_unread(module)
    assert {name for name, _ in module.named_parameters(remove_duplicate=False)} == {
        "weight", "layer.weight", "layer.bias",
    }  # fmt: skip
    assert dict(module.named_buffers(remove_duplicate=False)) == {}


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
