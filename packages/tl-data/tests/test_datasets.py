"""Datasets, alone and in a loader."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import Numbers, Stream, plain

import tl_core
import tl_data
from tl_data import dataset

X = tl_core.arange(30).view(10, 3)
Y = tl_core.arange(10)


class Upper(tl_data.TensorDataset):
    """Overrides the single sample only: its bases' batches would be wrong."""

    def __getitem__(self, index):
        return tuple(-t[index] for t in self.tensors)


def test_a_dataset_must_have_samples():
    with pytest.raises(NotImplementedError, match="Dataset must have __getitem__"):
        tl_data.Dataset()[0]


def test_tensor_dataset():
    dataset = tl_data.TensorDataset(X, Y)
    assert len(dataset) == 10
    assert plain(dataset[3]) == [[9, 10, 11], 3]
    assert plain(dataset.__getitems__([1, 9])) == [[[3, 4, 5], 1], [[27, 28, 29], 9]]
    assert plain(list(tl_data.DataLoader(dataset, batch_size=6)))[1] == [X[6:].tolist(), [6, 7, 8, 9]]


def test_tensor_dataset_refuses_other_lengths():
    with pytest.raises(AssertionError, match=r"Size mismatch between tensors.*\[10, 2\]"):
        tl_data.TensorDataset(X, Y[:2])


def test_an_overridden_sample_is_asked_for():
    (batch,) = tl_data.DataLoader(Upper(X, Y), batch_size=10)
    assert plain(batch) == [(-X).tolist(), (-Y).tolist()]


def test_tensor_dataset_of_arrays():
    dataset = tl_data.TensorDataset(np.arange(4), np.arange(8).reshape(4, 2))
    assert plain(list(tl_data.DataLoader(dataset, batch_size=4))) == [
        [[0, 1, 2, 3], [[0, 1], [2, 3], [4, 5], [6, 7]]]
    ]


def test_stack_dataset():
    both = tl_data.StackDataset(Numbers(10), tl_data.TensorDataset(Y))
    assert plain(both[2]) == [2, [2]]
    named = tl_data.StackDataset(a=Numbers(10), b=tl_data.TensorDataset(X))
    assert plain(named[1]) == {"a": 1, "b": [[3, 4, 5]]}
    assert plain(named.__getitems__([1, 2])) == [{"a": 1, "b": [[3, 4, 5]]}, {"a": 2, "b": [[6, 7, 8]]}]
    (batch,) = tl_data.DataLoader(tl_data.StackDataset(x=tl_data.TensorDataset(X)), batch_size=10)
    assert plain(batch) == {"x": [X.tolist()]}


def test_stack_dataset_errors():
    with pytest.raises(ValueError, match="no dataset"):
        tl_data.StackDataset()
    with pytest.raises(ValueError, match="both positional and named"):
        tl_data.StackDataset(Numbers(2), b=Numbers(2))
    with pytest.raises(ValueError, match=r"Size mismatch.*\[2, 3\]"):
        tl_data.StackDataset(Numbers(2), Numbers(3))


def test_stack_dataset_notices_a_member_that_gives_too_few():
    class Short(Numbers):
        def __getitems__(self, indices):
            return indices[:-1]

    with pytest.raises(ValueError, match=r"output size mismatch. Expected 2, got 1"):
        tl_data.StackDataset(Short(4)).__getitems__([0, 1])


def test_concat_dataset():
    joined = Numbers(3) + tl_data.Subset(Numbers(), [40, 41]) + Numbers(1)
    assert [joined[i] for i in range(len(joined))] == [0, 1, 2, 40, 41, 0]
    assert joined[-1] == 0 and joined[-2] == 41
    assert joined.__getitems__([5, 3, 0]) == [0, 40, 0]
    with pytest.raises(ValueError, match="absolute value of index"):
        joined[-7]
    with pytest.warns(FutureWarning, match="cumulative_sizes"):
        assert tl_data.ConcatDataset([Numbers(2), Numbers(3)]).cummulative_sizes == [2, 5]


