"""Quantized exported models: scales and results against numbers that torchao gave for the same models and data."""

from copy import deepcopy

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
import tl_quantization as tq
from tl_compiler.compiler import compile  # noqa: A004
from tl_compiler.export import export_for_training
from tl_compiler.fx import Graph, GraphModule
from tl_core.operators import packets
from tl_quantization.export.lowering import lower_to_integers
from tl_quantization.export.modes import allow_exported_model_train_eval, move_exported_model_to_eval
from tl_quantization.export.numeric_debugger import (
    compare_results,
    extract_results_from_loggers,
    generate_numeric_debug_handle,
    prepare_for_propagation_comparison,
)
from tl_quantization.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
from tl_quantization.quantizer import (
    DerivedQuantizationSpec,
    FixedQParamsQuantizationSpec,
    QuantizationAnnotation,
    QuantizationSpec,
    Quantizer,
    SharedQuantizationSpec,
)
from tl_quantization.quantizer.composable_quantizer import ComposableQuantizer
from tl_quantization.quantizer.embedding_quantizer import EmbeddingQuantizer
from tl_quantization.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
    get_x86_inductor_linear_dynamic_fp16_config,
)
from tl_quantization.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from tl_quantization.quantizer.xpu_inductor_quantizer import XPUInductorQuantizer

OPS = packets.quantized_decomposed


class Mlp(nn.Module):
    shape = (8, 16)

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(16, 32), nn.Linear(32, 8), nn.Linear(8, 4, bias=False)

    def forward(self, x):
        return self.c(tl.relu(self.b(tl.relu(self.a(x)))))


class Net(nn.Module):
    shape = (4, 3, 12, 12)

    def __init__(self):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.c2, self.b2 = nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.p, self.av, self.fc = nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Linear(8, 5)

    def forward(self, x):
        x = self.p(tl.relu(self.b1(self.c1(x))))
        x = tl.relu(self.b2(self.c2(x)) + x)
        return self.fc(tl.flatten(self.av(x), 1))


def filled(model):
    """The model with numbers of numpy's generator of seed 1."""
    random, state = np.random.RandomState(1), model.state_dict()
    for name, value in state.items():
        if value.dtype is tl.int64:
            continue
        numbers = random.randn(*value.shape).astype("float32") * 0.3
        state[name] = tl.from_numpy(np.abs(numbers) + 0.5 if "var" in name else numbers)
    model.load_state_dict(state)
    return model


def data_for(model):
    random = np.random.RandomState(5)
    return [tl.from_numpy(random.randn(*model.shape).astype("float32")) for _ in range(3)]


def xnnpack(**kwargs):
    return XNNPACKQuantizer().set_global(get_symmetric_quantization_config(**kwargs))


def x86(**kwargs):
    return X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config(**kwargs))


def exported(model, *inputs):
    return export_for_training(model, inputs).module()


def converted(model, quantizer, data, **kwargs):
    observed = prepare_pt2e(exported(model, data[0]), quantizer)
    for x in data:
        observed(x)
    return convert_pt2e(observed, **kwargs)


def calls(model, target):
    return [node for node in model.graph.nodes if node.op == "call_function" and node.target is target]


RECORDED = {
    ("mlp", "xnnpack"): (
        [
            (0.023240679875016212, 13),
            (0.015734964981675148, -128),
            (0.01708175055682659, -128),
            (0.011830716393887997, 2),
        ],
        [-0.11830716580152512, 0.4495672285556793, -0.14196859300136566, 0.0828150138258934],
    ),
    ("mlp", "x86"): (
        [(0.023240679875016212, 141), (0.015734964981675148, 0), (0.01708175055682659, 0)],
        [-0.13324299454689026, 0.44199326634407043, -0.14266765117645264, 0.08790582418441772],
    ),
    ("mlp", "x86 dynamic"): (
        [],
        [-0.13205738365650177, 0.4399445950984955, -0.1396917700767517, 0.08742327243089676],
    ),
    ("net", "xnnpack"): (
        [
            (0.028261203318834305, -1),
            (0.013794468715786934, -128),
            (0.013794468715786934, -128),
            (0.01892571896314621, -6),
            (0.017211206257343292, -128),
            (0.017211206257343292, -128),
            (0.017211206257343292, -128),
            (0.007310402113944292, -46),
        ],
        [
            1.0600082874298096,
            1.0453875064849854,
            0.03655201196670532,
            -0.445934534072876,
            0.10965602844953537,
        ],
    ),
    ("net", "x86"): (
        [(0.028261203318834305, 127), (0.01411158312112093, 0), (0.00633788388222456, 0)],
        [
            1.056727409362793,
            1.0331462621688843,
            0.03266367316246033,
            -0.44211235642433167,
            0.1275445967912674,
        ],
    ),
}  # fmt: skip
QUANTIZERS = {
    ("mlp", "xnnpack"): lambda: xnnpack(is_per_channel=True),
    ("mlp", "x86"): x86,
    ("mlp", "x86 dynamic"): lambda: x86(is_dynamic=True),
    ("net", "xnnpack"): xnnpack,
    ("net", "x86"): x86,
}


