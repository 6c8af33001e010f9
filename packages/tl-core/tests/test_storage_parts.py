"""Mapped memory, checks of storages and the parts of nested and masked tensors."""

import copy
import os
import pickle

import pytest

import tl_core as tl
from tl_core import nested
from tl_core.masked import masked_tensor, operations
from tl_core.masked.maskedtensor import core, unary
from tl_core.memory import mapped_memory, typed_storage, untyped_storage
from tl_core.nested import construction, dims, padded, pickling, pointwise, printing, reductions, strided
from tl_core.nested import tensor as nested_tensors
from tl_core.nested.nested_int import ragged_id
from tl_core.nested.ragged import Ragged


def test_mapped_files(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(8)))
    memory = mapped_memory.map_file(str(path), False, 4)
    assert isinstance(memory, mapped_memory.MappedMemory) and bytes(memory) == bytes(range(4))
    with pytest.raises(RuntimeError, match="smaller than the required"):
        mapped_memory.map_file(str(path), False, 9)
    with pytest.raises(RuntimeError, match="read-only mode"):
        mapped_memory.map_file(str(tmp_path / "absent"), False, 1)
    shared = mapped_memory.map_file(str(path), True, 12)
    mapped_memory.tensor_on_buffer(shared)[0] = 255
    assert path.read_bytes() == bytes([255, *range(1, 8), 0, 0, 0, 0])


def test_memory_of_several_processes():
    memory = mapped_memory.map_shared(16)
    x = mapped_memory.tensor_on_buffer(memory, tl.int32)
    x.copy_(tl.arange(4))
    child = os.fork()
    if child == 0:
        x[0] = 7
        os._exit(0)
    os.waitpid(child, 0)
    assert x.tolist() == [7, 1, 2, 3]


def test_read_only_buffers():
    x = mapped_memory.tensor_on_buffer(b"\x01\x02")
    assert x.tolist() == [1, 2]
    with pytest.raises(RuntimeError):
        x.add_(1)


def test_tensors_on_storages():
    storage = tl.arange(6.0).untyped_storage()
    assert untyped_storage.tensor_on(storage, tl.float32, (2,), (3,), 1).tolist() == [1, 4]
    assert untyped_storage.read_tensor(storage, tl.float32, (2, 3), (3, 1)).tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(RuntimeError):
        untyped_storage.tensor_on(storage, tl.float32, (7,), (1,))
    assert typed_storage.dtype_named("torch.IntStorage") is typed_storage.dtype_named(tl.int32) is tl.int32
    with pytest.raises(TypeError, match="a storage class or its name"):
        typed_storage.dtype_named("torch.Storages")


def test_checks_of_storages():
    cpu, meta = tl.ones(1, dtype=tl.uint8).untyped_storage(), tl.ones(1, device="meta").untyped_storage()
    untyped_storage.check_has_values(cpu)
    with pytest.raises(NotImplementedError, match="meta"):
        untyped_storage.check_has_values(meta)
    untyped_storage.check_on_cpu(cpu, "f")
    with pytest.raises(RuntimeError, match="f: only available on CPU"):
        untyped_storage.check_on_cpu(meta, "f")
    untyped_storage.check_same_size(3, 3)
    with pytest.raises(RuntimeError, match="self was 3 bytes but src was 4 bytes"):
        untyped_storage.check_same_size(3, 4)
    assert [untyped_storage.checked_index(cpu, i, 5) for i in (0, -1, True)] == [0, 4, 1]
    for index, error in (5, IndexError), (-6, IndexError), (1.0, TypeError):
        with pytest.raises(error):
            untyped_storage.checked_index(cpu, index, 5)
    assert untyped_storage.listing(cpu, "1 byte") == " 1\n[1 byte]"
    assert untyped_storage.listing(meta, "meta") == "...\n[meta]"


PARTS = [[1.0, 2.0], [3.0], [4.0, 5.0, 6.0]]


def jagged():
    return construction.jagged_from_tensors([tl.tensor(part) for part in PARTS])


def test_jagged_tensors():
    x = jagged()
    assert x.values().tolist() == [1, 2, 3, 4, 5, 6] and x.offsets().tolist() == [0, 2, 3, 6]
    assert [part.tolist() for part in x.unbind()] == PARTS
    full = [[1, 2, 9], [3, 9, 9], [4, 5, 6]]
    assert padded.to_padded(x, 9.0).tolist() == reductions.padded_values(x, 9.0).tolist() == full
    assert padded.to_padded(x, 9.0, (3, 4)).tolist() == [[*row, 9] for row in full]
    assert printing.jagged_text(x).startswith("NestedTensor(size=(3, j")
    assert "offsets=tensor([0, 2, 3, 6])" in printing.jagged_text(x)


