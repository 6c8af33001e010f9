"""Derivatives of attention and recurrent layers against finite differences."""

import numpy
import pytest

import tl_autograd
import tl_core as tl
from tl_autograd import forward_ad, gradcheck, gradgradcheck
from tl_core.functions import nn as nn_functions

attention = nn_functions.scaled_dot_product_attention


def drawn(*shape, seed=0):
    return tl.tensor(numpy.random.default_rng(seed).standard_normal(shape) / 2).requires_grad_()


MASK = tl.tensor(numpy.random.default_rng(9).random((4, 5)) > 0.4)
CASES = {
    "plain": {},
    "causal": {"is_causal": True},
    "bool mask": {"attn_mask": MASK},
    "scale": {"scale": 0.7},
    "dropout": {"dropout_p": 0.4},
    "dropout, causal": {"dropout_p": 0.4, "is_causal": True},
}


@pytest.mark.parametrize("case", CASES)
def test_attention(case):
    inputs = (drawn(2, 2, 4, 3), drawn(2, 2, 5, 3, seed=1), drawn(2, 2, 5, 2, seed=2))

    def f(q, k, v):
        tl.manual_seed(5)
        return attention(q, k, v, **CASES[case])

    assert gradcheck(f, inputs)
    assert gradgradcheck(f, inputs)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_mask_and_shared_heads(dropout):
    inputs = (drawn(2, 4, 3, 2), drawn(2, 2, 5, 2, seed=1), drawn(2, 2, 5, 2, seed=2), drawn(4, 1, 5, seed=3))

    def f(q, k, v, mask):
        tl.manual_seed(5)
        return attention(q, k, v, mask, dropout, enable_gqa=True)

    assert gradcheck(f, inputs)
    assert gradgradcheck(f, inputs)


def test_tiles_of_dropout_agree_with_the_whole_mask():
    q, k, v = (drawn(1, 2, n, 8, seed=n) for n in (150, 140, 140))
    g = drawn(1, 2, 150, 8, seed=1).detach()
    tl.manual_seed(3)
    result = tl_autograd.grad(attention(q, k, v, dropout_p=0.25), (q, k, v), g)
    tl.manual_seed(3)
    mask = tl.empty(1, 2, 150, 140, dtype=tl.bool).bernoulli_(0.75)
    full = ((q @ k.transpose(-1, -2) * 8**-0.5).softmax(-1) * mask / 0.75) @ v
    for output, other in zip(result, tl_autograd.grad(full, (q, k, v), g), strict=True):
        numpy.testing.assert_allclose(output.numpy(), other.numpy(), atol=1e-12)


def test_many_tiles_agree_with_operators():
    q, k, v = (drawn(1, 2, n, 8, seed=n) for n in (70, 140, 140))
    g = drawn(1, 2, 70, 8, seed=1).detach()
    attention(q, k, v, is_causal=True).backward(g)
    result = [x.grad for x in (q, k, v)]
    for x in (q, k, v):
        x.grad = None
    scores = q @ k.transpose(-1, -2) * 8**-0.5
    records = tl.arange(70).unsqueeze(1) >= tl.arange(140)
    (scores.masked_fill(records.logical_not(), -numpy.inf).softmax(-1) @ v).backward(g)
    for output, x in zip(result, (q, k, v), strict=True):
        numpy.testing.assert_allclose(output.numpy(), x.grad.numpy(), atol=1e-12)


def gradients(q, k, v, g, seen, left, scale, mask=0):
    """The gradients' closed form; `left` is what dropout multiplies probabilities by."""
    scores = numpy.where(seen, q @ k.swapaxes(-1, -2) * scale + mask, -numpy.inf)
    p = numpy.exp(scores - scores.max(-1, keepdims=True))
    p = p / p.sum(-1, keepdims=True)
    ds = left * (g @ v.swapaxes(-1, -2))
    ds = p * (ds - (p * ds).sum(-1, keepdims=True))
    products = ds @ k * scale, ds.swapaxes(-1, -2) @ q * scale, (left * p).swapaxes(-1, -2) @ g
    return *products, ds.sum((0, 1))


@pytest.mark.parametrize(("queries", "keys", "size"), [(64, 40, 64), (150, 300, 48), (70, 600, 33)])
@pytest.mark.parametrize(("dtype", "bound"), [("float32", 1e-5), ("bfloat16", 4e-2), ("float16", 5e-3)])
def test_tiles_agree_with_the_closed_form(dtype, bound, queries, keys, size):
    dtype = getattr(tl, dtype)
    q, k, v, g = (
        drawn(2, 2, n, size, seed=i).detach().to(dtype) for i, n in enumerate((queries, keys, keys, queries))
    )
    exact = [x.to(tl.float64).numpy() for x in (q, k, v, g)]
    causal = numpy.tril(numpy.ones((queries, keys))) > 0
    for records, dropout, scale in [
        (True, 0, 0.2),
        (causal, 0, 0.2),
        (causal, 0.25, 0.1),
        (True, 0.25, -0.3),
    ]:
        inputs = [x.clone().requires_grad_() for x in (q, k, v)]
        tl.manual_seed(3)
        y = attention(*inputs, dropout_p=dropout, is_causal=records is causal, scale=scale)
        result = tl_autograd.grad(y, inputs, g)
        tl.manual_seed(3)
        mask = tl.empty(2, 2, queries, keys, dtype=tl.bool).bernoulli_(1 - dropout).numpy() / (1 - dropout)
        for output, want in zip(result, gradients(*exact, records, mask, scale)[:3], strict=True):
            numpy.testing.assert_allclose(
                output.to(tl.float64).numpy(), want, rtol=bound, atol=bound * abs(want).max()
            )