@pytest.mark.parametrize("case", list(RECORDED), ids=" ".join)
@pytest.mark.filterwarnings("ignore:The input of maxpool2d is not quantized")
def test_scales_and_results_are_those_of_pytorch(case):
    model = filled({"mlp": Mlp, "net": Net}[case[0]]()).eval()
    data = data_for(model)
    integers = converted(model, QUANTIZERS[case](), data)
    scales, row = RECORDED[case]
    quantizes = calls(integers, OPS.quantize_per_tensor.default)
    assert [node.args[1:3] for node in quantizes] == scales
    np.testing.assert_allclose(integers(data[0])[0].detach().numpy(), row, rtol=0, atol=1e-6)


def test_weights_are_stored_as_integers():
    data = data_for(Mlp)
    folded = converted(filled(Mlp()).eval(), xnnpack(is_per_channel=True), data)
    floating = converted(filled(Mlp()).eval(), xnnpack(is_per_channel=True), data, fold_quantize=False)
    assert {v.dtype for n, v in folded.state_dict().items() if n.startswith("_frozen")} == {tl.int8}
    assert not any(name.endswith("weight") for name in folded.state_dict())
    assert len(calls(floating, OPS.quantize_per_channel.default)) == 3
    np.testing.assert_array_equal(folded(data[0]).numpy(), floating(data[0]).detach().numpy())


def test_batch_normalization_is_folded():
    model = nn.Sequential(nn.Conv2d(2, 3, 3, bias=False), nn.BatchNorm2d(3)).eval()
    filled(model)
    x = tl.from_numpy(np.random.RandomState(0).randn(2, 2, 6, 6).astype("float32"))
    want = model(x).detach().numpy()
    observed = prepare_pt2e(exported(model, x), xnnpack())
    assert not calls(observed, packets.aten.batch_norm.default)
    np.testing.assert_allclose(observed(x).detach().numpy(), want, atol=1e-5)


class Trained(nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.conv, self.norm, self.relu = (
            nn.Conv2d(2, 4, 3, bias=bias),
            nn.BatchNorm2d(4, eps=1e-3),
            nn.ReLU(),
        )

    def forward(self, x):
        return self.relu(self.norm(self.conv(x)))


def rounded(x, node):
    """Numbers that a quantize with one scale rounds, by numpy."""
    scale, zero, low, high = node.args[1:5]
    steps = np.rint(x * np.float32(1 / scale)) + zero
    return ((np.clip(steps, low, high) - zero) * scale).astype("float32")


@pytest.mark.parametrize("bias", [True, False])
def test_training_folds_the_norm_it_has_trained(bias):
    model = filled(Trained(bias)).train()
    x = tl.from_numpy(np.random.RandomState(0).randn(8, 2, 7, 7).astype("float32"))
    observed = prepare_qat_pt2e(exported(model, x), xnnpack(is_qat=True))
    for _ in range(3):
        loss = observed(x).square().mean()
        loss.backward()
        with tl.no_grad():
            for parameter in observed.parameters():
                parameter -= 0.01 * parameter.grad
                parameter.grad = None
    move_exported_model_to_eval(observed)
    state = {name: value.numpy() for name, value in observed.state_dict().items()}
    integers = convert_pt2e(observed, fold_quantize=False)
    assert not calls(integers, packets.aten.batch_norm.default)
    assert not calls(integers, packets.aten.div.Tensor)
    scale = state["norm.weight"] / np.sqrt(state["norm.running_var"] + 1e-3)
    shift = state["norm.bias"] + (state.get("conv.bias", 0) - state["norm.running_mean"]) * scale
    first, weight, last = calls(integers, OPS.quantize_per_tensor.default)
    folded = rounded(state["conv.weight"] * scale[:, None, None, None], weight)
    arrays = (rounded(x.numpy(), first), folded, shift.astype("float32"))
    want = rounded(nn.functional.conv2d(*map(tl.from_numpy, arrays)).relu().numpy(), last)
    assert np.abs(integers(x).detach().numpy() - want).max() <= 1.01 * last.args[1]


def test_training_rounds_the_scaled_weight():
    model = filled(Trained(True)).train()
    x = tl.from_numpy(np.random.RandomState(0).randn(8, 2, 7, 7).astype("float32"))
    observed = prepare_qat_pt2e(exported(model, x), xnnpack(is_per_channel=True, is_qat=True))
    weight = calls(observed, packets.aten.conv2d.default)[0].args[1]
    assert weight.op == "call_module"
    assert weight.args[0].target is packets.aten.mul.Tensor
    expected, result = model(x).detach().numpy(), observed(x).detach().numpy()
    assert np.abs(expected - result).max() < 0.05


def test_modes_of_exported_models():
    model = exported(
        nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4)).train(), tl.rand(3, 4)
    )
    with pytest.raises(NotImplementedError):
        model.eval()
    allow_exported_model_train_eval(model).eval()
    x = tl.rand(3, 4)
    np.testing.assert_array_equal(model(x).detach().numpy(), model(x).detach().numpy())
    model.train()
    assert calls(model, packets.aten.dropout.default)[0].args[2] is True
    observed = prepare_pt2e(exported(nn.Linear(4, 4).eval(), x), xnnpack())
    with pytest.raises(NotImplementedError, match=r"train\(\) or eval\(\)"):
        observed.train()


