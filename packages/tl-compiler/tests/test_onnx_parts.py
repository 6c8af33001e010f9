# ruff: noqa: I001 - libraries of the extra are asked for first
"""The parts of the exporter of ONNX models: sizes, names, element types, tensors, and operators against numpy."""

import importlib.util
import io
import math
import operator
import sys
import warnings

import pytest

import tl_core as tl
import tl_nn
import tl_nn.functional as F
from tl_compiler import fx
from tl_compiler.export import Dim
from tl_compiler.export import export as trace
from tl_compiler.onnx import (
    errors,
    export,
    model_file,
    model_names,
    operators,
    state,
    symbolic_helper,
    testing,
    utils,
)
from tl_compiler.onnx.axes import NamedAxes, axes_of_shapes, check_spec_texts, shapes_of_axes
from tl_compiler.onnx.capture import as_module
from tl_compiler.onnx.dtypes import onnx_dtype
from tl_compiler.onnx.exporting import Export
from tl_compiler.onnx.traced import program_of_run
from tl_core.operators.packets import aten
from tl_compiler.higher_order.loops import map as map_rows
from tl_core.subclasses import FakeTensorMode
from tl_core.symbolic.arithmetic import sym_float, sym_int

onnx = pytest.importorskip("onnx", reason="the export to ONNX is an extra")
pytest.importorskip("onnxscript", reason="the export to ONNX is an extra")

import numpy as np  # noqa: E402
import onnx_ir as ir  # noqa: E402

from tl_compiler.onnx import libraries, optimization  # noqa: E402
from tl_compiler.onnx.functions import complex_numbers, indexing, layers, numbers  # noqa: E402
from tl_compiler.onnx.functions import recurrent, reductions, registry  # noqa: E402
from tl_compiler.onnx.functions import sizes as size_functions  # noqa: E402
from tl_compiler.onnx.lowering import arguments, nodes, shapes, tensors, values  # noqa: E402
from tl_compiler.onnx.lowering.function_table import FunctionTable, names_of_node, operator_name  # noqa: E402
from tl_compiler.onnx.lowering.model import lower_program, prepared_program  # noqa: E402


def node_of(target, *args, **kwargs):
    """A node of a graph with a result from a run on the meta device."""
    graph = fx.Graph()
    return graph.call_function(target, args, kwargs)


# ---- dynamic sizes


class Sum(tl_nn.Module):
    def forward(self, x, y):
        return x + y


PAIR = (tl.ones(3, 4), tl.ones(3, 4))


def test_names_of_dynamic_sizes():
    named = axes_of_shapes(Sum(), PAIR, {}, {"x": {0: "rows"}, "y": {0: Dim("rows"), 1: None}})
    assert isinstance(named, NamedAxes) and [dict(d) for d in named.declared] == [{0: "rows"}, {0: "rows"}]
    by_input_name = axes_of_shapes(Sum(), PAIR, {}, {"a": {0: "n"}, "b": None}, ["a", "b"])
    assert [dict(d) for d in by_input_name.declared] == [{0: "n"}, {}]
    assert check_spec_texts({"x": PAIR[0], "y": 2}, {"x": {0: Dim("n")}, "y": None})[1] is None
    assert NamedAxes().symbol_names([1, 2]) == {}


def test_dynamic_axes_of_inputs():
    named = shapes_of_axes(Sum(), PAIR, {}, {"a": {0: "rows"}, "b": [0, 1], "out": [0]}, ["a", "b"], ["out"])
    assert named.declared[0] == {0: "rows"} and list(named.declared[1]) == [0, 1]
    program = trace(
        Sum(), PAIR, dynamic_shapes=axes_of_shapes(Sum(), PAIR, {}, [{0: Dim("n")}, {0: Dim("n")}]).shapes
    )
    assert not isinstance(next(iter(program.graph.nodes)).meta["val"].shape[0], int)


def test_models_are_modules():
    model = Sum()
    assert as_module(model) is model
    assert tl.equal(as_module(lambda x: x + 1)(tl.ones(2)), tl.full((2,), 2.0))
    with pytest.raises(errors.OnnxExporterError, match="got int"):
        as_module(3)


def test_the_program_of_one_run():
    with pytest.warns(errors.OnnxExporterWarning, match="example inputs"):
        program = program_of_run(Sum(), PAIR, {})
    assert tl.equal(program.module()(*PAIR), PAIR[0] + PAIR[1])


# ---- names, element types, errors


