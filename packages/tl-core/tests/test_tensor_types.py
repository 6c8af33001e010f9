"""The older types: what they make, which tensors are theirs."""

from __future__ import annotations

import fractions
import pickle

import pytest

import tl_core as tl

np = pytest.importorskip("numpy", reason="arrays are among what they are made of")

TYPES = {
    "Float": tl.float32,
    "Double": tl.float64,
    "Half": tl.float16,
    "BFloat16": tl.bfloat16,
    "Byte": tl.uint8,
    "Char": tl.int8,
    "Short": tl.int16,
    "Int": tl.int32,
    "Long": tl.int64,
    "Bool": tl.bool,
}


@pytest.mark.parametrize(("name", "dtype"), TYPES.items())
def test_every_type(name, dtype):
    kind = getattr(tl, f"{name}Tensor")
    assert (kind.dtype, kind.is_cuda, kind.layout) == (dtype, False, tl.strided)
    assert kind([1, 0]).dtype == dtype and kind([1, 0]).tolist() == [1, 0]
    assert kind(2, 3).shape == (2, 3) and kind(2, 3).dtype == dtype
    assert kind().shape == (0,) and kind(0).shape == (0,) and kind(tl.Size([2, 0])).shape == (2, 0)
    assert tl.ones(2).type(kind).dtype == tl.ones(2).type(f"torch.{name}Tensor").dtype == dtype
    assert tl.ones(1, dtype=dtype).type() == f"torch.{name}Tensor"
    assert pickle.loads(pickle.dumps(kind)) is kind


def test_whose_a_tensor_is():
    for name, dtype in TYPES.items():
        mine = [
            other for other in TYPES if isinstance(tl.ones(1, dtype=dtype), getattr(tl, f"{other}Tensor"))
        ]
        assert mine == [name]
    assert not isinstance(1.0, tl.FloatTensor)
    assert not isinstance(tl.ones(1, device="meta"), tl.FloatTensor)
    assert tl.FloatTensor.add_ is tl.Tensor.add_


SPARSE = {name: dtype for name, dtype in TYPES.items() if name != "Bool"}


@pytest.mark.parametrize(("name", "dtype"), SPARSE.items())
def test_types_of_sparse_tensors(name, dtype):
    kind = getattr(tl.sparse, f"{name}Tensor")
    assert (kind.dtype, kind.is_cuda, kind.is_sparse, kind.layout) == (dtype, False, True, tl.sparse_coo)
    for result, shape in ((kind(), (0,)), (kind(2, 3), (2, 3)), (kind(tl.Size([4])), (4,))):
        assert (result.shape, result.dtype, result.layout, result._nnz()) == (shape, dtype, tl.sparse_coo, 0)
        assert isinstance(result, kind) and not isinstance(result, getattr(tl, f"{name}Tensor"))
        assert result.type() == f"torch.sparse.{name}Tensor"
    assert not isinstance(tl.ones(1, dtype=dtype), kind)
    assert tl.ones(2).type(kind).dtype == dtype
    assert pickle.loads(pickle.dumps(kind)) is kind


def test_sparse_tensors_of_coordinates_and_values():
    indices, values = tl.tensor([[0, 2]]), tl.tensor([1.0, 2.0])
    assert tl.sparse.FloatTensor(indices, values).to_dense().tolist() == [1, 0, 2]
    assert tl.sparse.FloatTensor(indices, values, tl.Size([4])).to_dense().tolist() == [1, 0, 2, 0]
    assert tl.sparse.FloatTensor(indices, values.double()).dtype == tl.float64
    for data in (([1, 2],), (values,), (indices, values, (4,), 1), (indices, [1.0, 2.0])):
        with pytest.raises(TypeError, match="a sparse tensor is made of"):
            tl.sparse.FloatTensor(*data)
    with pytest.raises(RuntimeError, match="device type cpu"):
        tl.sparse.FloatTensor(2, device="meta")


@pytest.mark.parametrize(
    "data",
    [[1.5, 2], (1.5, 2), np.array([1.5, 2]), np.array([1.5, 2], np.float32), [np.float64(1.5), tl.tensor(2)]],
)
def test_values_are_converted(data):
    assert tl.FloatTensor(data).tolist() == [1.5, 2]
    assert tl.LongTensor(data).tolist() == [1, 2]
    assert tl.Tensor(data).tolist() == [1.5, 2]
    assert tl.ones(1, dtype=tl.int32).new(data).tolist() == [1, 2]


def test_tensors_and_storages_share_their_memory():
    first = tl.tensor([1.0, 2.0])
    for second in (tl.FloatTensor(first), first.new(first), tl.FloatTensor(first.storage())):
        second[0] += 1
    assert first.tolist() == [4, 2]
    with pytest.raises(TypeError, match=r"expected a tensor of torch\.int64, got torch\.float32"):
        tl.LongTensor(first)


def test_new_keeps_type_and_device():
    assert tl.ones(1, dtype=tl.int16).new(2, 3).dtype == tl.int16
    assert tl.ones(1, dtype=tl.int16).new().shape == (0,)
    assert tl.ones(1, device="meta").new(2).device.type == "meta"


@pytest.mark.filterwarnings("ignore:torch.set_default_tensor_type")
def test_the_default_type():
    for source in (tl.DoubleTensor, "torch.DoubleTensor"):
        tl.set_default_tensor_type(source)
        try:
            assert tl.ones(1).dtype == tl.Tensor([1]).dtype == tl.float64
        finally:
            tl.set_default_tensor_type("torch.FloatTensor")
    for wrong, error in (
        (tl.LongTensor, TypeError),
        ("torch.LongTensor", TypeError),
        ("nonsense", ValueError),
    ):
        with pytest.raises(error):
            tl.set_default_tensor_type(wrong)


@pytest.mark.parametrize("data", [3.0, "ab", {1: 2}, {1}, None])
def test_what_is_no_data(data):
    with pytest.raises(TypeError, match="data must be a sequence, sizes or a tensor"):
        tl.FloatTensor(data)


def test_what_is_refused():
    with pytest.raises(TypeError, match="got list, list"):
        tl.FloatTensor([1], [2])
    with pytest.raises(RuntimeError, match="expects device type cpu, got cuda"):
        tl.FloatTensor(2, device="cuda")
    assert tl.FloatTensor(2, device="cpu").shape == (2,)
    with pytest.raises(TypeError, match=r"'torch\.FloatTensor' is not an acceptable base type"):

        class Own(tl.FloatTensor):
            pass


def test_the_name_of_anything():
    """Names of Python's own have no module before them."""
    assert tl.typename(tl.ones(1, dtype=tl.complex64)) == "torch.ComplexFloatTensor"
    assert [tl.typename(thing) for thing in (3, None, len)] == ["int", "NoneType", "len"]
    assert tl.typename(fractions.Fraction) == tl.typename(fractions.Fraction(1)) == "fractions.Fraction"