# ---- specifications --------------------------------------------------------------------------------------------------


class Annotating(Quantizer):
    """A quantizer that annotates by a function of the nodes by name."""

    def __init__(self, annotate):
        self.function = annotate

    def annotate(self, model):
        self.function({node.name: node for node in model.graph.nodes})
        return model

    def validate(self, model):
        pass


def activation(**kwargs):
    return QuantizationSpec(tl.int8, tq.MinMaxObserver, -128, 127, tq.per_tensor_affine, **kwargs)


def test_derived_scale_of_a_bias():
    def annotate(nodes):
        linear = nodes["linear"]
        x, weight, bias = linear.args

        def product(observers):
            (first, _), (second, _) = (observer.calculate_qparams() for observer in observers)
            return first * second, tl.tensor([0], dtype=tl.int32)

        derived = DerivedQuantizationSpec(
            [(x, linear), (weight, linear)], product, tl.int32, -(2**31), 2**31 - 1, tq.per_tensor_symmetric
        )
        linear.meta["quantization_annotation"] = QuantizationAnnotation(
            {x: activation(), weight: activation(), bias: derived}, activation(), _annotated=True
        )

    x = tl.rand(4, 3)
    integers = converted(nn.Linear(3, 2).eval(), Annotating(annotate), [x])
    scales = [node.args[1] for node in calls(integers, OPS.dequantize_per_tensor.default)]
    by_dtype = {node.args[5]: node.args[1] for node in calls(integers, OPS.dequantize_per_tensor.default)}
    assert any(np.isclose(by_dtype[tl.int32], a * b) for a in scales for b in scales)


def test_shared_and_fixed_scales():
    def annotate(nodes):
        cat, (x, y) = nodes["cat"], nodes["cat"].args[0]
        cat.meta["quantization_annotation"] = QuantizationAnnotation(
            {x: activation(), y: SharedQuantizationSpec((x, cat))},
            SharedQuantizationSpec((x, cat)),
            _annotated=True,
        )
        fixed = FixedQParamsQuantizationSpec(tl.uint8, 1 / 256, 0, 0, 255, tq.per_tensor_affine)
        nodes["sigmoid"].meta["quantization_annotation"] = QuantizationAnnotation(
            output_qspec=fixed, _annotated=True
        )

    class Join(nn.Module):
        def forward(self, x, y):
            return tl.cat([x, y]).sigmoid()

    x, y = tl.rand(2, 3), tl.rand(2, 3) * 4
    observed = prepare_pt2e(exported(Join(), x, y), Annotating(annotate))
    observed(x, y)
    quantizes = calls(convert_pt2e(observed), OPS.quantize_per_tensor.default)
    assert len({node.args[1] for node in quantizes[:3]}) == 1
    assert quantizes[3].args[1:3] == (1 / 256, 0)


