"""The graph mode: the graphs, scales and integers that PyTorch 2.13 computes for the same models."""

import pytest

import tl_core
import tl_nn as nn
import tl_quantization as tq
from tl_compiler.export import export_for_training
from tl_core.operators import packets
from tl_nn import functional as F
from tl_quantization.graph.custom_config import ConvertCustomConfig, PrepareCustomConfig
from tl_quantization.nn import quantized as nnq
from tl_quantization.quantize_fx import (
    _convert_to_reference_decomposed_fx,
    convert_fx,
    convert_to_reference_fx,
    fuse_fx,
    prepare_fx,
    prepare_qat_fx,
)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.conv2, self.fc = nn.Conv2d(4, 4, 1), nn.Linear(4, 3)

    def forward(self, x):
        x = F.relu(self.bn(self.conv(x)))
        x = F.relu(x + self.conv2(x))
        return tl_core.sigmoid(self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1)))


def fill(model):
    """Parameters of a formula, so that PyTorch has the same."""
    for i, (name, value) in enumerate(sorted(model.state_dict().items())):
        if value.is_floating_point():
            n = tl_core.arange(value.numel(), dtype=tl_core.float64)
            numbers = ((n * (37 + i) + 11 * i) % 64 - 31) / 64
            numbers = numbers.abs() + 0.5 if "var" in name else numbers
            value.copy_(numbers.reshape(value.shape).to(tl_core.float32))
    return model


def numbers(*shape):
    size = 1
    for n in shape:
        size *= n
    return ((tl_core.arange(size) * 29 % 64 - 32).to(tl_core.float32) / 16).reshape(shape)


def scales(model):
    return {
        name: value.item()
        for name, value in model.state_dict().items()
        if "scale" in name or "zero_point" in name
    }


X86 = tq.get_default_qconfig_mapping("x86")


def calls(model):
    """What the graph calls, in order."""
    return [
        str(n.target if n.op != "call_function" else getattr(n.target, "__name__", n.target))
        for n in model.graph.nodes
    ]


def test_static():
    x = numbers(2, 2, 4, 4)
    prepared = prepare_fx(fill(Net()).eval(), X86, (x,))
    prepared(x)
    model = convert_fx(prepared)
    recorded = {
        "conv_input_scale_0": 0.030988797545433044, "conv_input_zero_point_0": 65,
        "_scale_0": 0.008151296526193619, "_zero_point_0": 0, "_scale_2": 0.005042197182774544, "_zero_point_2": 0,
        "conv.scale": 0.0060517978854477406, "conv.zero_point": 0,
        "conv2.scale": 0.008182598277926445, "conv2.zero_point": 58,
        "fc.scale": 0.005438868887722492, "fc.zero_point": 38,
    }  # fmt: skip
    assert scales(model) == pytest.approx(recorded, rel=1e-6)
    assert (model(x) * 256).tolist() == [[137.0, 115.0, 156.0], [139.0, 117.0, 159.0]]
    assert type(model.conv).__name__ == "ConvReLU2d"
    assert packets.quantized.add_relu in [node.target for node in model.graph.nodes]


def test_training():
    x = numbers(2, 2, 4, 4)
    prepared = prepare_qat_fx(fill(Net()).train(), tq.get_default_qat_qconfig_mapping("x86"), (x,))
    prepared(x).sum().backward()
    prepared(x)
    model = convert_fx(prepared.eval())
    recorded = {"conv.scale": 0.00468076579272747, "conv2.zero_point": 56, "fc.scale": 0.0054369354620575905}
    assert {name: scales(model)[name] for name in recorded} == pytest.approx(recorded, rel=1e-6)
    assert (model(x) * 256).tolist() == [[136.0, 114.0, 155.0], [137.0, 116.0, 157.0]]


class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.relu, self.lstm = nn.Linear(2, 2), nn.ReLU(), nn.LSTM(2, 2)
        self.gru, self.w = nn.GRUCell(2, 2), nn.Parameter(tl_core.ones(2, 2))
        self.rows, self.bags = nn.Embedding(4, 2), nn.EmbeddingBag(4, 2, mode="sum")

    def forward(self, x, i):
        y = self.relu(self.linear(x))
        z = self.lstm(y.unsqueeze(0))
        return F.relu(F.linear(z[0], self.w)), self.gru(y), self.rows(i), self.bags(i.unsqueeze(0))