def test_element_types_of_onnx():
    for dtype in (tl.float32, tl.float16, tl.float64, tl.int8, tl.uint8, tl.int32, tl.int64, tl.bool):
        assert onnx_dtype(dtype) == onnx.helper.np_dtype_to_tensor_dtype(
            tl.zeros(1, dtype=dtype).numpy().dtype
        )
    with pytest.raises(ValueError, match="ONNX has no element type"):
        onnx_dtype(tl.complex32)
    assert shapes.element_type(tl.complex64) == shapes.element_type(tl.float32) == ir.DataType.FLOAT
    assert (shapes.number_type(2), shapes.number_type(2.0), shapes.number_type(True)) == (
        ir.DataType.INT64, ir.DataType.FLOAT, ir.DataType.BOOL
    )  # fmt: skip
    assert shapes.number_type("a") is None


def test_shapes_of_a_model():
    assert list(shapes.shape_of(tl.ones(2, 3), {})) == [2, 3]
    assert list(shapes.shape_of(tl.ones(2, 3, dtype=tl.complex64), {})) == [2, 3, 2]
    assert shapes.replace_words("2*s0 + s01", {"s0": "batch"}) == "2*batch + s01"


def test_errors_name_the_operator():
    error = errors.UnsupportedOperatorError("mine::op", 18, 20)
    assert (
        "mine::op" in str(error)
        and "operator set 18" in str(error)
        and "from operator set 20 on" in str(error)
    )
    assert "from operator set" not in str(errors.UnsupportedOperatorError("mine::op", 18))
    assert issubclass(errors.MissingLibraryError, ImportError)
    node = node_of(aten.relu.default, 1)
    assert nodes.line_of(node) == ""
    node.meta["stack_trace"] = (
        '  File "model.py", line 3, in forward\n    x.relu()\n  File "/tl_nn/a.py", line 1, in f\n    g()\n'
    )
    assert (
        nodes.line_of(node)
        == '\nThe operator is called here:\n  File "model.py", line 3, in forward\n    x.relu()'
    )
    failed = nodes.NodeError(node, "no reason")
    assert failed.names == ["aten::relu"] and "relu" in str(failed) and "no reason" in str(failed)
    assert set(nodes.origin_of(node)) and all(
        isinstance(text, str) for text in nodes.origin_of(node).values()
    )


def test_names_of_operators():
    assert operator_name(aten.add.Tensor) == "aten::add.Tensor" and operator_name(aten.relu) == "aten::relu"
    assert operator_name(operator.add) == "_operator::add" and operator_name(math.trunc) == "math::trunc"
    assert names_of_node(node_of(aten.relu.default))[0] == "aten::relu"


def test_names_of_a_model():
    model = export(Sum(), PAIR).model
    model_names.rename_inputs(model, ["left", "right"])
    model_names.rename_outputs(model, ["total"])
    assert [v.name for v in model.graph.inputs] == ["left", "right"] and model.graph.outputs[
        0
    ].name == "total"
    with pytest.raises(errors.OnnxExporterError, match="output_names has 2 names, but the model has 1"):
        model_names.rename_outputs(model, ["a", "b"])


# ---- arguments of operators


def test_arguments_by_the_names_of_the_schema():
    node = node_of(aten.add.Tensor, 1, 2, alpha=3)
    assert arguments.named_arguments(node) == {"self": 1, "other": 2, "alpha": 3}
    assert (
        arguments.schema_defaults(node) == {"alpha": 1}
        and arguments.named_arguments(node_of(operator.add, 1, 2)) is None
    )
    assert arguments.result_dtype(node) is None
    node.meta["val"] = [(tl.ones(1, dtype=tl.float16),), 3]
    assert arguments.result_dtype(node) is tl.float16


@pytest.mark.parametrize(
    ("operands", "dtype"),
    [
        ([tl.ones(2, dtype=tl.int64), 1.5], "float32"), ([tl.ones(2, dtype=tl.int8), 3], "int8"),
        ([tl.ones(2, dtype=tl.float16), tl.ones((), dtype=tl.float64)], "float16"),
        ([tl.ones((), dtype=tl.float64), tl.ones(2, dtype=tl.int32), True], "float64"),
    ],
)  # fmt: skip
def test_promotion_of_operands(operands, dtype):
    assert str(arguments.promote(operands)).endswith(dtype)


def test_signatures_of_functions():
    from onnxscript import FLOAT, opset20

    def scaled(x: FLOAT, factor: float = 2.0) -> FLOAT:
        return opset20.Mul(x, factor)

    assert [p.name for p in arguments.signature_of(scaled).params] == ["x", "factor"]