def test_bad_specifications():
    with pytest.raises(ValueError, match="quant_min 3 must be <= quant_max 2"):
        QuantizationSpec(tl.int8, tq.MinMaxObserver, 3, 2)
    with pytest.raises(ValueError, match="Ch_axis"):
        QuantizationSpec(tl.int8, tq.MinMaxObserver, ch_axis=-1)

    def to_nothing(nodes):
        linear = nodes["linear"]
        linear.meta["quantization_annotation"] = QuantizationAnnotation(
            {linear.args[0]: SharedQuantizationSpec(linear)}, _annotated=True
        )

    with pytest.raises(RuntimeError, match="isn't annotated"):
        prepare_pt2e(exported(nn.Linear(2, 2).eval(), tl.rand(1, 2)), Annotating(to_nothing))


def test_numbers_that_stay_floats_leave_no_observer():
    def to_floats(nodes):
        spec = QuantizationSpec(tl.float32, tq.PlaceholderObserver.with_args(dtype=tl.float32))
        nodes["linear"].meta["quantization_annotation"] = QuantizationAnnotation(
            {nodes["linear"].args[0]: spec}, spec, _annotated=True
        )

    x, model = tl.rand(1, 2), nn.Linear(2, 2).eval()
    prepared = prepare_pt2e(exported(model, x), Annotating(to_floats))
    assert sum(node.op == "call_module" for node in prepared.graph.nodes) == 2
    result = convert_pt2e(prepared)
    assert [n.target for n in result.graph.nodes if n.op.startswith("call")] == [packets.aten.linear.default]
    assert tl.equal(result(x), model(x)) and not dict(result.named_children())


# ---- quantizers ------------------------------------------------------------------------------------------------------


def test_configurations_of_operators_are_stored():
    first, second = (
        get_symmetric_quantization_config(),
        get_symmetric_quantization_config(is_per_channel=True),
    )
    quantizer = XNNPACKQuantizer().set_operator_type(packets.aten.add.Tensor, first)
    assert quantizer.set_operator_type(packets.aten.mul.Tensor, second) is quantizer
    assert quantizer.operator_type_config == {packets.aten.add.Tensor: first, packets.aten.mul.Tensor: second}


def test_parts_of_a_model():
    model = filled(Mlp()).eval()
    config = get_default_x86_inductor_quantization_config()
    quantizer = X86InductorQuantizer().set_global(config).set_module_name_qconfig("b", None)
    data = data_for(model)
    integers = converted(model, quantizer, data)
    assert len(calls(integers, OPS.dequantize_per_channel.default)) == 2
    by_name = XNNPACKQuantizer().set_module_name("b", get_symmetric_quantization_config())
    # The input and the result of `b`, and the ReLU that shares the result's scale.
    assert len(calls(converted(model, by_name, data), OPS.quantize_per_tensor.default)) == 3
    with pytest.warns(UserWarning, match="Mixed dynamic and static"), pytest.warns(UserWarning, match="Skip"):
        quantizer.set_module_name_qconfig("a", get_default_x86_inductor_quantization_config(is_dynamic=True))
    with pytest.warns(UserWarning, match="Unable to customize"):
        quantizer.set_module_type_qconfig(nn.Softmax, config)


def test_quantizers_side_by_side():
    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.linear = nn.Embedding(10, 4), nn.Linear(4, 2)

        def forward(self, x):
            return self.linear(self.words(x))

    quantizer = ComposableQuantizer([EmbeddingQuantizer(), xnnpack()])
    x = tl.tensor([1, 2, 9])
    model = Words().eval()
    integers = converted(model, quantizer, [x])
    assert len(calls(integers, OPS.dequantize_per_channel.default)) == 1
    assert float((integers(x) - model(x)).abs().max()) < 0.1
    with pytest.raises(NotImplementedError, match="'xpu'"):
        XPUInductorQuantizer()


def test_nothing_to_quantize_warns_and_says_why():
    with pytest.warns(UserWarning, match=r"annotated no node.*aten\.sigmoid\.default.*set_global"):
        prepare_pt2e(exported(nn.Sigmoid(), tl.rand(2)), X86InductorQuantizer())
    with pytest.raises(TypeError, match="Sigmoid"):
        prepare_pt2e(nn.Sigmoid(), x86())
    with pytest.raises(ValueError, match="prepare_pt2e"):
        convert_pt2e(exported(nn.Sigmoid(), tl.rand(2)))
    with pytest.raises(ValueError, match="fold_quantize"):
        convert_pt2e(exported(nn.Sigmoid(), tl.rand(2)), fold_quantize=1)


