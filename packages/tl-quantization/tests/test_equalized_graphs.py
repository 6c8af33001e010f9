"""Equalized graphs: the model before quantization computes what the float model does."""

from copy import deepcopy

import numpy as np
import pytest

import tl_core
import tl_nn as nn
import tl_quantization as tq
from tl_nn import functional as F
from tl_quantization.compat.equalize import (
    EqualizationQConfig,
    _convert_equalization_ref,
    _InputEqualizationObserver,
    calculate_equalization_scale,
    default_equalization_qconfig,
    get_equalization_qconfig_dict,
    get_layer_sqnr_dict,
    input_equalization_observer,
    weight_equalization_observer,
)
from tl_quantization.quantize_fx import convert_fx, prepare_fx

KINDS = (nn.Linear, F.linear, nn.ReLU, F.relu, nn.Conv2d, F.conv2d)
QUANTIZED = {"": None, "object_type": [(kind, tq.default_qconfig) for kind in KINDS]}
EQUALIZED = {"": None, "object_type": [(kind, default_equalization_qconfig) for kind in KINDS]}


class Functions(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(tl_core.randn(6, 5)), nn.Parameter(tl_core.randn(6))
        self.c = nn.Parameter(tl_core.randn(3, 6))

    def forward(self, x):
        return F.linear(F.relu(F.linear(x, self.a, self.b)), self.c)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(5, 5), nn.Linear(5, 5)

    def forward(self, x):
        y = self.a(x)
        return self.b(y) + y


MODELS = {
    "linear": (lambda: nn.Sequential(nn.Linear(5, 4)), (20, 5)),
    "two": (lambda: nn.Sequential(nn.Linear(5, 8), nn.Linear(8, 3)), (20, 5)),
    "relu": (lambda: nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3, bias=False)), (20, 5)),
    "gap": (lambda: nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3)), (20, 5)),
    "conv": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 2, 3, padding=1)),
        (2, 3, 8, 8),
    ),
    "functions": (Functions, (20, 5)),
}


def data(shape):
    """Columns of unlike ranges."""
    x = tl_core.from_numpy(np.random.RandomState(1).rand(*shape).astype("float32"))
    return x * tl_core.tensor([1.0, 4.0, 0.1, 9.0, 2.0])[: shape[1]].reshape([-1] + [1] * (len(shape) - 2))


def prepared(model, x, equalization=EQUALIZED):
    with pytest.warns(FutureWarning, match="QConfig dictionary"):
        result = prepare_fx(deepcopy(model), QUANTIZED, (x,), _equalization_config=equalization)
    result(x)
    return result


@pytest.mark.parametrize("name", MODELS)
def test_equalized_model_equals_float(name):
    tl_core.manual_seed(0)
    make, shape = MODELS[name]
    model, x = make().eval(), data(shape)
    graph = _convert_equalization_ref(prepared(model, x))
    tl_core.testing.assert_close(graph(x), model(x), rtol=1e-4, atol=1e-4)
    assert not [n for n in graph.graph.nodes if "equalization_process" in str(n.target)]
    products = sum(n.target is tl_core.mul for n in graph.graph.nodes)
    assert products == (2 if name == "gap" else 1)  # a product where no equalized layer is before
    quantized = convert_fx(prepared(model, x))(x)
    assert (quantized - model(x)).abs().max() < 0.05 * model(x).abs().max()


def test_scales_weights_and_ranges():
    tl_core.manual_seed(0)
    model, x = MODELS["two"][0]().eval(), data((20, 5))
    one, two = model[0].weight.detach().numpy(), model[1].weight.detach().numpy()
    hidden = x.numpy() @ one.T + model[0].bias.detach().numpy()
    scales = [np.sqrt(np.ptp(w, 0) / np.ptp(v, 0)) for w, v in ((one, x.numpy()), (two, hidden))]
    graph = prepared(model, x)
    observers = [m for m in graph.modules() if type(m) is tq.MinMaxObserver]
    graph = _convert_equalization_ref(graph)
    modules = dict(graph.named_modules())
    (factors,) = (value for name, value in graph.named_buffers() if "equalization_scale" in name)
    first = modules["0"]
    np.testing.assert_allclose(factors.flatten().numpy(), scales[0], rtol=1e-5)
    np.testing.assert_allclose(first.weight.detach().numpy(), one / scales[0] * scales[1][:, None], rtol=1e-5)
    np.testing.assert_allclose(
        first.bias.detach().numpy(), model[0].bias.detach().numpy() * scales[1], rtol=1e-5
    )
    np.testing.assert_allclose(modules["1"].weight.detach().numpy(), two / scales[1], rtol=1e-5)
    for observer, values in zip(observers, (x.numpy() * scales[0], hidden * scales[1]), strict=False):
        np.testing.assert_allclose(
            [float(observer.min_val), float(observer.max_val)],
            [values.min(), values.max()],
            rtol=1e-4,
            atol=1e-6,
        )


