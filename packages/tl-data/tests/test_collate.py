"""Batches out of samples."""

import collections
import types

import numpy as np
import pytest

import tl_core
import tl_data
import tl_data.collate as collation
from tl_data.collate import collate, default_collate_fn_map
from tl_data.compat._utils import collate as by_other_name

Point = collections.namedtuple("Point", ["x", "y"])


class Pair(list):
    """A sequence of another type."""


def test_numbers():
    full, real, truth = map(tl_data.default_collate, ([1, 2], [0.5, 1.5], [True, False]))
    assert (full.dtype, real.dtype, truth.dtype) == (tl_core.int64, tl_core.float64, tl_core.bool)
    assert (full.tolist(), real.tolist(), truth.tolist()) == ([1, 2], [0.5, 1.5], [True, False])


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float16", "float32", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0), (2, 3)])
def test_arrays_and_tensors(dtype, shape):
    arrays = [
        np.arange(max(int(np.prod(shape)), 0)).reshape(shape).astype(dtype) + np.array(i).astype(dtype)
        for i in range(4)
    ]
    for batch in (arrays, [tl_core.from_numpy(np.array(a)) for a in arrays]):
        result = tl_data.default_collate(batch)
        assert str(result.dtype) == f"torch.{dtype}"
        np.testing.assert_array_equal(result.numpy(), np.stack(arrays))


def test_numpy_numbers_keep_their_type():
    for kind in (np.float64, np.float32, np.int8, np.bool_):
        result = tl_data.default_collate([kind(1), kind(0)])
        assert result.dtype == tl_core.from_numpy(np.zeros(1, kind)).dtype and result.tolist() == [1, 0]


def test_gaps_and_other_byte_orders():
    strided = [np.arange(12).reshape(3, 4)[:, ::2] for _ in range(2)]
    np.testing.assert_array_equal(tl_data.default_collate(strided).numpy(), np.stack(strided))


def test_texts_stay():
    assert tl_data.default_collate(["a", "b"]) == ["a", "b"]
    assert tl_data.default_collate([b"a", b"b"]) == [b"a", b"b"]


def test_containers():
    result = tl_data.default_collate([{"a": 1, "b": [1, 2]}, {"a": 3, "b": [3, 4]}])
    assert type(result) is dict and result["a"].tolist() == [1, 3]
    assert [t.tolist() for t in result["b"]] == [[1, 3], [2, 4]]
    assert type(tl_data.default_collate([(1, 2), (3, 4)])) is list
    point = tl_data.default_collate([Point(1, "a"), Point(2, "b")])
    assert type(point) is Point and point.x.tolist() == [1, 2] and point.y == ("a", "b")
    assert type(tl_data.default_collate([Pair([1, 2])])) is Pair
    ordered = tl_data.default_collate([collections.OrderedDict(a=1)])
    assert type(ordered) is collections.OrderedDict and ordered["a"].tolist() == [1]
    counted = tl_data.default_collate([collections.defaultdict(int, a=1)] * 2)
    assert counted.default_factory is int and counted["a"].tolist() == [1, 1]


def test_refusals():
    with pytest.raises(
        TypeError, match=r"must contain tensors, numpy arrays, numbers, dicts or lists; found .*object"
    ):
        tl_data.default_collate([object()])
    with pytest.raises(TypeError, match="must contain"):
        tl_data.default_collate([np.array(["a"])])
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        tl_data.default_collate([[1, 2], [1]])
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        tl_data.default_collate([np.zeros(2), np.zeros(3)])


def test_the_table_can_be_extended():
    class Own:
        pass

    default_collate_fn_map[Own] = lambda batch, *, collate_fn_map=None: len(batch)
    try:
        assert tl_data.default_collate([Own(), Own()]) == 2
        assert tl_data.default_collate([(Own(), 1)])[0] == 1
    finally:
        del default_collate_fn_map[Own]
    assert by_other_name.default_collate_fn_map is default_collate_fn_map


