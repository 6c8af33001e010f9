"""Copies of pieces into tensors that are there."""

import pytest

import tl_core as tl

CALLS = {
    "split_copy": (lambda x, **out: tl.split_copy(x, 2, 1, **out), [(3, 2), (3, 2), (3, 1)]),
    "split_with_sizes_copy": (
        lambda x, **out: tl.split_with_sizes_copy(x, [0, 4, 1], 1, **out), [(3, 0), (3, 4), (3, 1)]
    ),
    "unbind_copy": (lambda x, **out: tl.unbind_copy(x, **out), [(5,)] * 3),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_pieces_are_copied_into_out(name):
    call, shapes = CALLS[name]
    x = tl.arange(15).reshape(3, 5)
    out = [tl.empty(0, dtype=tl.int64) for _ in shapes]
    assert call(x, out=out) is None
    assert [tuple(t.shape) for t in out] == shapes
    assert [t.tolist() for t in out] == [t.tolist() for t in call(x)]
    joined = tl.stack(out) if name == "unbind_copy" else tl.cat(out, 1)
    assert joined.tolist() == x.tolist()
    x.fill_(0)
    assert out[1].sum().item() > 0  # the pieces are copies


@pytest.mark.parametrize("name", CALLS)
def test_out_is_looked_at_before_anything_is_written(name):
    call, shapes = CALLS[name]
    x = tl.ones(3, 5)
    first = tl.full(shapes[0], 7.0)
    with pytest.raises(RuntimeError, match=rf"{name}_out expected an out= argument of size 3, got size 1"):
        call(x, out=[first])
    wrong = [first, *(tl.empty(shape, dtype=tl.int32) for shape in shapes[1:])]
    with pytest.raises(RuntimeError, match=r"Expected out tensor to have dtype torch\.float32, but got"):
        call(x, out=wrong)
    elsewhere = [first, *(tl.empty(shape, device="meta") for shape in shapes[1:])]
    with pytest.raises(RuntimeError, match="Expected out tensor to have device cpu, but got meta"):
        call(x, out=elsewhere)
    assert (first == 7).all()


def test_a_view_that_cannot_be_is_copied_all_the_same():
    x = tl.arange(6).reshape(2, 3).t()
    assert tl.view_copy(x, (6,)).tolist() == [0, 3, 1, 4, 2, 5]
    assert tl.view_copy(x, (2, -1), out=tl.empty(0, dtype=tl.int64)).tolist() == [[0, 3, 1], [4, 2, 5]]
    with pytest.raises(RuntimeError, match="invalid for input of size 6"):
        tl.view_copy(x, (4,))
