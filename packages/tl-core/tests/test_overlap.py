"""Operators whose output shares memory with itself or an input: refused before anything is written, or as warned."""

import pytest

import tl_core as tl

SHARED = "some elements of the input tensor and the written-to tensor refer to a single memory"
REPEATED = "more than one element of the written-to tensor refers to a single memory"
INDEX = tl.tensor([2, 1, 0])

# Each writes into its first tensor; the second is an input.
WRITES = {
    "copy_": lambda t, s: t[:3].copy_(s),
    "assignment": lambda t, s: t.__setitem__(slice(0, 3), s),
    "index_add_": lambda t, s: t.index_add_(0, INDEX, s),
    "index_copy_": lambda t, s: t.index_copy_(0, INDEX, s),
    "index_put_": lambda t, s: t.index_put_((INDEX,), s),
    "index_put_, added": lambda t, s: t.index_put_((INDEX,), s, accumulate=True),
    "scatter_": lambda t, s: t.scatter_(0, INDEX, s),
    "scatter_add_": lambda t, s: t.scatter_add_(0, INDEX, s),
    "scatter_reduce_": lambda t, s: t.scatter_reduce_(0, INDEX, s, "amax"),
    "scatter out": lambda t, s: tl.scatter(tl.zeros(6), 0, INDEX, s, out=t),
    "add_": lambda t, s: t[:3].add_(s),
}


@pytest.mark.parametrize("name", WRITES)
def test_an_input_may_not_share_elements_with_what_is_written(name):
    t = tl.arange(6.0)
    with pytest.raises(RuntimeError, match=SHARED):
        WRITES[name](t, t[1:4])
    assert t.tolist() == [0, 1, 2, 3, 4, 5]
    WRITES[name](t, t[1:4].clone())


@pytest.mark.parametrize(
    "write",
    [
        lambda i: i.index_add_(0, i, tl.ones(3, dtype=tl.int64)),
        lambda i: i.index_copy_(0, i, tl.ones(3, dtype=tl.int64)),
        lambda i: i.index_put_((i,), tl.ones(3, dtype=tl.int64)),
        lambda i: i.index_fill_(0, i, 0),
        lambda i: i.scatter_(0, i, tl.ones(3, dtype=tl.int64)),
        lambda i: i.scatter_(0, i, 7),
    ],
)
def test_the_index_may_not_be_what_is_written(write):
    index = INDEX.clone()
    with pytest.raises(RuntimeError, match=SHARED):
        write(index)
    assert index.equal(INDEX)


@pytest.mark.parametrize(
    "write",
    [
        lambda t: t.copy_(tl.ones(6)),
        lambda t: t.index_add_(0, INDEX, tl.ones(3)),
        lambda t: t.index_copy_(0, INDEX, tl.ones(3)),
        lambda t: t.scatter_(0, INDEX, tl.ones(3)),
        lambda t: t.scatter_(0, INDEX, 1.0),
        lambda t: t.masked_scatter_(tl.ones(6, dtype=tl.bool), tl.ones(6)),
    ],
)
def test_no_element_is_written_twice(write):
    t = tl.zeros(1).expand(6)
    with pytest.raises(RuntimeError, match=REPEATED):
        write(t)
    assert not t.any()


@pytest.mark.parametrize(
    ("name", "write", "expected"),
    [
        ("masked_fill_", lambda t: t.masked_fill_(tl.tensor([[False], [True]]), 5.0), [[5.0, 5.0, 5.0]]),
        ("masked_fill_", lambda t: t.masked_fill_(tl.tensor([False, False, True]), 5.0), [[0.0, 0.0, 5.0]]),
        (
            "masked_fill_",
            lambda t: t.masked_fill_(tl.tensor([True, False, False]), tl.tensor(5.0)),
            [[5.0, 0.0, 0.0]],
        ),
        ("index_fill_", lambda t: t.index_fill_(1, tl.tensor([0, 2]), 5.0), [[5.0, 0.0, 5.0]]),
        ("index_fill_", lambda t: t.index_fill_(0, tl.tensor([1]), 5.0), [[5.0, 5.0, 5.0]]),
        ("index_put_", lambda t: t.index_put_((tl.tensor([0, 1]),), tl.tensor(5.0)), [[5.0, 5.0, 5.0]]),
    ],
)
def test_expanded_tensors_are_filled_with_a_warning(name, write, expected):
    base = tl.zeros(1, 3)
    with pytest.warns(UserWarning, match=f"{name} on expanded tensors"):
        result = write(base.expand(2, 3))
    assert base.tolist() == expected and result.tolist() == 2 * expected


def test_what_is_the_same_or_apart_is_written():
    t = tl.arange(6.0)
    assert t.copy_(t) is t and t[:3].copy_(t[3:]).tolist() == [3, 4, 5]
    assert t.tolist() == [3, 4, 5, 3, 4, 5]
    t[::2].copy_(t[1::2])  # gaps: taken to be apart
    assert t.tolist() == [4, 4, 3, 3, 5, 5]
    square = tl.arange(4.0).view(2, 2)
    with pytest.raises(RuntimeError, match=SHARED):
        square.copy_(square.t())


def test_put_refuses_elements_that_share_memory():
    x = tl.ones(1).expand(3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        x.put_(tl.tensor([0]), tl.tensor([1.0]))
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        x.put_(tl.tensor([], dtype=tl.int64), tl.tensor([]))
    assert x.put(tl.tensor([0]), tl.tensor([2.0])).tolist() == [2.0, 1.0, 1.0]
