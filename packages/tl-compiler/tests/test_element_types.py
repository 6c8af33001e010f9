"""Element types as PyTorch 2.13 and ONNX number and name them, and helpers that read values of a graph."""

import pytest

import tl_core as tl
from tl_compiler.onnx import JitScalarType, OnnxExporterError, TensorProtoDataType, errors
from tl_compiler.onnx import symbolic_helper as helper

# (name, number, name of the number type, name in C, dtype, number in ONNX)
RECORDED = [
    ("UINT8", 0, "Byte", "uint8_t", "uint8", 2),
    ("INT8", 1, "Char", "int8_t", "int8", 3),
    ("INT16", 2, "Short", "int16_t", "int16", 5),
    ("INT", 3, "Int", "int", "int32", 6),
    ("INT64", 4, "Long", "int64_t", "int64", 7),
    ("HALF", 5, "Half", "half", "float16", 10),
    ("FLOAT", 6, "Float", "float", "float32", 1),
    ("DOUBLE", 7, "Double", "double", "float64", 11),
    ("COMPLEX32", 8, "ComplexHalf", "complex32", "complex32", None),
    ("COMPLEX64", 9, "ComplexFloat", "complex64", "complex64", 14),
    ("COMPLEX128", 10, "ComplexDouble", "complex128", "complex128", 15),
    ("BOOL", 11, "Bool", "bool", "bool", 9),
    ("QINT8", 12, "QInt8", "qint8", "qint8", 3),
    ("QUINT8", 13, "QUInt8", "quint8", "quint8", 2),
    ("QINT32", 14, "QInt32", "qint32", "qint32", 6),
    ("BFLOAT16", 15, "BFloat16", "bfloat16", "bfloat16", 16),
    ("FLOAT8E5M2", 16, "Float8E5M2", "float8_e5m2", "float8_e5m2", 19),
    ("FLOAT8E4M3FN", 17, "Float8E4M3FN", "float8_e4m3fn", "float8_e4m3fn", 17),
    ("FLOAT8E5M2FNUZ", 18, "Float8E5M2FNUZ", "float8_e5m2fnuz", "float8_e5m2fnuz", 20),
    ("FLOAT8E4M3FNUZ", 19, "Float8E4M3FNUZ", "float8_e4m3fnuz", "float8_e4m3fnuz", 18),
]


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: row[0])
def test_numbers_and_names_of_element_types(row):
    name, number, scalar_name, c_name, dtype, in_onnx = row
    kind = JitScalarType[name]
    assert (kind.value, kind.scalar_name(), kind.torch_name()) == (number, scalar_name, c_name)
    assert kind.onnx_compatible() is (in_onnx is not None)
    if in_onnx is None:
        with pytest.raises(OnnxExporterError, match="has no element type in ONNX"):
            kind.onnx_type()
    else:
        assert int(kind.onnx_type()) == in_onnx
    if not name.startswith("Q"):
        assert kind.dtype() is getattr(tl, dtype) and JitScalarType.from_dtype(kind.dtype()) is kind


def test_an_undefined_type_is_the_last():
    kind = JitScalarType.UNDEFINED
    assert kind.value == 20 and kind.scalar_name() == "Undefined" and not kind.onnx_compatible()
    with pytest.raises(OnnxExporterError, match=r"JitScalarType\.UNDEFINED has no dtype"):
        kind.dtype()


def test_numbers_of_onnx():
    onnx = pytest.importorskip("onnx")
    numbers = dict(onnx.TensorProto.DataType.items())
    assert {kind.name: kind.value for kind in TensorProtoDataType}.items() <= numbers.items()


def test_tables_of_element_types():
    assert helper.cast_pytorch_to_onnx["Double"] == 11 and helper.cast_pytorch_to_onnx["Undefined"] == 0
    assert helper.scalar_name_to_pytorch["int64_t"] == "Long"
    assert [int(number) for number in helper.scalar_type_to_onnx[:8]] == [2, 3, 5, 6, 7, 10, 1, 11]
    assert helper.scalar_type_to_onnx[8] == TensorProtoDataType.UNDEFINED
    assert helper.scalar_type_to_pytorch_type[6] is tl.float32
    assert helper.scalar_type_to_pytorch_type[12] is None
    assert helper.pytorch_name_to_type["Half"] is tl.float16


# ---- values of a graph
@pytest.fixture
def ir():
    return pytest.importorskip("onnx_ir")


def value_of(ir, shape, dtype="FLOAT"):
    return ir.Value(name="x", shape=ir.Shape(shape), type=ir.TensorType(ir.DataType[dtype]))


def constant_of(ir, numbers):
    np = pytest.importorskip("numpy")
    tensor = ir.tensor(np.array(numbers))
    return ir.Value(name="c", shape=tensor.shape, type=ir.TensorType(tensor.dtype), const_value=tensor)


