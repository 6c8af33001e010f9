"""Tensors on the memory of capsules, buffers and arrays, and from nested lists."""

import pytest

import tl_core as tl


def test_a_buffer_is_shared_and_its_format_is_the_dtype():
    array = pytest.importorskip("array")
    values = array.array("d", [1.5, 2.5])
    x = tl.asarray(values, copy=False)
    assert x.dtype is tl.float64
    values[0] = 7
    assert x.tolist() == [7, 2.5]
    assert tl.asarray(values, copy=True).data_ptr() != x.data_ptr()
    assert tl.asarray(bytearray(8), dtype=tl.int32, copy=False).tolist() == [0, 0]


def test_a_capsule_is_shared():
    x = tl.arange(3)
    y = tl.asarray(tl.to_dlpack(x), copy=False)
    x[0] = 5
    assert y.tolist() == [5, 1, 2]


def test_what_cannot_be_shared_is_named():
    with pytest.raises(ValueError, match="can't alias arbitrary sequence"):
        tl.asarray([1, 2], copy=False)
    with pytest.raises(ValueError, match=r"with dtype 'torch.int64' into dtype 'torch.float32'"):
        tl.asarray(tl.arange(2), dtype=tl.float32, copy=False)
    with pytest.raises(ValueError, match="does not implement Python buffer protocol"):
        tl.frombuffer([1, 2], dtype=tl.int8)


def test_numpy_scalars_have_no_memory_to_share():
    np = pytest.importorskip("numpy")
    with pytest.raises(RuntimeError, match="can't alias NumPy scalars"):
        tl.asarray(np.float64(0.5), copy=False)
    assert tl.asarray(np.float64(0.5)).dtype is tl.float64
    assert tl.asarray(memoryview(np.array([1j], dtype=np.complex64)), copy=False).tolist() == [1j]


def test_lists_that_hold_themselves():
    z = [0]
    z += [z]
    with pytest.raises(TypeError, match="self-referential"):
        tl.tensor(z)
    a, b = [1], [2]
    a.append(b)
    b.append(a)
    with pytest.raises(ValueError, match="too many dimensions"):
        tl.tensor(a)


def test_tensors_of_one_element_count_as_numbers():
    assert tl.tensor([(tl.tensor([1]), tl.tensor(2))]).tolist() == [[1, 2]]
    assert tl.tensor([tl.tensor([[1]]), 2]).shape == (2,)


def test_numbers_of_any_size():
    assert tl.tensor(2**64, dtype=tl.float64).item() == 2.0**64
    assert tl.tensor([2**70, 0, -(2**70), 1j, 0j], dtype=tl.bool).tolist() == [True, False, True, True, False]
    with pytest.raises(OverflowError):
        tl.tensor(10**400, dtype=tl.float64)


def test_a_sequence_that_does_not_give_its_items():
    class Bad:
        def __len__(self):
            return 1

        def __getitem__(self, i):
            raise TypeError

    with pytest.raises(ValueError, match="could not determine the shape"):
        tl.tensor(Bad())


def test_lists_as_indices():
    x = tl.arange(12).view(3, 4)
    assert x[[slice(None), 0]].tolist() == x[:, 0].tolist()
    assert x[[[0, 1], [1, 2]]].tolist() == [1, 6]
    assert x[[0, 2]].tolist() == [[0, 1, 2, 3], [8, 9, 10, 11]]
    assert x[[..., 0]].tolist() == [0, 4, 8]
    x[[slice(None), 0]] = -1
    assert x[:, 0].tolist() == [-1, -1, -1]
