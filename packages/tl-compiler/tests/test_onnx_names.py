"""Names of the ONNX exporter that need no library: state, element types, symbolic functions, errors."""

import subprocess
import sys

import pytest

import tl_core as tl
import tl_nn
from tl_compiler import onnx
from tl_compiler.onnx import errors, symbolic_functions, symbolic_helper, symbolic_registry
from tl_compiler.onnx.symbolic_helper import parse_args


def test_no_model_is_being_exported():
    assert onnx.is_in_onnx_export() is False


def test_the_package_imports_no_library():
    code = "import sys, tl_compiler.onnx; print([n for n in sys.modules if n.split('.')[0] in ('onnx', 'onnx_ir')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_a_missing_library_names_the_extra(monkeypatch):
    for name in ("onnx", "onnx_ir", "onnxscript"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(onnx.OnnxExporterError, match=r"pip install 'tl-compiler\[onnx\]'") as error:
        onnx.export(tl_nn.ReLU(), (tl.ones(2),))
    assert isinstance(error.value, ImportError)


def test_the_latest_set_that_is_no_later_than_asked():
    first, second = (lambda g, x: (g, x)), (lambda g, x: x)
    onnx.register_custom_op_symbolic("mine::op", first, 9)
    onnx.register_custom_op_symbolic("mine::op", second, 13)
    assert symbolic_registry.find_symbolic("mine::op", 12) is first
    assert symbolic_registry.find_symbolic("mine::op") is second
    onnx.unregister_custom_op_symbolic("mine::op", 13)
    assert symbolic_registry.find_symbolic("mine::op") is first
    onnx.unregister_custom_op_symbolic("mine::op", 9)
    assert symbolic_registry.find_symbolic("mine::op") is None


@pytest.mark.parametrize("name", ["op", "mine::", "::op"])
def test_a_name_has_a_namespace(name):
    with pytest.raises(ValueError, match="domain::name"):
        onnx.register_custom_op_symbolic(name, print, 9)


def test_arguments_are_converted():
    @parse_args("v", "i", "fs", "none")
    def symbolic(g, x, n, scales, unused=None):
        return x, n, scales, unused

    assert symbolic(None, "x", 2.0, [1, 2], 5) == ("x", 2, [1.0, 2.0], None)
    assert symbolic(None, "x", n=3.0, scales=(4,)) == ("x", 3, [4.0], None)
    assert symbolic(None, "x", None, None) == ("x", None, None, None)
    with pytest.raises(AssertionError, match="A mismatch between the number of arguments"):
        symbolic(None, 1, 2, [], None, 5)
    with pytest.raises(errors.SymbolicValueError, match="number of type int"):
        symbolic(None, "x", [1, 2], [])
    with pytest.raises(ValueError, match="unknown descriptors"):
        parse_args("q")


def test_paddings_in_the_order_of_onnx():
    paddings = symbolic_functions._prepare_onnx_paddings
    assert paddings(2, [1, 2]) == [0, 1, 0, 2]
    assert paddings(2, [1, 2, 3, 4]) == [3, 1, 4, 2]
    for wrong in ([1], [1, 2, 3, 4, 5, 6]):
        with pytest.raises(ValueError, match="pairs of paddings"):
            paddings(2, wrong)


def test_symbolic_functions_exist_for_operators():
    assert callable(symbolic_functions.squeeze)
    with pytest.raises(AttributeError, match="no such operator"):
        symbolic_functions.squeeeze  # noqa: B018


def test_element_types():
    kinds = onnx.JitScalarType
    assert kinds.from_dtype(tl.float16) is kinds.HALF
    assert kinds.HALF.scalar_name() == "Half" and kinds.INT64.torch_name() == "int64_t"
    assert kinds.BFLOAT16.onnx_type() == onnx.TensorProtoDataType.BFLOAT16 == 16
    assert kinds.from_onnx_type(onnx.TensorProtoDataType.DOUBLE).dtype() == tl.float64
    assert kinds.from_value(tl.ones(1, dtype=tl.int8)) is kinds.INT8
    assert kinds.from_value(2.0) is kinds.FLOAT and kinds.from_value(True) is kinds.BOOL
    assert kinds.from_value("text", kinds.UNDEFINED) is kinds.UNDEFINED
    assert kinds.QUINT8.onnx_type() == onnx.TensorProtoDataType.UINT8
    assert not kinds.UNDEFINED.onnx_compatible() and kinds.BOOL.onnx_compatible()
    for call in (
        lambda: kinds.from_dtype(None),
        lambda: kinds.from_onnx_type(None),
        lambda: kinds.from_value("text"),
    ):
        with pytest.raises(onnx.OnnxExporterError):
            call()
    assert symbolic_helper.cast_pytorch_to_onnx["Long"] == onnx.TensorProtoDataType.INT64
    assert symbolic_helper.scalar_type_to_onnx[kinds.FLOAT] == onnx.TensorProtoDataType.FLOAT
    assert symbolic_helper.pytorch_name_to_type["Int"] == tl.int32


def test_modes():
    model = tl_nn.Sequential(tl_nn.Dropout(), tl_nn.Linear(2, 1))
    model[0].eval()
    with onnx.select_model_mode_for_export(model, onnx.TrainingMode.TRAINING):
        assert model.training and model[0].training
    assert model.training and not model[0].training
    with onnx.select_model_mode_for_export(model, onnx.TrainingMode.PRESERVE):
        assert model.training and not model[0].training
    with pytest.raises(TypeError, match="TrainingMode"), onnx.select_model_mode_for_export(model, 0):
        pass