def test_the_library_of_functions():
    modules = libraries.libraries()
    assert isinstance(modules, libraries.Libraries) and modules.onnx is onnx and modules.ir is ir
    assert {
        "aten::relu",
        "aten::add.Tensor",
    } <= libraries.function_library().keys() and "torch" not in sys.modules
    table = FunctionTable(20, {aten.relu.default: lambda x: x})
    assert table.has(aten.relu.default) and not FunctionTable(20).has(aten.qr.default)
    if importlib.util.find_spec("onnxruntime") is None:
        with pytest.raises(errors.MissingLibraryError, match="onnxruntime"):
            libraries.runtime()


# ---- tensors and files


@pytest.mark.parametrize(
    "dtype", [tl.float32, tl.bfloat16, tl.float8_e4m3fn, tl.int64, tl.bool, tl.complex64]
)
def test_tensors_become_arrays_and_return(dtype):
    x = tl.tensor([0.0, 1.0, 2.0]).to(dtype)
    array = tensors.array_of(x)
    assert array.shape == (3,) and array.astype(complex).tolist() == x.to(tl.complex64).tolist()
    back = tensors.tensor_of(array)
    assert back.dtype is dtype and back.tolist() == x.tolist()


def test_fake_tensors_have_no_numbers():
    with FakeTensorMode():
        fake = tl.ones(2, 3)
    pending = tensors.model_tensor(fake, "w")
    assert tuple(pending.shape) == (2, 3) and tensors.model_tensor(tl.ones(2), "v").numpy().tolist() == [1, 1]
    with pytest.raises(errors.OnnxExporterError, match="w of the model is a fake tensor without numbers"):
        pending.numpy()
    with pytest.raises(errors.OnnxExporterError, match="apply_weights"):
        tensors.pending_tensor("v", ir.DataType.FLOAT, ir.Shape([1])).numpy()
    assert values.constant_of(ir.Value(name="x")) is None
    assert values.constant_of(ir.Value(name="x", const_value=ir.tensor([1, 2]))).tolist() == [1, 2]
    assert issubclass(values.Value, ir.Value)


def test_the_size_of_a_model(tmp_path):
    model = export(tl_nn.Linear(3, 2).eval(), (tl.ones(1, 3),)).model
    assert model_file.size_of(model) == (3 * 2 + 2) * 4
    model_file.check_tensors(model)
    for initializers in (True, False):
        target = io.BytesIO()
        model_file.save_model(model, target, initializers, False, None)
        assert len(onnx.load_from_string(target.getvalue()).graph.initializer) == 2 * initializers
    large = export(tl_nn.Linear(64, 32).eval(), (tl.ones(1, 64),)).model
    model_file.save_model(large, tmp_path / "model.onnx", True, True, True)
    graph = onnx.load(tmp_path / "model.onnx").graph
    assert len(graph.input) == 3 and (tmp_path / "model.onnx.data").stat().st_size >= 64 * 32 * 4


def test_a_model_is_converted_to_another_operator_set():
    model = export(tl_nn.Linear(3, 2).eval(), (tl.ones(1, 3),)).model
    optimization.convert(model, 21)
    assert model.graph.opset_imports[""] == 21


def test_sizes_as_tensors():
    x = tl.arange(6).reshape(2, 3)
    assert operators.shape_as_tensor(x).tolist() == [2, 3]
    assert operators.reshape_from_tensor_shape(x, tl.tensor([3, 2])).tolist() == [[0, 1], [2, 3], [4, 5]]


def test_regions_of_an_export():
    from tl_compiler.onnx import is_in_onnx_export

    with state.exporting():
        assert is_in_onnx_export()
        with pytest.raises(ZeroDivisionError), state.exporting():
            1 / 0  # noqa: B018
        assert is_in_onnx_export()
    assert not is_in_onnx_export()


def test_helpers_of_symbolic_functions():
    assert (
        symbolic_helper.quantized_args(True)(abs) is abs
        and symbolic_helper.check_training_mode(1, "dropout") is None
    )
    assert symbolic_helper.args_have_same_dtype(
        [tl.ones(1), 2.0]
    ) and not symbolic_helper.args_have_same_dtype([1, 2.0])
    assert symbolic_helper.args_have_same_dtype([]) and not symbolic_helper.is_complex_value(3)
    value = ir.Value(name="x", type=ir.TensorType(ir.DataType.FLOAT))
    assert not symbolic_helper.is_complex_value(value)
    assert "x" in utils.model_signature(Sum()).parameters


