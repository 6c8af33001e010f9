"""Bits, names, versions, older types and texts of tensors, with the texts that PyTorch has for them."""

import pytest

import tl_core as tl
from tl_core.settings import conversions, determinism, machine, switches
from tl_core.symbolic import arithmetic
from tl_core.tensors import (
    conj_neg_bits,
    named_tensor,
    parameter,
    printing,
    removed,
    tensor_types,
    version_counters,
)
from tl_core.testing import comparison, composite_compliance


def test_lazy_bits():
    x = tl.tensor([1 + 2j])
    both = conj_neg_bits.with_conj_neg_bits(x, conj=True, neg=True)
    assert both.tolist() == [-1 + 2j] and both.data_ptr() == x.data_ptr()
    assert conj_neg_bits.conj_neg_bits_of(both) == {"conj": True, "neg": True}
    assert conj_neg_bits.conj_neg_bits_of(x) == {} and conj_neg_bits.with_conj_neg_bits(x) is x
    with pytest.raises(RuntimeError):
        conj_neg_bits.with_conj_neg_bits(tl.tensor([True]), neg=True)


def test_names():
    assert (
        named_tensor.is_ellipsis(...)
        and named_tensor.is_ellipsis("...")
        and not named_tensor.is_ellipsis("C")
    )
    assert named_tensor.resolve_ellipsis(("N", "...", "W"), ("A", "C", "H", "B"), "f") == ("N", "C", "H", "W")
    assert named_tensor.resolve_ellipsis(("N", "C"), ("A", "B"), "f") == ("N", "C")
    with pytest.raises(RuntimeError):
        named_tensor.resolve_ellipsis(("...", "..."), ("A", "B"), "f")
    assert named_tensor.unzip_namedshape([("C", 3), ("H", 5)]) == (("C", "H"), (3, 5))
    assert named_tensor.unzip_namedshape({"C": 3}) == (("C",), (3,))
    with pytest.raises(TypeError):
        named_tensor.unzip_namedshape(3)
    with pytest.raises(RuntimeError, match="non-empty"):
        named_tensor.unzip_namedshape([])


def test_files_have_no_names():
    named_tensor.check_serializing_named_tensor(tl.ones(2))
    with pytest.raises(RuntimeError, match="don't support serialization"):
        named_tensor.check_serializing_named_tensor(tl.ones(2, names=("N",)))


def test_versions():
    x, y = tl.zeros(2).add_(1), tl.zeros(2)
    version_counters.set_versions([x, y], [7, 5])
    assert (x._version, y._version) == (7, 5)
    with pytest.raises(RuntimeError, match="each of 2 tensors, got 1"):
        version_counters.set_versions([x, y], [1])
    assert x._version == 7
    with version_counters.unsafe_preserve_version_counter((x, y)):
        x.add_(1)
        assert x._version == 8
    assert (x._version, x.tolist()) == (7, [2, 2])
    with pytest.raises(AssertionError):
        version_counters.unsafe_preserve_version_counter([x])


def test_older_types():
    assert (
        tensor_types.scalar_name(tl.int64) == "Long"
        and tensor_types.type_name(tl.float16) == "torch.HalfTensor"
    )
    names = [t.__name__ for t in tensor_types.older_types("cuda")]
    assert names[:3] == ["FloatTensor", "DoubleTensor", "HalfTensor"] and len(names) == 9
    double = tensor_types.TensorType("Twice", tl.float64)
    assert isinstance(tl.ones(1, dtype=tl.float64), double) and not isinstance(tl.ones(1), double)
    assert not double.is_sparse and tensor_types.older_types(layout=tl.sparse_coo)[0].is_sparse
    with pytest.raises(TypeError, match=r"derive from torch\.Tensor"):
        tensor_types.TensorType("Mine", (tl.FloatTensor,))


def test_buffers():
    x = tl.ones(2)
    buffer = parameter.Buffer(x, persistent=False)
    assert isinstance(buffer, parameter.Buffer) and buffer.persistent is False
    assert buffer.data_ptr() == x.data_ptr() and parameter.Buffer().shape == (0,)
    assert not isinstance(x, parameter.Buffer)


def test_print_options():
    assert vars(printing.PrintOptions()) == {
        "precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None,
    }  # fmt: skip
    before = printing.get_printoptions()
    with printing.printoptions(precision=2, edgeitems=1):
        assert printing.get_printoptions()["precision"] == 2
        assert repr(tl.tensor([0.123456])) == "tensor([0.12])"
        corners = printing.get_summarized_data(tl.arange(9).view(3, 3))
        assert corners.tolist() == [[0, 2], [6, 8]]
    assert printing.get_printoptions() == before and repr(tl.tensor([0.123456])) == "tensor([0.1235])"


def test_removed_functions():
    with pytest.raises(RuntimeError, match=r"torch\.linalg\.eigh"):
        removed.symeig(tl.eye(2))


def test_sizes():
    assert arithmetic.sym_fresh_size(3) == 3
    with pytest.raises(ValueError, match="negative"):
        arithmetic.sym_fresh_size(-1)


def test_tolerances():
    assert comparison.default_tolerances(tl.float16, tl.float64) == (1e-3, 1e-5)
    assert comparison.default_tolerances(tl.ones(1), tl.int64) == (1.3e-6, 1e-5)
    assert comparison.default_tolerances(tl.int8, dtype_precisions={tl.int8: (0.5, 2.0)}) == (0.5, 2.0)
    with pytest.raises(TypeError, match="but got str"):
        comparison.default_tolerances("float32")


def test_kinds_of_operators():
    aten = tl.ops.aten
    assert composite_compliance.is_inplace(aten.add_.Tensor)
    assert not composite_compliance.is_inplace(aten.add.Tensor)
    assert composite_compliance.is_view_fn(aten.view.default)
    assert not composite_compliance.is_view_fn(aten.add_.Tensor)


@pytest.mark.parametrize(
    ("get", "put"),
    [
        (
            conversions.get_overwrite_module_params_on_conversion,
            conversions.set_overwrite_module_params_on_conversion,
        ),
        (conversions.get_swap_module_params_on_conversion, conversions.set_swap_module_params_on_conversion),
    ],
)
def test_conversion_switches(get, put):
    assert get() is False
    put(True)
    try:
        assert get() is True
    finally:
        put(False)
    with pytest.raises(TypeError):
        put(1)


def test_fill_of_new_memory():
    assert determinism.fills_uninitialized_memory()
    tl.use_deterministic_algorithms(True)
    try:
        assert tl.empty(3).isnan().all()
        determinism.set_fills_uninitialized_memory(False)
        assert not determinism.fills_uninitialized_memory()
    finally:
        determinism.set_fills_uninitialized_memory(True)
        tl.use_deterministic_algorithms(False)


def test_threads_between_operators():
    before = machine.get_num_interop_threads()
    machine.set_num_interop_threads(3)
    try:
        assert tl.get_num_interop_threads() == 3
        with pytest.raises(RuntimeError, match="nthreads > 0, but got 0"):
            machine.set_num_interop_threads(0)
    finally:
        machine.set_num_interop_threads(before)


def test_switches():
    switches.declare("example.loud", False, bool)
    log = []
    switches.watch("example.loud", lambda: log.append(switches.get("example.loud")))
    switches.set("example.loud", True)
    assert log == [True]
    with pytest.raises(ValueError, match="declared as bool, not int"):
        switches.declare("example.loud", 0, int)