def test_a_copy_converts_as_its_original():
    model, x = filled(Mlp()).eval(), data_for(Mlp)[0]
    observed = prepare_pt2e(exported(model, x), xnnpack())
    observed(x)
    first, second = convert_pt2e(deepcopy(observed)), convert_pt2e(observed)
    np.testing.assert_array_equal(first(x).numpy(), second(x).numpy())


# ---- lowering, numbers side by side ----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [x86, xnnpack, lambda: xnnpack(is_per_channel=True)])
def test_lowered_layers_agree_within_a_step(make):
    model = filled(Mlp()).eval()
    data = data_for(model)
    integers = converted(model, make(), data)
    lowered = lower_to_integers(integers)
    assert not calls(lowered, packets.aten.linear.default)
    assert {v.dtype for n, v in lowered.state_dict().items() if n.endswith((".packed", ".weight"))} == {
        tl.int8
    }
    steps = [node.args[1] for node in calls(integers, OPS.quantize_per_tensor.default)]
    for x in data:
        assert float((lowered(x) - integers(x)).abs().max()) <= 1.01 * max(steps)


@pytest.mark.parametrize("groups", [1, 2])
def test_lowered_convolution(groups):
    model = nn.Sequential(nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=groups), nn.ReLU()).eval()
    x = tl.from_numpy(np.random.RandomState(0).randn(2, 4, 9, 8).astype("float32"))
    integers = converted(model, xnnpack(is_per_channel=True), [x])
    lowered = lower_to_integers(integers)
    assert not calls(lowered, packets.aten.conv2d.default)
    step = calls(integers, OPS.quantize_per_tensor.default)[-1].args[1]
    assert float((lowered(x) - integers(x)).abs().max()) <= 1.01 * step


def test_weights_of_float16_are_converted_in_the_graph():
    model, x = filled(Mlp()).eval(), data_for(Mlp)[0]
    quantizer = x86().set_module_type_qconfig(nn.Linear, get_x86_inductor_linear_dynamic_fp16_config())
    integers = converted(model, quantizer, [x])
    assert len(calls(integers, OPS.convert_element_type.no_fuse)) == 6
    with tl.no_grad():
        for parameter in [model.a.weight, model.b.weight, model.c.weight]:
            parameter.copy_(parameter.half().float())
        assert tl.equal(integers(x), model(x))


def test_values_of_two_models():
    model, x = filled(Mlp()).eval(), data_for(Mlp)[0]
    program = export_for_training(model, (x,))
    generate_numeric_debug_handle(program)
    reference = prepare_for_propagation_comparison(program.module())
    observed = prepare_pt2e(program.module(), xnnpack())
    observed(x)
    actual = prepare_for_propagation_comparison(convert_pt2e(observed))
    reference(x)
    actual(x)
    table = compare_results(extract_results_from_loggers(reference), extract_results_from_loggers(actual))
    assert len(table) == 5  # of the layers: inputs have no numbers
    assert all(float(entry.results[0].sqnr) > 20 for entry in table.values())


# ---- integer kernels -------------------------------------------------------------------------------------------------


def kinds_of(model):
    return [type(model.get_submodule(n.target)).__name__ for n in model.graph.nodes if n.op == "call_module"]


@pytest.mark.filterwarnings("ignore:The input of maxpool2d")
def test_compile_runs_the_integer_kernels():
    model = filled(Net()).eval()
    data = data_for(model)
    integers = converted(model, x86(), data)
    lowered, fast = lower_to_integers(integers), compile(integers)
    assert kinds_of(lowered) == ["IntegerConvolution", "IntegerConvolution", "IntegerLinear"]
    step = max(node.args[1] for node in calls(integers, OPS.quantize_per_tensor.default))
    with tl.no_grad():
        for x in data:
            assert tl.equal(fast(x), lowered(x))
            assert float((fast(x) - integers(x)).abs().max()) <= 2 * step
        packed = fast.dynamo_ctx.get_compiled().region_function.result
        assert kinds_of(packed) == kinds_of(lowered)
    assert tl.equal(fast(data[0]), integers(data[0]))  # with gradients, the module itself


def test_layers_without_a_quantize_behind_them_return_the_exact_sum():
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.ReLU()).eval()
    x = tl.from_numpy(np.random.RandomState(0).randn(2, 3, 6, 5).astype("float32"))
    integers = converted(model, x86(), [x])
    lowered = lower_to_integers(integers)
    assert kinds_of(lowered) == ["IntegerConvolution"]
    # Both compute the same numbers. One sums floats, the other one integers.
    assert float((lowered(x) - integers(x)).abs().max()) < 1e-6