def test_facts_of_values(ir):
    x = value_of(ir, (2, "n", 3))
    assert helper._is_value(x) and not helper._is_value(2.0) and helper._is_tensor(x)
    assert helper._is_none(None) and not helper._is_none(x)
    assert not helper._is_constant(x) and helper._is_constant(1) and helper._is_constant(constant_of(ir, [1]))
    kinds = ("FLOAT", "BFLOAT16", "BOOL", "INT64", "COMPLEX64")
    for function, answers in ((helper._is_fp, (1, 1, 0, 0, 0)), (helper._is_bool, (0, 0, 1, 0, 0)),
                              (helper.is_complex_value, (0, 0, 0, 0, 1))):  # fmt: skip
        assert [function(value_of(ir, (1,), kind)) for kind in kinds] == list(map(bool, answers))
        assert function("no value") is False
    assert helper._get_tensor_rank(x) == 3 and helper._get_tensor_rank(1.0) is None
    assert helper._get_tensor_sizes(x) == [2, None, 3] and helper._get_tensor_sizes(1.0) is None
    assert helper._get_tensor_sizes(x, allow_nonstatic=False) is None
    assert helper._get_tensor_sizes(value_of(ir, (2, 4)), allow_nonstatic=False) == [2, 4]
    assert [helper._get_tensor_dim_size(x, dim) for dim in (0, 1, -1)] == [2, None, 3]
    assert helper._get_tensor_dim_size(1.0, 0) is None
    assert helper._try_get_scalar_type("a", value_of(ir, (1,), "DOUBLE"), x) is JitScalarType.DOUBLE
    assert helper._try_get_scalar_type("a", None) is None


def test_constants_of_values(ir):
    x, number, numbers = value_of(ir, (2,)), constant_of(ir, [3]), constant_of(ir, [4, 5])
    assert helper._maybe_get_const(numbers, "is") == [4, 5] and helper._maybe_get_const(x, "is") is x
    assert helper._get_const(numbers, "fs", "sizes") == [4.0, 5.0]
    assert helper._maybe_get_scalar(number) == 3 and helper._maybe_get_scalar(numbers) is numbers
    assert helper._maybe_get_scalar(x) is x and helper._maybe_get_scalar(7) == 7
    with pytest.raises(errors.SymbolicValueError, match="the argument sizes must be a constant"):
        helper._get_const(x, "is", "sizes")
    with pytest.raises(errors.SymbolicValueError, match="the value depends on the inputs"):
        helper._parse_arg(x, "i")
    assert helper._parse_arg(None, "i") is None and helper._parse_arg("2", "s") == "2"


def test_refusals():
    for call, text in (
        (lambda: helper._unimplemented("sort", "no keys"), "sort can't be exported to ONNX: no keys"),
        (
            lambda: helper._onnx_unsupported("sort"),
            "sort can't be exported to ONNX: a symbolic function refused",
        ),
        (
            lambda: helper._onnx_opset_unsupported("sort", 9, 11),
            "sort needs operator set 11, but the model has 9",
        ),
        (lambda: helper._onnx_opset_unsupported_detailed("sort", 9, 11, "why"), "but the model has 9: why"),
    ):
        with pytest.raises(OnnxExporterError, match=text):
            call()


class Recorder:
    """A graph whose nodes are tuples."""

    def op(self, name, *inputs, **attributes):
        return name, *inputs, attributes


def test_nodes_of_helpers():
    g = Recorder()
    assert helper._reshape_helper(g, "x", [2, -1]) == ("Reshape", "x", [2, -1], {"allowzero_i": 0})
    assert helper._squeeze_helper(g, "x", 1) == ("Squeeze", "x", [1], {})
    assert helper._unsqueeze_helper(g, "x", (0, 2)) == ("Unsqueeze", "x", [0, 2], {})
    keep = {"keepdims_i": 1, "noop_with_empty_axes_i": 0}
    assert helper._reducesum_helper(g, "x") == ("ReduceSum", "x", keep)
    assert helper._reducesum_helper(g, "x", 1, 0, 1) == (
        "ReduceSum", "x", [1], {"keepdims_i": 0, "noop_with_empty_axes_i": 1},
    )  # fmt: skip
    assert helper._slice_helper(g, "x", [0], [1], [5]) == ("Slice", "x", [1], [5], [0], {})
    assert helper._slice_helper(g, "x", 0, 1, 5, 2) == ("Slice", "x", [1], [5], [0], [2], {})
    assert helper._size_helper(g, "x", 1) == ("Gather", ("Shape", "x", {}), 1, {"axis_i": 0})
    assert helper._select_helper(g, "x", 1.0, "i") == ("Gather", "x", "i", {"axis_i": 1})
    assert helper._numel_helper(g, "x") == ("Size", "x", {})
    assert helper._unpack_list((1, 2)) == [1, 2]