def test_a_factor_leaves_attributes_of_its_name_alone():
    model, x = MODELS["linear"][0]().eval(), data((20, 5))
    (name,) = (n for n, _ in _convert_equalization_ref(prepared(model, x)).named_buffers() if "scale" in n)
    graph = prepared(model, x)
    graph.register_buffer(name, tl_core.ones(1))
    graph = _convert_equalization_ref(graph)
    assert name.endswith("_equalization_scale_0")
    assert graph.get_buffer(f"{name[:-1]}1").numel() == 5
    tl_core.testing.assert_close(graph(x), model(x), rtol=1e-4, atol=1e-4)


def test_layers_that_stay():
    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(5, 5), nn.Linear(5, 5)

        def forward(self, x):
            return self.a(x) + self.b(x)

    x = data((20, 5))
    with (
        pytest.warns(UserWarning, match="a isn't equalized: another quantized layer has the same input"),
        pytest.warns(UserWarning, match="b isn't equalized: another quantized layer has the same input"),
    ):
        graph = prepared(Branches().eval(), x)
    assert not [m for m in graph.modules() if isinstance(m, _InputEqualizationObserver)]
    model = Residual().eval()
    graph = prepared(model, x)
    with pytest.warns(UserWarning, match="b isn't equalized: other nodes use its quantized input"):
        graph = _convert_equalization_ref(graph)
    tl_core.testing.assert_close(graph(x), model(x))


def test_no_data():
    model, x = MODELS["linear"][0]().eval(), data((20, 5))
    with pytest.warns(FutureWarning, match="QConfig dictionary"):
        graph = prepare_fx(deepcopy(model), QUANTIZED, (x,), _equalization_config=EQUALIZED)
    with pytest.warns(UserWarning, match="the observers have seen no data, so the equalization scale is 1"):
        graph = _convert_equalization_ref(graph)
    tl_core.testing.assert_close(graph(x), model(x))


def test_selection():
    tl_core.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 5)).eval(), data((20, 5))
    graph = prepared(model, x, None)
    ratios = get_layer_sqnr_dict(deepcopy(graph), convert_fx(deepcopy(graph)), x)
    assert set(ratios) == {"0", "1", "2"} and all(float(r) > 10 for r in ratios.values())
    del ratios["1"]
    table = get_equalization_qconfig_dict(ratios, 1)
    assert [name for name, _ in table["module_name"]] == [min(ratios, key=lambda name: float(ratios[name]))]
    graph = prepared(model, x, table)
    assert sum(isinstance(m, _InputEqualizationObserver) for m in graph.modules()) == 1


def test_observers():
    inputs, weights = input_equalization_observer(), weight_equalization_observer()
    for dims in (1, 6):
        with pytest.raises(ValueError, match=f"have 2 to 5 dimensions, but got {dims}"):
            inputs(tl_core.ones([2] * dims))
    with pytest.raises(TypeError, match="must be one for all channels"):
        _InputEqualizationObserver(qscheme=tq.per_channel_affine)
    with pytest.raises(
        ValueError, match="input_activation must be a class or with_args of it, but got an instance"
    ):
        EqualizationQConfig(inputs)
    with pytest.warns(UserWarning, match="isn't scaled"):
        assert inputs.calculate_scaled_minmax() == (None, None)
    x = tl_core.tensor([[0.0, 1.0, 5.0], [4.0, 1.0, 6.0]]).reshape(2, 3, 1)
    inputs(x)
    weights(tl_core.tensor([[0.0, 3.0, 2.0], [1.0, 3.0, 2.0]]))
    scale = calculate_equalization_scale(inputs, weights)
    assert scale.tolist() == [0.5, 1, 1]  # no range in the input, none in the weight
    inputs.set_equalization_scale(scale)
    assert inputs.equalization_scale.shape == (1, 3, 1)
    assert [float(v) for v in inputs.calculate_scaled_minmax()] == [0, 6]
    other = weight_equalization_observer()
    other(tl_core.ones(2, 4))
    with pytest.raises(ValueError, match=r"as many columns, but got \(3,\) and \(4,\)"):
        calculate_equalization_scale(inputs, other)