@pytest.mark.parametrize(("dtype", "bound"), [("float32", 1e-5), ("bfloat16", 4e-2)])
@pytest.mark.parametrize("size", [1.0, 1e-35])
def test_gradients_of_a_mask(size, dtype, bound):
    q, k, v, g = (drawn(2, 3, n, 64, seed=n).detach().to(getattr(tl, dtype)) for n in (70, 150, 150, 70))
    q[..., 1:] *= size  # what the parts of a float have no room for
    mask = drawn(70, 150, seed=4).detach().to(tl.float32).requires_grad_()
    inputs = [x.requires_grad_() for x in (q, k, v)]
    result = tl_autograd.grad(attention(*inputs, attn_mask=mask.to(q.dtype)), (*inputs, mask), g)
    exact = [x.detach().to(tl.float64).numpy() for x in (q, k, v, g, mask.to(q.dtype))]
    wants = gradients(*exact[:4], True, 1, 0.125, exact[4])
    for output, want in zip(result, wants, strict=True):
        numpy.testing.assert_allclose(
            output.to(tl.float64).numpy(), want, rtol=bound, atol=bound * abs(want).max()
        )


@pytest.mark.parametrize("scale", [1e-36, 1e-30, 1e-20, 1e20])
def test_float32_gradients_of_any_size(scale):
    q, k, v, g = (drawn(1, 2, 70, 64, seed=i).detach().numpy() for i in range(4))
    g = abs(g)
    inputs = [tl.tensor(x.astype("float32")).requires_grad_() for x in (q, k, v)]
    result = tl_autograd.grad(attention(*inputs), inputs, tl.tensor((g * scale).astype("float32")))
    for output, want in zip(result, gradients(q, k, v, g, True, 1, 0.125)[:3], strict=True):
        output = output.to(tl.float64).numpy() / scale
        numpy.testing.assert_allclose(output, want, rtol=2e-5, atol=1e-6 * abs(want).max())


def test_what_is_not_finite_stays_in_its_gradients():
    q, k, v, g = (drawn(1, 3, 70, 64, seed=i).detach().to(tl.float32) for i in range(4))
    inputs = [x.requires_grad_() for x in (q, k, v)]
    finite = tl_autograd.grad(attention(*inputs), inputs, g)
    g[0, 1, 33, 5] = numpy.nan
    result = tl_autograd.grad(attention(*inputs), inputs, g)
    assert (
        tl.isnan(result[2][0, 1, :, 5]).all()
        and tl.isnan(result[1][0, 1]).all()
        and tl.isnan(result[0][0, 1, 33]).all()
    )
    result[2][0, 1, :, 5] = finite[2][0, 1, :, 5]
    assert tl.equal(result[2], finite[2])
    for output, other in zip(result, finite, strict=True):
        assert tl.equal(output[:, ::2], other[:, ::2])
    rows = tl.arange(70) != 33
    assert tl.equal(result[0][0, 1][rows], finite[0][0, 1][rows])


