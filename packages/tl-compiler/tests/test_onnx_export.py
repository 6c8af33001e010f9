"""The exporter of ONNX models: names, sizes, files, errors, reports, functions of the user."""

import importlib.util
import io
import json
import sys
import threading
import warnings
from pathlib import Path

import pytest

import tl_core as tl
import tl_nn
from tl_checkpoint import load
from tl_compiler import jit
from tl_compiler.export import Dim
from tl_compiler.export import export as trace
from tl_compiler.onnx import (
    OnnxExporterError,
    OnnxExporterWarning,
    ONNXProgram,
    TrainingMode,
    export,
    is_in_onnx_export,
    register_custom_op_symbolic,
    symbolic_functions,
    unregister_custom_op_symbolic,
    utils,
    verification,
)
from tl_compiler.onnx.symbolic_helper import parse_args
from tl_core.subclasses import FakeTensorMode

onnx = pytest.importorskip("onnx", reason="the export to ONNX is an extra")
pytest.importorskip("onnx.reference", reason="the export to ONNX is an extra")
pytest.importorskip("onnxscript", reason="the export to ONNX is an extra")
HAS_RUNTIME = importlib.util.find_spec("onnxruntime") is not None


class Model(tl_nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = tl_nn.Linear(3, 2)
        self.drop = tl_nn.Dropout(0.5)
        self.register_buffer("scale", tl.tensor([2.0, 3.0]))

    def forward(self, x, times=1, *, shift=None):
        y = self.drop(self.linear(x)) * self.scale * times
        return y if shift is None else (y, y + shift)


@pytest.fixture(scope="module")
def program():
    tl.manual_seed(0)
    return export(Model().eval(), (tl.ones(4, 3),))


def operators(program):
    return [node.op_type for node in program.model.graph]


def test_names_and_metadata(program):
    graph = program.model_proto.graph
    assert [i.name for i in graph.input] == ["x"] and len(graph.output) == 1
    assert {"linear.weight", "linear.bias", "scale"} <= {i.name for i in graph.initializer}
    assert program.model_proto.producer_name == "tl"
    assert [o.version for o in program.model_proto.opset_import] == [20]
    (gemm,) = [n for n in program.model.graph if n.op_type == "Gemm"]
    assert "forward" not in gemm.metadata_props["namespace"]
    assert json.loads(gemm.metadata_props["pkg.torch.onnx.name_scopes"])[:2] == ["", "linear"]
    assert "test_onnx_export.py" in gemm.metadata_props["pkg.torch.onnx.stack_trace"]


def test_names_of_the_user():
    names = ["input", "w", "b"]
    program = export(Model().eval(), (tl.ones(4, 3),), input_names=names, output_names=["scores"])
    graph = program.model_proto.graph
    assert [i.name for i in graph.input] == ["input"] and [o.name for o in graph.output] == ["scores"]
    onnx.checker.check_model(program.model_proto)
    (result,) = program.call_reference(tl.ones(4, 3))
    assert result.shape == (4, 2)
    with pytest.raises(OnnxExporterError, match="output_names has 2 names"):
        export(Model().eval(), (tl.ones(4, 3),), output_names=["a", "b"])
    with pytest.raises(OnnxExporterError, match="twice"):
        export(Model().eval(), (tl.ones(4, 3),), input_names=["a", "a"])


def test_a_name_of_a_value_goes_to_the_output():
    class Two(tl_nn.Module):
        def forward(self, x):
            return x.sin().cos()

    program = export(Two(), (tl.ones(2),), input_names=["cos"], output_names=["sin"])
    onnx.checker.check_model(program.model_proto)
    assert [i.name for i in program.model.graph.inputs] == ["cos"]
    assert [o.name for o in program.model.graph.outputs] == ["sin"]


@pytest.mark.parametrize("shapes", [({0: "n"},), {"x": {0: Dim("n")}}, ({0: Dim.DYNAMIC},), [("n", None)]])
def test_dynamic_shapes(shapes):
    program = export(One(), (tl.ones(4, 3),), dynamic_shapes=shapes)
    (size, features) = program.model.graph.inputs[0].shape
    assert not isinstance(size, int) and features == 3
    if not (isinstance(shapes, tuple) and shapes[0][0] is Dim.DYNAMIC):
        assert str(size) == "n"
    for rows in (1, 5):
        assert program.call_reference(tl.ones(rows, 3))[0].shape == (rows, 2)


class One(tl_nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = tl_nn.Linear(3, 2)

    def forward(self, x):
        return self.linear(x)


def test_expressions_of_sizes_have_the_names():
    program = export(lambda x: tl.cat([x, x]), (tl.ones(4, 3),), dynamic_shapes=({0: "rows"},))
    assert str(program.model.graph.outputs[0].shape[0]) == "2*rows"
    program.rename_axes({"rows": "n"})
    assert str(program.model.graph.inputs[0].shape[0]) == "n"
    assert str(program.model.graph.outputs[0].shape[0]) == "2*n"


def test_dynamic_axes():
    axes = {"input": {0: "batch"}, "output": [0]}
    program = export(
        One(), (tl.ones(4, 3),), input_names=["input"], output_names=["output"], dynamic_axes=axes
    )
    assert str(program.model.graph.inputs[0].shape[0]) == "batch"
    assert program.call_reference(tl.ones(7, 3))[0].shape == (7, 2)
    program = export(One(), (tl.ones(4, 3),), dynamic_axes={"x": [0]})
    assert str(program.model.graph.inputs[0].shape[0]) == "x_dynamic_axes_1"
    with pytest.raises(OnnxExporterError, match="has the dimension 5"):
        export(One(), (tl.ones(4, 3),), dynamic_axes={"x": {5: "n"}})
    with pytest.warns(OnnxExporterWarning, match="neither an input nor an output"):
        export(One(), (tl.ones(4, 3),), dynamic_axes={"z": {0: "n"}})


def test_a_dynamic_size_that_became_a_number_is_told():
    def program(x):
        return x.reshape(4, 3) * 2

    with pytest.warns(OnnxExporterWarning, match=r"dimension 0 of input 0 \(n\) was declared dynamic"):
        export(program, (tl.ones(4, 3),), dynamic_axes={"x": {0: "n"}})
    with pytest.raises(OnnxExporterError, match="specialized it to be a constant"):
        export(program, (tl.ones(4, 3),), dynamic_shapes=({0: "n"},))


def test_arguments_that_are_no_tensors_are_constants():
    program = export(Model().eval(), (tl.ones(4, 3), 2), kwargs={"shift": tl.ones(2)})
    assert [i.name for i in program.model.graph.inputs] == ["x", "shift"]
    first, second = program.call_reference(tl.ones(4, 3), 2, shift=tl.ones(2))
    tl.testing.assert_close(second, first + 1)
    with pytest.raises(ValueError, match="the program has 3 inputs, but the call has 1"):
        program.call_reference(tl.ones(4, 3))
    by_keyword = export(Model().eval(), (tl.ones(4, 3), {"shift": tl.ones(2)}))
    assert [i.name for i in by_keyword.model.graph.inputs] == ["x", "shift"]


def test_texts_are_constants(tmp_path):
    class Named(tl_nn.Module):
        def forward(self, x):
            return x + 1, "text"

    export(Named(), (tl.ones(2),), tmp_path / "m.onnx", dynamo=True)
    number, text = run(tmp_path / "m.onnx", [tl.ones(2)])
    assert number.tolist() == [2, 2] and text == "text"


ARCHIVES = Path(__file__).parent / "archives"
EXPORTED = [
    "frozen", "gru_trace", "image_trace", "lstm_trace", "objects", "perceptron_script", "perceptron_trace", "shared",
    "transformer_trace",
]  # fmt: skip


def run(file, arguments):
    session = onnx.reference.ReferenceEvaluator(str(file))
    return session.run(None, dict(zip(session.input_names, (t.numpy() for t in arguments), strict=True)))


def tensors_of(value):
    if isinstance(value, (list, tuple)):
        return [t for each in value for t in tensors_of(each)]
    return [value] if isinstance(value, tl.Tensor) else []


@pytest.mark.parametrize("name", EXPORTED)
def test_archives_of_torchscript(tmp_path, name):
    """What PyTorch wrote and computed, by the reference implementation of ONNX's operators."""
    arguments, expected = load(ARCHIVES / f"{name}.io.pt", weights_only=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OnnxExporterWarning)
        export(jit.load(ARCHIVES / f"{name}.pt").eval(), tuple(arguments), tmp_path / "m.onnx", dynamo=True)
    results = run(tmp_path / "m.onnx", tensors_of(arguments))
    expected = tensors_of(expected)
    assert expected
    for result, tensor in zip(results, expected, strict=False):
        tl.testing.assert_close(tl.from_numpy(result), tensor.detach(), rtol=1e-4, atol=1e-5)


def test_a_program_is_exported_as_it_is():
    model = One()
    exported = trace(model, (tl.ones(4, 3),))
    program = export(exported)
    tl.testing.assert_close(program.call_reference(tl.ones(4, 3))[0], model(tl.ones(4, 3)).detach())


def test_files(tmp_path, program):
    model, x = Model().eval(), tl.ones(4, 3)
    path = tmp_path / "model.onnx"
    assert isinstance(export(model, (x,), path), ONNXProgram)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    from onnx.reference import ReferenceEvaluator

    (result,) = ReferenceEvaluator(str(path)).run(None, {"x": x.numpy()})
    tl.testing.assert_close(tl.from_numpy(result), model(x).detach())
    assert export(model, (x,), str(tmp_path / "one.onnx"), dynamo=False, external_data=False) is None
    assert not (tmp_path / "one.onnx.data").exists()
    file = io.BytesIO()
    program.save(file)
    onnx.checker.check_model(file.getvalue())
    with pytest.raises(TypeError, match="external data"):
        program.save(io.BytesIO(), external_data=True)
    with pytest.raises(ValueError, match="must be a path if dynamo=False"):
        export(model, (x,), dynamo=False)


def test_tensors_of_files(tmp_path):
    program = export(One(), (tl.ones(4, 3),), optimize=False)
    program.save(tmp_path / "inputs.onnx", keep_initializers_as_inputs=True)
    program.save(tmp_path / "without.onnx", include_initializers=False)
    graph = onnx.load(tmp_path / "inputs.onnx").graph
    assert len(graph.input) == 1 + len(graph.initializer) > 1
    assert not onnx.load(tmp_path / "without.onnx").graph.initializer
    assert len(program.model.graph.inputs) == 1 and len(program.model.graph.initializers) > 1


def test_the_mode_of_the_model(tmp_path):
    model = tl_nn.Sequential(tl_nn.Linear(3, 2), tl_nn.Dropout(0.5))
    path = tmp_path / "model.onnx"
    export(model, (tl.ones(4, 3),), path, dynamo=False, external_data=False)
    assert model.training and [n.op_type for n in onnx.load(path).graph.node] == ["Gemm"]
    export(model, (tl.ones(4, 3),), path, dynamo=False, external_data=False, training=TrainingMode.TRAINING)
    assert "Dropout" in [n.op_type for n in onnx.load(path).graph.node]


@pytest.mark.parametrize("opset", [13, 17, 18, 19, 20, 21, 22, 23])
def test_operator_sets(opset):
    model = tl_nn.Sequential(tl_nn.Linear(3, 4), tl_nn.GELU(), tl_nn.LayerNorm(4)) if opset > 16 else One()
    x = tl.randn(5, 3)
    program = export(model, (x,), opset_version=opset)
    assert [o.version for o in program.model_proto.opset_import if o.domain == ""] == [opset]
    onnx.checker.check_model(program.model_proto, full_check=True)
    tl.testing.assert_close(program.call_reference(x)[0], model(x).detach(), rtol=1e-4, atol=1e-5)
    assert ("Gelu" in operators(program)) == (opset >= 20)


def test_wrong_operator_sets():
    for opset in (6, 24):
        with pytest.raises(ValueError, match=f"between 7 and 23, got {opset}"):
            export(One(), (tl.ones(4, 3),), opset_version=opset)


# ---- errors and reports
def test_an_operator_without_a_translation_has_its_line(tmp_path):
    def program(x):
        return tl.special.bessel_j0(x + 1)

    with pytest.raises(
        OnnxExporterError, match=r"special_bessel_j0(.|\n)*test_onnx_export.py.*\n.*bessel_j0\(x \+ 1\)"
    ):
        export(program, (tl.ones(2),), report=True, artifacts_dir=tmp_path)
    (report,) = tmp_path.iterdir()
    text = report.read_text()
    assert "- aten::special_bessel_j0" in text and "| export | captured the model |" in text
    program, names = utils.unconvertible_ops(program, (tl.ones(2),))
    assert names == ["aten::special_bessel_j0"]


def test_wrong_models():
    with pytest.raises(
        OnnxExporterError, match="must be a module, an exported program or a function, got int"
    ):
        export(3, (tl.ones(1),))
    with pytest.raises(OnnxExporterError, match="no strategy could capture One"):
        export(One(), (tl.ones(4, 5),))


def test_reports(tmp_path):
    export(
        One(), (tl.ones(4, 3),), report=True, profile=True, dump_exported_program=True, artifacts_dir=tmp_path
    )
    report, program = sorted(tmp_path.iterdir())
    assert report.name.endswith("_success.md") and program.suffix == ".pt2"
    text = report.read_text()
    assert "| aten.linear.default | 1 |" in text and "| Gemm | 1 |" in text and "| translate |" in text


def test_branches_on_values_are_those_of_the_example():
    def program(x, n: int = 2):
        if x.sum() > 0:
            return x * n
        return x - 1

    with pytest.warns(OnnxExporterWarning, match="traced with its example inputs"):
        result = export(program, (tl.ones(3), 3))
    assert [i.name for i in result.model.graph.inputs] == ["x"]
    tl.testing.assert_close(result.call_reference(-tl.ones(3), 3)[0], -3 * tl.ones(3))


def test_the_state_of_the_thread():
    states = []

    def program(x):
        states.append(is_in_onnx_export())
        return x + 1

    export(program, (tl.ones(2),))
    assert states == [True] and not is_in_onnx_export()


def test_exports_of_several_threads():
    results = {}

    def run(i):
        results[i] = export(lambda x: (x * i).sin() + i, (tl.ones(3),)).call_reference(tl.ones(3))[0]

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(4):
        tl.testing.assert_close(results[i], tl.sin(tl.ones(3) * i) + i)


# ---- functions of the user
def test_custom_translations():
    from onnxscript import opset18 as op

    def twice(self):
        return op.Mul(self, op.Constant(value_float=2.0))

    program = export(
        lambda x: x.sin(), (tl.ones(2),), custom_translation_table={tl.ops.aten.sin.default: twice}
    )
    assert operators(program) == ["Mul"]
    tl.testing.assert_close(program.call_reference(tl.ones(2))[0], tl.full((2,), 2.0))


def test_symbolic_functions():
    @parse_args("v", "f")
    def scaled(g, x, factor):
        y = symbolic_functions.unsqueeze(g, x, 0)
        return g.op("Mul", symbolic_functions.squeeze(g, y), g.op("Constant", value_t=tl.tensor(factor)))

    with tl.library._scoped_library("onnx_tests", "FRAGMENT") as library:
        library.define("scaled(Tensor x, float factor) -> Tensor")
        library.impl("scaled", lambda x, factor: x * factor, "CompositeExplicitAutograd")
        register_custom_op_symbolic("onnx_tests::scaled", scaled, 11)
        try:
            program = export(lambda x: tl.ops.onnx_tests.scaled(x + 1, 3.0), (tl.ones(2),))
        finally:
            unregister_custom_op_symbolic("onnx_tests::scaled", 11)
    tl.testing.assert_close(program.call_reference(tl.ones(2))[0], tl.full((2,), 6.0))


def test_symbolic_functions_of_other_domains():
    def custom(g, x):
        return g.op("custom::Sinus", x, mode_s="fast", order_i=3)

    register_custom_op_symbolic("aten::sin", custom, 9)
    try:
        program = export(lambda x: x.sin() * 2, (tl.ones(2),))
    finally:
        unregister_custom_op_symbolic("aten::sin", 9)
    node = program.model_proto.graph.node[0]
    assert (node.domain, node.op_type) == ("custom", "Sinus") and len(node.attribute) == 2
    assert {o.domain for o in program.model_proto.opset_import} == {"", "custom"}


# ---- weights
def test_weights_of_fake_models():
    with FakeTensorMode():
        model = One()
        program = export(model, (tl.ones(4, 3),), optimize=False)
    with pytest.raises(OnnxExporterError, match="apply_weights"):
        program.model_proto.SerializeToString()
    real = One()
    program.apply_weights(real.state_dict())
    tl.testing.assert_close(program.call_reference(tl.ones(4, 3))[0], real(tl.ones(4, 3)).detach())
    with pytest.raises(ValueError, match="has the shape"):
        program.apply_weights({"linear.weight": tl.ones(3, 3)})
    with pytest.raises(ValueError, match="needs"):
        program.apply_weights({"linear.weight": tl.ones(2, 3, dtype=tl.float64)})
    with pytest.warns(UserWarning, match="no initializer 'other'"):
        program.apply_weights({"other": tl.ones(1)})


@pytest.mark.parametrize("dtype", [tl.bfloat16, tl.float8_e4m3fn, tl.int64, tl.bool, tl.float16])
def test_element_types_of_tensors(dtype):
    constant = (tl.arange(-2, 3).float() * 1000).to(dtype)
    program = export(lambda x: (x + constant.float(), constant), (tl.ones(5),), optimize=False)
    stored = [v.const_value for v in program.model.graph.initializers.values() if v.shape == (5,)]
    assert any(int(t.dtype) == {"bfloat16": 16, "float8_e4m3fn": 17, "int64": 7, "bool": 9, "float16": 10}[
        str(dtype).removeprefix("torch.")] for t in stored)  # fmt: skip
    onnx.checker.check_model(program.model_proto)


def test_integers_of_64_bits():
    big = 2**53 + 1
    program = export(lambda x: x + big, (tl.tensor([1, 2]),))
    assert program.call_reference(tl.tensor([1, 2]))[0].tolist() == [big + 1, big + 2]


def test_no_library_sees_another_torch():
    assert "torch" not in sys.modules or not sys.modules["torch"].__name__.startswith("tl_core")
    core = sys.modules["onnxscript.function_libs.torch_lib.ops.core"]
    assert core.torch is tl


# ---- with onnxruntime
@pytest.mark.skipif(not HAS_RUNTIME, reason="onnxruntime is not installed")
def test_the_runtime(program):
    model = Model().eval()
    own = export(model, (tl.ones(4, 3),))
    tl.testing.assert_close(own(tl.ones(4, 3))[0], model(tl.ones(4, 3)).detach())
    own.release()
    names = [value.name for node in own.model.graph for value in node.outputs]
    assert len(own.compute_values(names, (tl.ones(4, 3),))) == len(names)
    with pytest.raises(ValueError, match="no values"):
        own.compute_values(["absent"], (tl.ones(4, 3),))
    infos = verification.verify_onnx_program(own, compare_intermediates=True)
    assert infos and all(info.is_close() for info in infos)


def test_verification_needs_a_program_and_inputs():
    program = export(One(), (tl.ones(4, 3),))
    with pytest.raises(ValueError, match="no exported_program"):
        verification.verify_onnx_program(ONNXProgram(program.model, None))


def test_differences():
    info = verification.VerificationInfo.from_tensors(
        "y", tl.tensor([1.0, 2.0, 4.0]), tl.tensor([1.0, 2.5, 4.0])
    )
    assert (info.max_abs_diff, info.max_rel_diff) == (0.5, 0.25) and not info.is_close()
    assert sum(info.asdict()["abs_diff_hist"][0]) == 3
    nan = tl.tensor([float("nan"), float("inf")])
    assert verification.VerificationInfo.from_tensors("y", nan, nan).is_close()
    assert not verification.VerificationInfo.from_tensors("y", nan, tl.zeros(2)).is_close()
    assert verification.VerificationInfo.from_tensors("y", tl.ones(2), tl.ones(3)).max_abs_diff == float(
        "inf"
    )


def test_former_options_warn():
    from tl_compiler.onnx import OperatorExportTypes

    with pytest.warns(OnnxExporterWarning, match="have no effect"):
        export(One(), (tl.ones(4, 3),), operator_export_type=OperatorExportTypes.ONNX_ATEN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        export(One(), (tl.ones(4, 3),), do_constant_folding=False, verbose=False, fallback=True)