def test_concat_dataset_errors():
    with pytest.raises(AssertionError, match="empty"):
        tl_data.ConcatDataset([])
    with pytest.raises(AssertionError, match="IterableDataset"):
        tl_data.ConcatDataset([Stream()])


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.randoms())
def test_concatenated_tensors_come_in_batches_as_they_come_alone(lengths, order):
    parts = [tl_data.TensorDataset(tl_core.arange(n) + 100 * i) for i, n in enumerate(lengths)]
    joined = tl_data.ConcatDataset(parts)
    keys = list(range(len(joined)))
    order.shuffle(keys)
    batches = tl_data.DataLoader(joined, batch_sampler=[keys[:2], keys[2:]] if len(keys) > 2 else [keys])
    result = [n for (column,) in batches for n in column.tolist()]
    assert result == [joined[k][0].item() for k in keys]


def test_chain_dataset():
    chained = Stream(3) + Stream(2)
    assert list(chained) == [0, 1, 2, 0, 1]
    with pytest.raises(AssertionError, match="ChainDataset only supports IterableDataset, got Numbers"):
        list(tl_data.ChainDataset([Numbers(2)]))
    with pytest.raises(TypeError):
        len(chained)


def test_subset():
    subset = tl_data.Subset(tl_data.TensorDataset(Y), [7, 1, 3])
    assert len(subset) == 3 and plain(subset[0]) == [7]
    assert plain(list(tl_data.DataLoader(subset, batch_size=2))) == [[[7, 1]], [[3]]]


def test_random_split():
    parts = tl_data.random_split(range(10), [3, 7], tl_core.Generator().manual_seed(42))
    again = tl_data.random_split(range(10), [3, 7], tl_core.Generator().manual_seed(42))
    assert [p.indices for p in parts] == [p.indices for p in again]
    assert sorted(i for p in parts for i in p.indices) == list(range(10))


@given(st.integers(0, 40), st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_shares_are_rounded_so_that_nothing_is_left(count, weights):
    shares = [w / sum(weights) for w in weights]
    if sum(shares) > 1:
        return
    floors = [int(np.floor(count * share)) for share in shares]
    if 0 in floors or count == 0:
        return
    lengths = [len(p) for p in tl_data.random_split(range(count), shares)]
    rest = count - sum(floors)
    assert lengths == [f + (i < rest) for i, f in enumerate(floors)]


def test_random_split_errors():
    with pytest.raises(ValueError, match=r"Sum of input lengths.* 5 and 4"):
        tl_data.random_split(range(4), [2, 3])
    with pytest.raises(ValueError, match=r"Fraction at index 0 is not between 0 and 1: -0.5"):
        tl_data.random_split(range(4), [-0.5, 1.5])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        tl_data.random_split(range(1), [0.5, 0.5])


class Many(tl_data.Dataset):
    """Ten times the key, one by one or at once."""

    def __getitem__(self, key):
        return key * 10

    def __getitems__(self, keys):
        return [(key * 10, "at once") for key in keys]

    def __getbatch__(self, keys):
        return sum(keys)


class One(Many):
    """A subclass that overrides the single sample."""

    def __getitem__(self, key):
        return -key


def test_methods_for_many_keys():
    assert dataset.samples_of(Many(), [1, 2]) == [(10, "at once"), (20, "at once")]
    assert dataset.samples_of(One(), [1, 2]) == [-1, -2] == dataset.samples_of({1: -1, 2: -2}, [1, 2])
    assert dataset.batch_of(Many(), [1, 2]) == 3
    assert dataset.batch_of(One(), [1, 2]) is NotImplemented is dataset.batch_of([1], [0])
    assert dataset.bulk_method(One(), "__getitems__") is None is dataset.bulk_method([1], "__getitems__")
    assert dataset.bulk_method(Many(), "__getbatch__")([3, 4]) == 7


def test_the_class_that_defines_an_attribute():
    assert dataset.definer(One, "__getitem__") is One and dataset.definer(One, "__getitems__") is Many
    assert dataset.definer(One, "__add__") is tl_data.Dataset and dataset.definer(One, "missing") is None


def test_elements_are_dropped():
    numbers = iter(range(5))
    dataset.skip(numbers, 3)
    assert next(numbers) == 3
    dataset.skip(numbers, 9)
    assert list(numbers) == []