def test_a_program_is_checked_by_its_model():
    program = export(Sum(), PAIR)
    testing.assert_onnx_program(program, backend="reference")
    onnx.checker.check_model(program.model_proto)
    for node in program.model.graph:
        node.op_type = "Sub"
    with pytest.raises(AssertionError):
        testing.assert_onnx_program(program, backend="reference")


def test_the_steps_of_an_export():
    with pytest.raises(ValueError, match="opset_version must be between"):
        Export(Sum(), PAIR, {}, 3, False)
    ep = trace(Sum(), PAIR)
    table = FunctionTable(20)
    model = lower_program(prepared_program(ep, table), table, {})
    assert [n.op_type for n in model.graph] == ["Add"] and [v.name for v in model.graph.inputs] == ["x", "y"]
    assert arguments.Arguments(node_of(aten.relu.default), None, {}).plain([tl.float32, 2]) == [1, 2]


# ---- operators against numpy

X = np.array([[3.0, -1.0, 2.0], [0.5, 4.0, -2.0]], dtype=np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gru_step(x, h, w, v, a, b):
    r, z, n = np.split(x @ w.T + a, 3, -1)
    hr, hz, hn = np.split(h @ v.T + b, 3, -1)
    new = np.tanh(n + sigmoid(r + hr) * hn)
    update = sigmoid(z + hz)
    return (1 - update) * new + update * h


def ramp(*shape):
    return (np.arange(math.prod(shape), dtype=np.float32).reshape(shape) - 3) / 10


CELL = [ramp(2, 3), ramp(2, 2), ramp(6, 3), ramp(6, 2), ramp(6), ramp(6) * 2]
SMALL = [ramp(2, 3), ramp(2, 2), ramp(2, 3), ramp(2, 2), ramp(2), ramp(2) * 2]
LINE = ramp(1, 1, 7)

# The translation, an operator, a program, its arguments, and the result of numpy.
OPERATORS = [
    (reductions.std_mean, "aten::std_mean.correction", lambda x: tl.std_mean(x, 1), [X],
     lambda x: [x.std(1, ddof=1), x.mean(1)]),
    (reductions.aminmax, "aten::aminmax", lambda x: tuple(tl.aminmax(x, dim=1)), [X], lambda x: [x.min(1), x.max(1)]),
    (reductions.cummin, "aten::cummin", lambda x: tl.cummin(x, 0).values, [X],
     lambda x: [np.minimum.accumulate(x, 0)]),
    (reductions.sort_stable, "aten::sort.stable", lambda x: tuple(tl.sort(x, stable=True, dim=1)), [X],
     lambda x: [np.sort(x, 1), np.argsort(x, 1, kind="stable")]),
    (reductions.median_dim, "aten::median.dim", lambda x: tl.median(x, 1).values, [X], lambda x: [np.median(x, 1)]),
    (reductions.cdist_forward, "aten::_cdist_forward", lambda x: tl.cdist(x, x + 1, p=3.0), [X],
     lambda x: [(np.abs(x[:, None] - (x + 1)[None]) ** 3).sum(-1) ** (1 / 3)]),
    (numbers.search_sorted, "aten::searchsorted.Tensor", lambda a, x: tl.searchsorted(a, x, right=True),
     [np.array([0, 1, 2], np.float32), X], lambda a, x: [np.searchsorted(a, x, "right")]),
    (recurrent.gru_cell, "aten::gru_cell", tl.gru_cell, CELL, lambda *a: [gru_step(*a)]),
    (recurrent.rnn_cell, "aten::rnn_tanh_cell", tl.rnn_tanh_cell, SMALL,
     lambda x, h, w, v, a, b: [np.tanh(x @ w.T + a + h @ v.T + b)]),
    (recurrent.rnn_cell, "aten::rnn_relu_cell", tl.rnn_relu_cell, SMALL,
     lambda x, h, w, v, a, b: [np.maximum(x @ w.T + a + h @ v.T + b, 0)]),
    (layers.convolve, "aten::conv1d.padding", lambda x, w: F.conv1d(x, w, padding="same"), [LINE, ramp(1, 1, 4)],
     lambda x, w: [np.convolve(np.pad(x[0, 0], (1, 2)), w[0, 0, ::-1], "valid")[None, None]]),
    (layers.adaptive_avg_pool, "aten::_adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, (1, 2)),
     [ramp(1, 1, 2, 4)], lambda x: [x.reshape(1, 1, 2, 2, 2).mean((2, 4))[:, :, None]]),
    (layers.adaptive_max_pool, "aten::adaptive_max_pool1d", lambda x: F.adaptive_max_pool1d(x, 3), [LINE],
     lambda x: [np.array([[[x[0, 0, :3].max(), x[0, 0, 2:5].max(), x[0, 0, 4:].max()]]])]),
    (layers.upsample_nearest_exact, "aten::_upsample_nearest_exact1d",
     lambda x: F.interpolate(x, size=3, mode="nearest-exact"), [LINE], lambda x: [x[..., [1, 3, 5]]]),
    (complex_numbers.complex_, "aten::complex", lambda x: tl.view_as_real(tl.complex(x, x * 2)), [X],
     lambda x: [np.stack([x, 2 * x], -1)]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "name", "program", "args", "reference"), OPERATORS, ids=[o[1] for o in OPERATORS]
)
def test_operators_against_numpy(function, name, program, args, reference):
    assert registry.OWN.get(name) is function or registry.COMPLEX.get(name) is function
    model = export(program, tuple(tl.from_numpy(a) for a in args))
    onnx.checker.check_model(model.model_proto, full_check=True)
    results = model.call_reference(*(tl.from_numpy(a) for a in args))
    expected = reference(*args)
    assert len(results) == len(expected)
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(result.numpy(), value, rtol=2e-5, atol=1e-6)


def test_norms_of_differences():
    assert registry.OWN["aten::_distances"] is reductions.distances
    x = tl.from_numpy(X)
    for p in (0.0, 1.0, 2.0, 2.5, math.inf):
        (result,) = export(lambda a, p=p: tl.cdist(a, a + 1, p=p), (x,)).call_reference(x)
        difference = X[:, None] - (X + 1)[None]
        expected = np.array([[np.linalg.norm(d, p) for d in row] for row in difference])
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5)