def test_dynamic():
    rows = tq.float_qparams_weight_only_qconfig
    mapping = tq.QConfigMapping().set_global(tq.default_dynamic_qconfig)
    mapping.set_object_type(nn.Embedding, rows).set_object_type(nn.EmbeddingBag, rows)
    x, i = numbers(3, 2), tl_core.tensor([1, 3])
    model = fill(Steps()).eval()
    prepared = prepare_fx(model, mapping, (x, i))
    quantized, reference = convert_fx(prepared), convert_to_reference_fx(prepared)
    for result, rounded, exact in zip(quantized(x, i), reference(x, i), model(x, i), strict=True):
        assert tl_core.allclose(result, rounded, atol=1e-5)
        assert 0 < float((result - exact).abs().max()) < 0.02
    kinds = [type(getattr(quantized, name)).__module__ for name in ("linear", "lstm", "gru", "rows", "bags")]
    assert all("quantized" in kind for kind in kinds)


def test_halves():
    x, i = numbers(3, 2), tl_core.tensor([1, 3])
    model = fill(Steps()).eval()
    quantized = convert_fx(
        prepare_fx(model, tq.QConfigMapping().set_global(tq.float16_dynamic_qconfig), (x, i))
    )
    assert quantized.linear._packed_params.dtype is tl_core.float16
    assert type(quantized.rows) is nn.Embedding
    for result, exact in zip(quantized(x, i), model(x, i), strict=True):
        assert tl_core.allclose(result, exact, atol=2e-3)


class Activations(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Hardswish(), nn.ELU(), nn.LeakyReLU(), nn.PReLU(), nn.ReLU6(), nn.Dropout(), nn.BatchNorm2d(4),
            nn.InstanceNorm2d(4, affine=True),
        )  # fmt: skip
        self.tanh, self.softmax = nn.Tanh(), nn.Softmax(-1)
        self.up, self.pool = nn.ConvTranspose2d(4, 2, 2), nn.MaxPool2d(2)

    def forward(self, x):
        x = self.layers(x)
        a, b = self.tanh(x), self.softmax(x)
        x = F.leaky_relu(F.elu(F.hardswish(x), 0.5), 0.2)
        x = F.instance_norm(F.group_norm(F.layer_norm(x, (4,)), 2))
        x = F.max_pool2d(F.interpolate(F.hardsigmoid(x), scale_factor=2), 2)
        x = tl_core.stack([self.pool(self.up(x))] * 2).mean(-1).permute(1, 0, 2, 3)
        return tl_core.repeat_interleave(tl_core.clamp(x.contiguous(), 0, 1), 2, 1), a, b


def test_every_activation_is_lowered():
    x = numbers(1, 4, 4, 4)
    model = fill(Activations()).eval()
    prepared = prepare_fx(model, X86, (x,))
    prepared(x)
    quantized, reference = convert_fx(prepared), convert_to_reference_fx(prepared)
    assert calls(quantized).count("dequantize") == 3
    assert calls(quantized).count("quantize_per_tensor") == 1
    for result, rounded, exact in zip(quantized(x), reference(x), model(x), strict=True):
        assert float((result - rounded).abs().max()) <= 0.05
        assert float((result - exact).abs().max()) < 0.2