def test_structures_of_jagged_tensors():
    ragged = Ragged(tl.tensor([0, 2, 3]))
    assert ragged.batch == 2 and ragged.length_tensor.tolist() == ragged.counts == [2, 1]
    values = tl.arange(6.0).view(2, 3)
    second = nested_tensors.view_of_values(values, ragged, 2)
    assert [part.tolist() for part in second.unbind()] == [[[0, 1], [3, 4]], [[2], [5]]]
    assert second.values().data_ptr() == values.data_ptr()
    assert reductions.segments_first(second).tolist() == values.T.tolist()
    fresh = tl.zeros(3)
    assert nested_tensors.as_nested(fresh, ragged, 1) is fresh and fresh.is_nested
    assert ragged_id(ragged.offsets) == ragged_id(ragged.offsets) != ragged_id(tl.tensor([0, 2, 3]))
    assert pointwise.same_structure("add", (1, fresh, fresh)) is fresh
    with pytest.raises(RuntimeError, match="add"):
        pointwise.same_structure("add", (fresh, jagged()))


def test_copies_of_jagged_tensors():
    x = jagged()
    copied = pickling.deepcopy_jagged(x, {})
    assert [
        part.tolist() for part in copied.unbind()
    ] == PARTS and copied.values().data_ptr() != x.values().data_ptr()
    rebuild, arguments = pickling.reduce_jagged(x)
    assert [part.tolist() for part in rebuild(*arguments).unbind()] == PARTS
    assert [part.tolist() for part in pickle.loads(pickle.dumps(x)).unbind()] == PARTS
    assert [part.tolist() for part in copy.copy(x).unbind()] == PARTS


def test_strided_tensors():
    parts = [tl.tensor([[1.0, 2.0]]), tl.tensor([[3.0], [4.0]])]
    x = strided.strided_from_tensors(parts)
    assert isinstance(x, strided.StridedNestedTensor) and x.values().tolist() == [1, 2, 3, 4]
    assert strided.to_padded(x, 0.0).tolist() == [[[1, 2], [0, 0]], [[3, 0], [4, 0]]]
    assert printing.strided_text(x).splitlines()[1] == "  tensor([[1., 2.]]),"
    placement = strided.Placement([(1, 2), (2, 1)])
    assert placement.offsets == (0, 2) and placement.strides == ((2, 1), (1, 1)) and placement.is_contiguous()
    same = strided.as_strided_nested(tl.arange(4.0), placement)
    assert [part.tolist() for part in same.unbind()] == [[[0, 1]], [[2], [3]]]
    swapped = strided.Placement([(2, 2)], [(1, 2)], [0])
    assert not swapped.is_contiguous() and swapped.numel == 4 and swapped != strided.Placement([(2, 2)])
    with pytest.raises(RuntimeError, match="same dimension"):
        strided.strided_from_tensors([tl.ones(1), tl.ones(1, 1)])
    with pytest.raises(RuntimeError, match="Truncation"):
        nested.to_padded_tensor(x, 0.0, (2, 1, 2))


def test_dimensions():
    assert dims.wrap_all(None, 3) == dims.wrap_all([], 3) == [0, 1, 2]
    assert dims.wrap_all(-1, 3) == [2] and dims.wrap_all([0, -1], 3) == [0, 2]
    with pytest.raises(RuntimeError, match="multiple times"):
        dims.wrap_all([2, -1], 3)


def test_parts_of_masked_tensors():
    data, mask = tl.tensor([1.0, 2.0]), tl.tensor([True, False])
    core.check_parts(data, mask)
    for wrong, error in (
        ((data, [True]), TypeError),
        ((data, data), TypeError),
        ((data.to(tl.complex64), mask), TypeError),
        ((data, mask.view(1, 2)), ValueError),
        ((data, mask[:1]), ValueError),
    ):
        with pytest.raises(error):
            core.check_parts(*wrong)
    fresh = data.clone()
    masked = core.as_masked(fresh, mask)
    assert masked is fresh and masked.get_mask() is mask and core.densify(masked) is masked
    sparse = masked_tensor(tl.tensor([0.0, 3.0]).to_sparse(), tl.tensor([False, True]).to_sparse())
    assert core.densify(sparse).get_data().tolist() == [0, 3] and core.densify(sparse).layout is tl.strided


def test_elements_of_any_layout():
    x = tl.tensor([[0.0, 4.0], [9.0, 0.0]])
    for t in x, x.to_sparse(), x.to_sparse_csr():
        result = unary.on_values(tl.sqrt, t)
        assert result.layout is t.layout and result.to_dense().tolist() == [[0, 2], [3, 0]]
    other = core.with_values(x.to_sparse_csr(), tl.tensor([1.0, 2.0]))
    assert other.to_dense().tolist() == [[0, 1], [2, 0]]


def test_neutral_elements():
    assert [operations.neutral(name, tl.float32) for name in ("sum", "prod")] == [0, 1]
    assert operations.neutral("amax", tl.float32) == -float("inf")
    assert operations.neutral("amin", tl.int8) == 127
    with pytest.raises(NotImplementedError, match="no such"):
        operations.neutral("no such", tl.float32)