class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 4, 1)

    def forward(self, x):
        return self.b(tl.max_pool2d(tl.relu(self.a(x)), 2).transpose(2, 3))


@pytest.mark.filterwarnings("ignore:The input of maxpool2d")
def test_a_quantize_moves_before_pools_and_views():
    model = Pooled().eval()
    x = tl.from_numpy(np.random.RandomState(3).randn(2, 3, 8, 6).astype("float32"))
    integers = converted(model, x86(), [x])
    lowered = lower_to_integers(integers)
    layers = [n for n in lowered.graph.nodes if n.op == "call_module"]
    assert lowered.get_submodule(layers[0].target).target is not None  # returns integers
    (pool,) = calls(lowered, packets.aten.max_pool2d.default)
    assert pool.args[0] is layers[0]
    step = calls(integers, OPS.quantize_per_tensor.default)[-1].args[1]
    assert float((lowered(x) - integers(x)).abs().max()) <= 2 * step


def test_dynamic_linear_layers():
    model, x = filled(Mlp()).eval(), data_for(Mlp)[0]
    integers = converted(model, x86(is_dynamic=True), [x])
    lowered = lower_to_integers(integers)
    assert kinds_of(lowered) == ["DynamicLinear"] * 3
    assert not calls(lowered, OPS.choose_qparams.tensor)
    assert float((lowered(x) - integers(x)).abs().max()) < 0.005


def test_embeddings_read_rows_of_integers():
    model = nn.Sequential(nn.Embedding(50, 8)).eval()
    x = tl.tensor([[3, 49], [0, 3]])
    integers = converted(model, EmbeddingQuantizer(), [x])
    lowered = lower_to_integers(integers)
    assert not calls(lowered, OPS.dequantize_per_channel.default)
    assert {v.dtype for v in lowered.state_dict().values()} >= {tl.uint8}
    assert tl.equal(lowered(x), integers(x))


def test_equal_quantizes_are_one():
    graph = Graph()
    x = graph.placeholder("x")
    args = (0.5, 0, -128, 127, tl.int8)
    first, second = (graph.call_function(OPS.quantize_per_tensor.default, (x, *args)) for _ in range(2))
    numbers = graph.call_function(OPS.dequantize_per_tensor.default, (second, *args))
    again = graph.call_function(OPS.quantize_per_tensor.default, (numbers, *args))
    joined = graph.call_function(packets.aten.cat.default, ([numbers, numbers], 0))
    graph.output((first, again, joined))
    model = GraphModule(nn.Module(), graph)
    lowered, value = lower_to_integers(model), tl.tensor([0.3, -1.0, 99.0])
    assert len(calls(lowered, OPS.quantize_per_tensor.default)) == 1
    (cat,) = calls(lowered, packets.aten.cat.default)
    assert [node.target for node in cat.users] == [OPS.dequantize_per_tensor.default]
    assert all(map(tl.equal, lowered(value), model(value)))


@pytest.mark.parametrize(
    "activation",
    [nn.ReLU(), nn.ReLU(inplace=True), nn.ReLU6(), nn.Hardswish(), nn.Hardtanh(0.0, 6.0), nn.SiLU()],
)
def test_activations_that_are_modules_belong_to_their_convolution(activation):
    """A max pool behind takes integers, and no observer is between the layer and its activation."""
    net, x = nn.Sequential(nn.Conv2d(3, 6, 2), activation, nn.MaxPool2d(3)).eval(), tl.randn(2, 3, 8, 8)
    quantizer = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config())
    prepared = prepare_pt2e(export_for_training(net, (x,)).module(), quantizer)
    calls = [str(node.target) for node in prepared.graph.nodes if node.op.startswith("call")]
    kinds = ["observer" if name.startswith("activation_post") else name.split(".")[1] for name in calls]
    assert kinds[:2] == ["observer"] * 2 and kinds[2] == "conv2d"
    assert kinds[4:] == ["observer", "max_pool2d", "observer"]


def test_bfloat16_stays_bfloat16():
    net, x = nn.Sequential(nn.Linear(8, 4)).to(tl.bfloat16).eval(), tl.randn(3, 8).to(tl.bfloat16)
    quantizer = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config())
    prepared = prepare_pt2e(export_for_training(net, (x,)).module(), quantizer)
    prepared(x)
    result = convert_pt2e(prepared)(x)
    assert result.dtype is tl.bfloat16 and float((result - net(x)).abs().max()) < 0.05