def test_a_changed_line_for_tensors_is_used_by_the_loader():
    before = default_collate_fn_map[tl_core.Tensor]
    default_collate_fn_map[tl_core.Tensor] = lambda batch, *, collate_fn_map=None: "changed"
    try:
        assert list(tl_data.DataLoader(tl_data.TensorDataset(tl_core.arange(2)), batch_size=2)) == [
            ["changed"]
        ]
    finally:
        default_collate_fn_map[tl_core.Tensor] = before


def test_a_line_may_hold_for_several_types():
    table = {(int, float): lambda batch, *, collate_fn_map=None: sum(batch)}
    assert collate([1, 2], collate_fn_map=table) == 3
    with pytest.raises(TypeError, match="must contain"):
        collate([None], collate_fn_map=table)


def test_convert():
    result = tl_data.default_convert(
        [np.array([0, 1]), Point(np.array(0), "a"), {"a": np.float32(1)}, b"x", 3]
    )
    assert result[0].tolist() == [0, 1] and type(result[1]) is Point and result[1].x.item() == 0
    assert result[2]["a"].dtype == tl_core.float32 and result[3:] == [b"x", 3]
    text = np.array(["a"])
    assert tl_data.default_convert(text) is text


def test_functions_of_one_type():
    batches = {
        collation.collate_float_fn: ([0.5, 2], tl_core.float64),
        collation.collate_int_fn: ([1, 2], tl_core.int64),
        collation.collate_numpy_scalar_fn: ([np.int8(1), np.int8(2)], tl_core.int8),
        collation.collate_numpy_array_fn: (
            [np.ones(2, np.float32), np.zeros(2, np.float32)],
            tl_core.float32,
        ),
        collation.collate_tensor_fn: ([tl_core.ones(2), tl_core.zeros(2)], tl_core.float32),
    }
    for function, (batch, dtype) in batches.items():
        tensor = function(batch, collate_fn_map=None)
        assert tensor.dtype == dtype and tensor.tolist() == [np.asarray(each).tolist() for each in batch]
    texts = ["a", "b"]
    assert collation.collate_str_fn(texts) is texts
    with pytest.raises(TypeError, match="found <U1"):
        collation.collate_numpy_array_fn([np.array(["a"])])


def test_rows_of_one_array():
    arrays = [np.arange(6.0).reshape(2, 3) + i for i in range(2)]
    np.testing.assert_array_equal(collation.join_arrays(arrays), np.stack(arrays))
    out = np.empty((2, 2, 3))
    assert collation.join_arrays(arrays, out=out) is not None
    np.testing.assert_array_equal(out, np.stack(arrays))
    assert collation.join_arrays([np.array(1), np.array(2)]).tolist() == [1, 2]
    for other in (np.zeros((2, 3), np.float32), np.zeros((3, 2)), np.zeros((2, 3)).astype(">f8")):
        assert collation.join_arrays([other, arrays[0]]) is None


def test_containers_of_the_type_of_an_example():
    ordered = collections.OrderedDict(a=1, b=2)
    items = {"a": 3, "b": 4}
    mapping = collation.like_mapping(ordered, items)
    assert type(mapping) is collections.OrderedDict and mapping == items and ordered["a"] == 1
    assert type(collation.like_mapping(types.MappingProxyType({}), items)) is types.MappingProxyType
    pair = Pair([1, 2])
    pair.name = "label"
    sequence = collation.like_sequence(pair, [3, 4])
    assert type(sequence) is Pair and sequence == [3, 4] and sequence.name == "label" and pair == [1, 2]
    assert collation.like_sequence((1, 2), [3, 4]) == [3, 4] == collation.like_sequence(range(2), [3, 4])


def test_numpy_has_its_entries_before_those_of_numbers():
    collation.know_numpy()
    keys = list(default_collate_fn_map)
    assert (
        keys.index(np.ndarray) < keys.index(float)
        and default_collate_fn_map[float] is collation.collate_float_fn
    )
