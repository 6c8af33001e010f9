"""Nested tensors of the layout torch.strided against loops over their components."""

import copy
import pickle

import pytest

import tl_core as tl
from tl_core import nested
from tl_core.functions import nn as nn_functions


def components(*shapes, seed=0):
    tl.manual_seed(seed)
    return [tl.randn(*shape, dtype=tl.float64) for shape in shapes or ((2, 3), (4, 3), (1, 3))]


def made(*shapes, seed=0):
    return nested.nested_tensor(components(*shapes, seed=seed))


def assert_components(x, expected):
    assert x.is_nested and x.layout is tl.strided
    assert len(x) == len(expected)
    for part, reference in zip(x.unbind(), expected, strict=True):
        assert part.shape == reference.shape
        assert tl.allclose(part, reference, rtol=1e-12, atol=1e-14)


def test_what_it_consists_of():
    x = made((2, 5), (3, 4))
    assert (x.dim(), len(x), x.numel(), x.size(0)) == (3, 2, 22, 2)
    assert x.values().shape == (22,) and x.is_contiguous()
    assert x._nested_tensor_size().tolist() == [[2, 5], [3, 4]]
    assert x._nested_tensor_strides().tolist() == [[5, 1], [4, 1]]
    assert x._nested_tensor_storage_offsets().tolist() == [0, 10]
    for call, message in (
        (lambda: x.size(), "doesn't support sizes"),
        (lambda: x.shape, "doesn't support sizes"),
        (lambda: x.size(1), "dimension 1 is irregular"),
        (lambda: x.stride(), "doesn't support strides"),
        (lambda: x.numpy(), "not supported"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()
    x[0][0, 0] = 5.0
    assert x.values()[0] == 5.0  # views


def test_printing():
    x = nested.nested_tensor([tl.tensor([[1, 2]]), tl.tensor([3])[:, None]])
    assert repr(x) == str(x) == "nested_tensor([\n  tensor([[1, 2]]),\n  tensor([[3]])\n])"
    assert repr(nested.nested_tensor([])) == "nested_tensor([\n\n])"


@pytest.mark.parametrize(
    "how", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"]
)
def test_copies(how):
    for x in (made(), made().transpose(1, 2)):
        y = how(x)
        assert_components(y, x.unbind())
        assert y.values().data_ptr() != x.values().data_ptr()


def test_a_pickle_whose_parts_do_not_fit_is_refused():
    from tl_core.nested.strided_operators import rebuild_strided

    for sizes, strides, offsets in (([[3, 3]], [[3, 1]], [0]), ([[2]], [[-1]], [4]), ([[2]], [[1]], [-1])):
        with pytest.raises(ValueError, match="does not fit a buffer"):
            rebuild_strided(tl.zeros(8), tl.tensor(sizes), tl.tensor(strides), tl.tensor(offsets))


def test_construction():
    with pytest.raises(RuntimeError, match="Found dimension 2 for Tensor at index 1 and dimension 1"):
        nested.nested_tensor([tl.zeros(1), tl.zeros(1, 1)])
    with pytest.raises(TypeError, match="must be a list or tuple"):
        nested.nested_tensor(tl.zeros(3))
    assert_components(nested.as_nested_tensor(tl.ones(2, 3)), [tl.ones(3)] * 2)
    assert_components(
        nested.narrow(tl.arange(6.0).view(2, 3), 1, 1, 2), [tl.tensor([1.0, 2.0]), tl.tensor([4.0, 5.0])]
    )
    x = made()
    assert nested.as_nested_tensor(x) is x
    with pytest.raises(RuntimeError, match="between the layouts"):
        nested.as_nested_tensor(x, layout=tl.jagged)


def test_pointwise():
    x, y = made(), made(seed=1)
    a, b = x.unbind(), y.unbind()
    assert_components(x.sin(), [i.sin() for i in a])
    assert_components(x * y + 2, [i * j + 2 for i, j in zip(a, b, strict=True)])
    assert_components(x.masked_fill(x > 0, 0.0), [i.masked_fill(i > 0, 0.0) for i in a])
    assert_components(x.transpose(1, 2) + y.transpose(1, 2), [(i + j).t() for i, j in zip(a, b, strict=True)])
    z = made((3, 2), (3, 4), (3, 1), seed=2)
    assert_components(x + z.transpose(1, 2), [i + j.t() for i, j in zip(a, z.unbind(), strict=True)])
    assert_components(x * tl.ones(3, 1, 3, dtype=tl.float64), a)
    assert_components(tl.zeros_like(x), [tl.zeros_like(i) for i in a])
    before = [i.clone() for i in a]
    x += y
    assert_components(x, [i + j for i, j in zip(before, b, strict=True)])
    assert_components(x.to(tl.float32).double(), [i.float().double() for i in x.unbind()])


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: x + made((1, 3), (4, 3), (1, 3)), "components of the same sizes"),
        (lambda x: x + tl.zeros(3), "got a nested self and non-nested other"),
        (lambda x: tl.zeros(3) * x, "got a non-nested self and nested other"),
        (lambda x: x.transpose(1, 2).sin(), "must be contiguous to get buffer"),
        (lambda x: tl.zeros((), dtype=tl.float64).mul_(x), "doesn't match the broadcast shape"),
        (lambda x: x.transpose(0, 1), "dimension 0 cannot be transposed"),
        (lambda x: x.chunk(2, 1), "only supported for the last dimension"),
        (lambda x: x.chunk(2, -1), "divisible by chunks"),
        (lambda x: x.split([1, 1], -1), "sum exactly to 3"),
        (lambda x: x.squeeze(), "without the dim argument"),
        (lambda x: x.softmax(0), "across nested dimension 0"),
        (lambda x: x.sum(1, keepdim=True), "across the last"),
        (lambda x: x.sum(-1), "requires keepdim=True"),
        (lambda x: x.narrow(1, 0, 1), "only dim=0"),
        (lambda x: x.view(-1, 3), "batch dimension"),
        (lambda x: x.bmm(x), "cannot be multiplied"),
        (lambda x: x.fill_(tl.zeros(2)), "0-dimension value"),
        (lambda x: x.copy_(tl.zeros(2)), "same size for Nested"),
        (lambda x: tl.cat([x, tl.zeros(2)]), "to be nested"),
        (lambda x: x.unbind(1), "dimension 0 got dimension 1"),
        (lambda x: nested.to_padded_tensor(x, 0.0, (3, 2, 3)), "Truncation is not supported"),
        (lambda x: nn_functions.linear(x, tl.zeros(2, 4, dtype=tl.float64)), "last_dim = 3"),
        (lambda x: nn_functions.scaled_dot_product_attention(x, x, x, is_causal=True), "is_causal=True"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(made())


def test_indices():
    x = made()
    a = x.unbind()
    assert tl.equal(x[1], a[1]) and tl.equal(x[-1, 0, 1:], a[-1][0, 1:])
    assert_components(x[...], a)
    assert_components(x.select(2, 1), [i[:, 1] for i in a])
    with pytest.raises(IndexError):
        x[3]
    with pytest.raises(NotImplementedError):
        x[:]
    with pytest.raises(NotImplementedError, match="cumsum"):
        x.cumsum(1)


def test_shapes():
    x = made((2, 6), (3, 6))
    a = x.unbind()
    assert_components(x.transpose(1, 2), [i.t() for i in a])
    assert not x.transpose(1, 2).is_contiguous()
    assert_components(x.transpose(1, 2).contiguous(), [i.t() for i in a])
    assert_components(x.view(2, -1, 2, 3), [i.view(-1, 2, 3) for i in a])
    assert_components(x.transpose(1, 2).reshape(2, -1, 1), [i.t().reshape(-1, 1) for i in a])
    assert_components(x.unsqueeze(2), [i[:, None] for i in a])
    assert_components(x.unsqueeze(-1).squeeze(-1), a)
    for part, k in zip(x.chunk(2, -1), (0, 3), strict=True):
        assert_components(part, [i[:, k : k + 3] for i in a])
        assert_components(part.clone(), [i[:, k : k + 3] for i in a])
    assert_components(x.narrow(0, 1, 1), a[1:])
    assert_components(tl.cat([x, x]), [*a, *a])
    assert_components(tl.cat([x, x], -1), [tl.cat([i, i], -1) for i in a])


def test_padding():
    x = made((2, 3), (1, 4))
    padded = nested.to_padded_tensor(x, 7.0)
    assert padded.shape == (2, 2, 4)
    assert tl.equal(padded[0, :, :3], x[0]) and bool((padded[0, :, 3] == 7).all())
    assert nested.to_padded_tensor(x, 0.0, (3 - 1, 5, 6)).shape == (2, 5, 6)
    with pytest.raises(RuntimeError, match="only supports contiguous"):
        nested.to_padded_tensor(x.transpose(1, 2), 0.0)


def test_layers():
    x = made()
    a = x.unbind()
    w = tl.randn(4, 3, dtype=tl.float64)
    assert_components(nn_functions.linear(x, w), [i @ w.t() for i in a])
    assert_components(x @ w.t(), [i @ w.t() for i in a])
    assert_components(x.bmm(x.transpose(1, 2)), [i @ i.t() for i in a])
    assert_components(x.softmax(1), [i.softmax(0) for i in a])
    assert_components(tl.layer_norm(x, (3,)), [tl.layer_norm(i, (3,)) for i in a])
    assert_components(x.sum(-1, keepdim=True), [i.sum(-1, keepdim=True) for i in a])
    attend = nn_functions.scaled_dot_product_attention
    assert_components(attend(x, x, x), [attend(i, i, i) for i in a])
    indices = nested.nested_tensor([[0, 2], [1]])
    assert_components(tl.embedding(w, indices), [w[[0, 2]], w[[1]]])


def test_masks_and_padded_examples():
    from tl_core.nested import from_padded

    t = tl.arange(12.0).view(2, 3, 2)
    mask = tl.tensor([[True, True, False], [True, False, False]])
    x = from_padded.from_mask(t, mask)
    assert_components(x, [t[0, :2], t[1, :1]])
    assert_components(from_padded.from_padded_and_example(t, x), x.unbind())
    assert not from_padded.is_left_aligned(t, ~mask)
    with pytest.raises(RuntimeError, match="left-aligned"):
        from_padded.from_mask(t, ~mask)