def recurrent(name, packed, biases=True):
    """A layer of both directions on matrices of 3 sequences as a function of tensors, and tensors to try it with."""
    gates = {"lstm": 4, "gru": 3}.get(name, 1)
    shapes = [(gates * 2, 2), (gates * 2, 2), (gates * 2,), (gates * 2,)][: 4 if biases else 2]
    sizes = [3, 2, 1] if packed else [3, 3]
    states = 2 if name == "lstm" else 1
    x = drawn(sum(sizes), 2) if packed else drawn(2, 3, 2)
    inputs = [x, *(drawn(2, 3, 2, seed=2 + i) for i in range(states))]
    inputs += [drawn(*shape, seed=10 + i) for i, shape in enumerate(shapes * 2)]

    def f(x, *rest):
        hx, params = (list(rest[:2]) if states == 2 else rest[0]), list(rest[states:])
        if packed:
            return getattr(tl, name)(x, tl.tensor(sizes), hx, params, biases, 1, 0.0, True, True)
        return getattr(tl, name)(x, hx, params, biases, 1, 0.0, True, True, False)

    return f, inputs


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_recurrent_layers(name, packed):
    f, inputs = recurrent(name, packed)
    assert gradcheck(f, inputs)
    assert gradgradcheck(f, inputs)


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_recurrent_layers_without_biases(name):
    f, inputs = recurrent(name, False, biases=False)
    assert gradgradcheck(f, inputs)


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn_tanh"])
def test_recurrent_gradients_are_the_same_where_they_are_recorded(name):
    f, inputs = recurrent(name, packed=True)
    value = sum(y.square().sum() for y in f(*inputs))
    plain = tl_autograd.grad(value, inputs, retain_graph=True)
    for one, other in zip(plain, tl_autograd.grad(value, inputs, create_graph=True), strict=True):
        numpy.testing.assert_allclose(other.detach().numpy(), one.numpy(), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn_tanh"])
def test_third_derivatives_of_recurrent_layers(name):
    f, inputs = recurrent(name, packed=False)

    def derivative(x):
        return tl_autograd.grad(f(x, *inputs[1:])[0].square().sum(), x, create_graph=True)[0]

    assert gradgradcheck(derivative, (inputs[0],))


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn_tanh"])
def test_tangents_of_recurrent_layers(name):
    f, (x, *rest) = recurrent(name, packed=False)
    v, step = drawn(*x.shape, seed=7).detach(), 1e-6
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.detach(), v)
        result = forward_ad.unpack_dual(f(dual, *rest)[0]).tangent
    want = (f(x + step * v, *rest)[0] - f(x - step * v, *rest)[0]) / (2 * step)
    numpy.testing.assert_allclose(result.detach().numpy(), want.detach().numpy(), atol=1e-8)


@pytest.mark.parametrize("dtype", [tl.float16, tl.bfloat16])
@pytest.mark.parametrize("name", ["lstm", "gru", "rnn_tanh"])
def test_recurrent_gradients_of_halves(name, dtype):
    f, inputs = recurrent(name, packed=False)
    halves = [x.detach().to(dtype).requires_grad_() for x in inputs]
    twins = [x.detach().double().requires_grad_() for x in halves]
    want = tl_autograd.grad(f(*twins)[0].sum(), twins)
    for create_graph in (False, True):
        result = tl_autograd.grad(f(*halves)[0].sum(), halves, create_graph=create_graph)
        for one, other in zip(result, want, strict=True):
            assert one.dtype == dtype
            numpy.testing.assert_allclose(one.detach().double().numpy(), other.numpy(), rtol=0.03, atol=0.03)


def test_embedding():
    index = tl.tensor([[0, 2, 2], [3, 1, 2]])
    for keywords in ({}, {"padding_idx": 2}, {"scale_grad_by_freq": True}):
        table = drawn(5, 3)
        out = tl.embedding(table, index, **keywords)
        g = drawn(2, 3, 3, seed=1).detach()
        out.backward(g)
        want = numpy.zeros((5, 3))
        counts = numpy.bincount(index.numpy().ravel(), minlength=5)
        for row, i in zip(g.numpy().reshape(-1, 3), index.numpy().ravel(), strict=True):
            if i != keywords.get("padding_idx", -1):
                want[i] += row / (counts[i] if "scale_grad_by_freq" in keywords else 1)
        numpy.testing.assert_allclose(table.grad.numpy(), want, atol=1e-14)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_embedding_bag(mode):
    index, offsets = tl.tensor([0, 2, 2, 3, 1]), tl.tensor([0, 3, 3])
    table, factors = drawn(5, 3), drawn(5, seed=1) if mode == 0 else None

    def f(table, *rest):
        return tl.embedding_bag(table, index, offsets, False, mode, False, *rest)[0]

    assert gradcheck(f, (table,) if factors is None else (table, factors))


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_indices_behind_the_last_offset_are_in_the_last_bag(mode):
    """PyTorch does so but for sums of narrower types, where they are in no bag."""
    index, offsets = tl.tensor([0, 1, 2, 3]), tl.tensor([0, 2, 3])
    table = tl.arange(12.0, dtype=tl.float64).reshape(6, 2).requires_grad_()
    weights = [tl.tensor([0.5, 1.0, 2.0, 3.0], dtype=tl.float64, requires_grad=True)] if mode == 0 else []

    def bags(table, *weights):
        return tl.embedding_bag(table, index, offsets, False, mode, False, *(weights or [None]), True)[0]

    assert tl_autograd.gradcheck(bags, [table, *weights])
    (gradient,) = tl_autograd.grad(bags(table, *weights).sum(), table)
    assert gradient[3].abs().sum() > 0 and gradient[4:].abs().sum() == 0
    if mode == 0:
        narrow = table.detach().to(tl.float32).requires_grad_()
        (gradient,) = tl_autograd.grad(bags(narrow).sum(), narrow)
        assert gradient.tolist() == [[1.0, 1.0]] * 3 + [[0.0, 0.0]] * 3


def test_a_program_may_write_to_a_result_of_three_dimensions():
    tl.manual_seed(0)

    def doubled(q, k, v):
        result = attention(q, k, v)
        result.mul_(2)
        return result

    inputs = [tl.rand(2, 3, 4, dtype=tl.float64, requires_grad=True) for _ in range(3)]
    assert tl_autograd.gradcheck(doubled, inputs)