def test_random_orders_have_each_number():
    assert registry.OWN["aten::randperm"] is indexing.randperm
    (result,) = export(lambda x: tl.randperm(7) + x, (tl.zeros(7, dtype=tl.int64),)).call_reference(
        tl.zeros(7, dtype=tl.int64)
    )
    assert sorted(result.tolist()) == list(range(7))


class Sizes(tl_nn.Module):
    def __init__(self, rule):
        super().__init__()
        self.rule = rule

    def forward(self, x):
        return x.sum() * 0 + self.rule(x.shape[0])


@pytest.mark.parametrize(
    ("function", "name", "rule"),
    [
        (size_functions.divide, "_operator::truediv", lambda n: n / 4),
        (size_functions.modulo, "_operator::mod", lambda n: n % 4),
        (size_functions.to_float, "sym::sym_float", lambda n: sym_float(n) * 0.5),
        (size_functions.square_root, "sym::_sym_sqrt", None),
        (size_functions.magnitude, "_operator::abs", lambda n: abs(3 - n)),
        (size_functions.truncate, "math::trunc", lambda n: math.trunc(n / 4)),
        (size_functions.to_int, "sym::sym_int", lambda n: sym_int(n / 4)),
        (size_functions.negation, "sym::sym_not", None),
    ],
)
def test_arithmetic_of_sizes(function, name, rule):
    assert registry.OWN[name] is function
    if rule is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = export(Sizes(rule), (tl.ones(6),), dynamic_shapes=({0: "n"},))
        for n in (2, 7, 13):
            (result,) = program.call_reference(tl.ones(n))
            assert result.item() == pytest.approx(float(rule(n)))


def test_functions_are_registered_under_their_names():
    try:
        function = registry.translates("mine::a", "mine::b")(abs)
        registry.translates_complex("mine::a")(max)
        assert function is registry.OWN["mine::a"] is registry.OWN["mine::b"] is abs
        assert registry.COMPLEX["mine::a"] is max and "mine::b" not in registry.COMPLEX
    finally:
        for name in ("mine::a", "mine::b"):
            registry.OWN.pop(name, None)
            registry.COMPLEX.pop(name, None)


def test_a_loop_over_rows():
    x = tl.from_numpy(X)
    program = export(lambda x: map_rows(lambda row: row * 2 + row.sum(), x), (x,))
    assert "Scan" in [node.op_type for node in program.model.graph]
    (result,) = program.call_reference(x)
    np.testing.assert_allclose(result.numpy(), X * 2 + X.sum(1, keepdims=True), rtol=1e-6)