class Functions(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.b = nn.Parameter(tl_core.ones(3, 2, 1)), nn.Parameter(tl_core.ones(3))
        self.w2, self.rows = nn.Parameter(tl_core.ones(3, 3, 1)), nn.Parameter(tl_core.ones(3, 4))

    def forward(self, x):
        x = F.conv1d(F.relu(F.conv1d(x, self.w, self.b)), self.w2, padding=1)
        x = x.transpose(1, 2)[:, :3].reshape(-1, 3)
        y = F.linear(tl_core.cat([x, x[:, :1]], 1), self.rows, self.b)
        z = F.relu(y)
        return tl_core.matmul(z, z.t()), tl_core.mul(y, z), F.relu(y * z), y * 2 + 1


def test_functions_with_weights():
    x = numbers(2, 2, 4)
    model = fill(Functions()).eval()
    prepared = prepare_fx(model, X86, (x,))
    prepared(x)
    quantized, reference = convert_fx(prepared), convert_to_reference_fx(prepared)
    names = calls(quantized)
    assert {"conv1d_relu", "conv1d", "linear", "matmul", "mul", "mul_relu"} <= set(names)
    assert "linear_prepack" not in names
    assert [name for name in quantized.state_dict() if "_packed_weight_" in name] == [
        f"_packed_weight_{i}" for i in range(3)
    ]
    for result, rounded, exact in zip(quantized(x), reference(x), model(x), strict=True):
        assert float((result - rounded).abs().max()) <= 0.05 * float(exact.abs().max())
    copy = convert_fx(prepared)
    copy.load_state_dict(quantized.state_dict())
    assert tl_core.equal(copy(x)[0], quantized(x)[0])


class Parts(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.c(self.b(self.a(x)))


def prepare_parts(mapping, **options):
    x = numbers(3, 4)
    prepared = prepare_fx(fill(Parts()).eval(), mapping, (x,), **options)
    prepared(x)
    return convert_fx(prepared), x


def is_integer(module):
    return "quantized" in type(module).__module__


@pytest.mark.parametrize(
    ("mapping", "integer"),
    [
        (X86, "abc"),
        (tq.get_default_qconfig_mapping("x86").set_module_name("b", None), "ac"),
        (tq.QConfigMapping().set_module_name_regex("a.*", tq.default_qconfig), "a"),
        (
            tq.QConfigMapping()
            .set_object_type(nn.Linear, tq.default_qconfig)
            .set_object_type(nn.ReLU, tq.default_qconfig),
            "abc",
        ),
        (
            tq.QConfigMapping()
            .set_global(tq.default_qconfig)
            .set_module_name_object_type_order("", nn.Linear, 0, None),
            "ac",
        ),
    ],
)
def test_mapping(mapping, integer):
    model, _ = prepare_parts(mapping)
    layers = {"a": getattr(model.a, "0"), "b": model.b, "c": model.c}
    assert "".join(name for name, layer in layers.items() if is_integer(layer)) == integer


def test_parts_of_a_fused_layer_need_one_configuration():
    with pytest.raises(LookupError, match="LinearReLU"):
        prepare_parts(tq.QConfigMapping().set_object_type(nn.Linear, tq.default_qconfig))


def test_quantized_ends():
    model, x = prepare_parts(
        X86, prepare_custom_config=PrepareCustomConfig().set_output_quantized_indexes([0])
    )
    assert model(x).is_quantized
    custom = PrepareCustomConfig().set_input_quantized_indexes([0])
    model, x = prepare_parts(X86, prepare_custom_config=custom)
    assert model(tq.quantize_per_tensor(x, 0.05, 64, tq.quint8)).shape == (3, 2)


def test_untraced_and_preserved():
    custom = PrepareCustomConfig().set_non_traceable_module_names(["a"]).set_preserved_attributes(["note"])
    x, net = numbers(3, 4), fill(Parts()).eval()
    net.note = "text"
    prepared = prepare_fx(net, X86, (x,), prepare_custom_config=custom)
    prepared(x)
    model = convert_fx(prepared)
    assert prepared.note == model.note == "text"
    assert not is_integer(getattr(model.a, "0"))
    assert is_integer(model.b)


def test_standalone():
    inner = PrepareCustomConfig().set_input_quantized_indexes([0]).set_output_quantized_indexes([0])
    custom = PrepareCustomConfig().set_standalone_module_name("a", None, (numbers(3, 4),), inner, None)
    model, x = prepare_parts(X86, prepare_custom_config=custom)
    exact = fill(Parts()).eval()(x)
    assert is_integer(getattr(model.a, "0"))
    assert float((model(x) - exact).abs().max()) < 0.05


class Observed(nn.Module):
    def __init__(self, linear):
        super().__init__()
        self.linear = linear

    @classmethod
    def from_float(cls, module):
        result = cls(module)
        result.qconfig = module.qconfig
        return result

    def forward(self, x):
        return self.linear(x)


class Quantized(nn.Module):
    def __init__(self, linear):
        super().__init__()
        self.linear = linear

    @classmethod
    def from_observed(cls, module):
        return cls(module.linear)

    def forward(self, x):
        return tq.quantize_per_tensor(self.linear(x.dequantize()), 0.1, 64, tq.quint8)


def test_custom_class():
    custom = PrepareCustomConfig().set_float_to_observed_mapping(nn.Sequential, Observed)
    x = numbers(3, 4)
    prepared = prepare_fx(fill(Parts()).eval(), X86, (x,), prepare_custom_config=custom)
    assert type(prepared.a) is Observed
    prepared(x)
    model = convert_fx(prepared, ConvertCustomConfig().set_observed_to_quantized_mapping(Observed, Quantized))
    assert type(model.a) is Quantized
    assert model(x).shape == (3, 2)


def test_a_custom_class_reads_the_observer_of_its_result():
    class FromObserver(Quantized):
        @classmethod
        def from_observed(cls, module):
            module.linear.qconfig = module.qconfig
            module.linear.activation_post_process = module.activation_post_process
            layer = cls(module.linear)
            layer.scale, layer.zero_point = module.activation_post_process.calculate_qparams()
            return layer

        def forward(self, x):
            x = self.linear(x.dequantize())
            return tq.quantize_per_tensor(x, float(self.scale), int(self.zero_point), tq.quint8)

    custom = PrepareCustomConfig().set_float_to_observed_mapping(nn.Sequential, Observed)
    x = numbers(3, 4)
    prepared = prepare_fx(fill(Parts()).eval(), X86, (x,), prepare_custom_config=custom)
    prepared(x)
    model = convert_fx(
        prepared, ConvertCustomConfig().set_observed_to_quantized_mapping(Observed, FromObserver)
    )
    expected = fill(Parts()).eval()(x)
    assert float((model(x) - expected).abs().max()) <= 0.05 * float(expected.abs().max())


def test_convert_leaves_the_prepared_model():
    x = numbers(3, 4)
    prepared = prepare_fx(fill(Parts()).eval(), X86, (x,))
    prepared(x)
    code = prepared.code
    first = convert_fx(prepared)(x)
    assert prepared.code == code
    assert tl_core.equal(convert_fx(prepared)(x), first)


def test_convert_mapping_leaves_a_part_in_floats():
    x = numbers(3, 4)
    prepared = prepare_fx(fill(Parts()).eval(), X86, (x,))
    prepared(x)
    model = convert_fx(
        prepared, qconfig_mapping=tq.get_default_qconfig_mapping("x86").set_object_type(nn.Linear, None)
    )
    assert not is_integer(model.b)
    with pytest.raises(ValueError, match="qconfig"):
        convert_fx(prepared, qconfig_mapping=tq.QConfigMapping().set_global(tq.default_dynamic_qconfig))


def test_fuse():
    net = nn.Sequential(nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 2))
    x = numbers(2, 2, 2, 2)
    fused = fuse_fx(fill(net).eval())
    assert [type(m).__name__ for m in fused.children()] == ["ConvReLU2d", "Flatten", "Linear"]
    assert tl_core.allclose(fused(x), net(x), atol=1e-6)


def test_errors():
    class Branch(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(Exception, match="control flow"):
        prepare_fx(Branch().eval(), X86, (numbers(2),))
    with pytest.raises(ValueError, match="GraphModule"):
        convert_fx(Parts())
    with pytest.raises(ValueError, match="STATIC"):
        PrepareCustomConfig().set_float_to_observed_mapping(
            nn.Linear, Observed, tq.quant_type.QuantType.DYNAMIC
        )
    with pytest.raises(AssertionError, match="evaluation"):
        prepare_fx(nn.Sequential(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)).train(), X86, (numbers(1, 1, 2, 2),))


def test_custom_config_dictionaries():
    entry = ("a", None, (numbers(1),), None, None)
    table = {
        "standalone_module_name": [entry],
        "float_to_observed_custom_module_class": {"static": {nn.Linear: Observed}},
        "non_traceable_module_name": ["b"],
        "input_quantized_idxs": [0],
        "preserved_attributes": ["note"],
    }
    config = PrepareCustomConfig.from_dict(table)
    assert config.to_dict() == table
    assert config.standalone_module_names["a"].example_inputs is entry[2]
    convert_table = {"observed_to_quantized_custom_module_class": {"static": {Observed: Quantized}}}
    assert ConvertCustomConfig.from_dict(convert_table).to_dict() == convert_table


class Twice(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.inner = nn.Sequential(kind)

    def forward(self, x):
        y = self.inner(x)
        return y, self.inner(4 * y), self.inner(x - 3)


@pytest.mark.parametrize("kind", [nn.Linear(4, 4), nn.Conv2d(2, 2, 1)])
def test_a_layer_called_several_times(kind):
    """Each call has a scale of its own. PyTorch gives all calls the scale of the last."""
    model = fill(Twice(kind).eval())
    x = numbers(8, 4) if isinstance(kind, nn.Linear) else numbers(2, 2, 5, 5)
    prepared = prepare_fx(model, X86, (x,))
    prepared(x)
    quantized = convert_fx(prepared)
    expected = model(x)
    for one, two in zip(quantized(x), expected, strict=True):
        assert (one - two).abs().max() < 0.05 * two.abs().max()
    layers = {str(n.target) for n in quantized.graph.nodes if n.op == "call_module"}
    assert layers == {"inner.0", "inner.0_call_1", "inner.0_call_2"}
    assert len({quantized.get_submodule(name).scale for name in layers}) == 3


@pytest.mark.parametrize(("layer", "shape"), [(nn.Linear(4, 3), (5, 4)), (nn.Conv2d(3, 4, 3), (2, 3, 6, 6))])
def test_decomposed_reference_layers_have_operators_that_export(layer, shape):
    x = tl_core.randn(shape)
    prepared = prepare_fx(nn.Sequential(layer).eval(), tq.get_default_qconfig_mapping("x86"), (x,))
    prepared(x)
    decomposed = _convert_to_reference_decomposed_fx(prepared)
    assert tl_core.allclose(
        getattr(decomposed, "0").get_weight(), getattr(convert_to_reference_fx(prepared), "0").get_weight()
    )
    targets = [str(node.target) for node in export_for_training(decomposed, (x,)).module().graph.nodes]
    assert "quantized_decomposed.quantize_per_channel.default" in targets


class _Twice(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part

    def forward(self, x):
        return self.part(x) + self.part(x)


def test_layers_that_are_called_twice_are_fused():
    model = _Twice(nn.Sequential(nn.Linear(3, 3), nn.ReLU())).eval()
    x = numbers(4, 3)
    fused = fuse_fx(model)
    assert calls(fused).count("part.0") == 2 and "part.1" not in calls(fused)
    assert tl_core.equal(fused(x), model(x))


class _Custom(nn.Module):
    def __init__(self, linear):
        super().__init__()
        self.linear = linear

    def forward(self, x):
        return self.linear(x)


class _Observed(_Custom):
    @classmethod
    def from_float(cls, module):
        observed = cls(module.linear)
        observed.qconfig = module.qconfig
        return observed


class _Quantized(_Custom):
    @classmethod
    def from_observed(cls, module):
        module.linear.activation_post_process = module.activation_post_process
        return cls(nnq.Linear.from_float(module.linear))


def test_a_custom_module_that_is_called_twice_is_exchanged_once():
    model = _Twice(_Custom(nn.Linear(3, 3))).eval()
    x = numbers(4, 3)
    custom = PrepareCustomConfig().set_float_to_observed_mapping(_Custom, _Observed)
    mapping = tq.QConfigMapping().set_global(tq.default_qconfig)
    prepared = prepare_fx(model, mapping, (x,), prepare_custom_config=custom)
    assert tl_core.allclose(prepared(x), model(x))
    custom = ConvertCustomConfig().set_observed_to_quantized_mapping(_Observed, _Quantized)
    converted = convert_fx(prepared, convert_custom_config=custom)
    assert type(converted.part) is _Quantized
    assert float((converted(x) - model(x)).abs().max()) < 0.05 * float(model(x).abs().max())
