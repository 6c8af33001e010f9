"""Attention against its definition in numpy."""

import pytest

numpy = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402
from tl_core.functions import nn as nn_functions  # noqa: E402

attention = nn_functions.scaled_dot_product_attention
TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "bfloat16": 3e-2, "float16": 4e-3}


def drawn(*shape, seed=0):
    return numpy.random.default_rng(seed).standard_normal(shape)


def expected(q, k, v, added=0.0, scale=None):
    scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale) + added
    top = scores.max(-1, keepdims=True)
    p = numpy.exp(scores - numpy.where(numpy.isinf(top), 0, top))
    total = p.sum(-1, keepdims=True)
    return numpy.where(total == 0, 0, p / numpy.where(total == 0, 1, total)) @ v


def causal(queries, keys):
    return numpy.where(numpy.tril(numpy.ones((queries, keys))) == 0, -numpy.inf, 0)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(
    ("queries", "keys", "size"),
    [(1, 1, 1), (5, 7, 8), (64, 128, 16), (65, 129, 33), (200, 300, 64), (150, 600, 48)],
)
def test_values(queries, keys, size, dtype):
    def typed(x):
        return tl.tensor(x).to(getattr(tl, dtype))

    q, k, v = (
        typed(drawn(2, 3, queries, size)),
        typed(drawn(2, 3, keys, size, seed=1)),
        typed(drawn(2, 3, keys, 5, seed=2)),
    )
    exact = [t.to(tl.float64).numpy() for t in (q, k, v)]
    mask = drawn(queries, keys, seed=3) > 0
    for keywords, added in [
        ({}, 0.0),
        ({"is_causal": True}, causal(queries, keys)),
        ({"scale": -0.1}, 0.0),
        ({"attn_mask": tl.tensor(mask)}, numpy.where(mask, 0, -numpy.inf)),
        ({"attn_mask": typed(mask * 2.0)}, mask * 2.0),
    ]:
        result = attention(q, k, v, **keywords).to(tl.float64).numpy()
        want = expected(*exact, added, keywords.get("scale"))
        numpy.testing.assert_allclose(result, want, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("scale", [1.0, 1e-36, 1e-40, 1e36])
def test_float32_values_of_any_size(scale):
    q, k, v = (drawn(2, 70, 64, seed=i).astype("float32") for i in range(3))
    v = (numpy.abs(v) * scale).astype("float32")
    result = attention(*map(tl.tensor, (q, k, v))).numpy()
    want = expected(*(x.astype("float64") for x in (q, k, v)))
    numpy.testing.assert_allclose(result, want, rtol=1e-3 if scale == 1e-40 else 2e-6)


@pytest.mark.parametrize("small, large", [(1e-18, 1e18), (1e-34, 1e34)])
def test_float32_factors_of_unlike_sizes(small, large):
    q, k, v = (drawn(2, 70, 64, seed=i) for i in range(3))
    result = attention(*(tl.tensor(x.astype("float32")) for x in (q * small, k * large, v)))
    numpy.testing.assert_allclose(result.numpy(), expected(q, k, v), atol=3e-6)


@pytest.mark.parametrize("bits", [0x7F800000, 0xFF800000, 0x7FC00000, 0x7FFFFFFF, 0xFFFFFFFF])
def test_what_is_not_finite_stays_in_its_column(bits):
    q, k, v = (drawn(1, 70, 64, seed=i).astype("float32") for i in range(3))
    finite = attention(*map(tl.tensor, (q, k, v)))
    v.view("uint32")[0, 33, 5] = bits
    result = attention(*map(tl.tensor, (q, k, v)))
    assert numpy.array_equal(result[..., 5].numpy(), numpy.broadcast_to(v[0, 33, 5], (1, 70)), equal_nan=True)
    result[..., 5] = finite[..., 5]
    assert tl.equal(result, finite)


def test_layouts_scale_and_broadcasting():
    q, k, v = drawn(4, 6, 2, 8), drawn(4, 9, 2, 8, seed=1), drawn(4, 9, 2, 8, seed=2)
    result = attention(*(tl.tensor(x).transpose(1, 2) for x in (q, k, v)), scale=0.3)
    assert result.transpose(1, 2).is_contiguous()
    want = expected(*(x.swapaxes(1, 2) for x in (q, k, v)), scale=0.3)
    numpy.testing.assert_allclose(result.numpy(), want, atol=1e-12)
    q, k = drawn(5, 1, 3, 8), drawn(2, 4, 8)
    numpy.testing.assert_allclose(
        attention(tl.tensor(q), tl.tensor(k), tl.tensor(k)).numpy(), expected(q, k, k), atol=1e-12
    )
    flat = attention(tl.tensor(q[0, 0]), tl.tensor(k[0]), tl.tensor(k[0]))
    numpy.testing.assert_allclose(flat.numpy(), expected(q[0, 0], k[0], k[0]), atol=1e-12)


def test_shared_heads():
    q, k = drawn(2, 6, 5, 8), drawn(2, 2, 7, 8, seed=1)
    result = attention(*(tl.tensor(x) for x in (q, k, k)), enable_gqa=True)
    wide = k.repeat(3, 1)
    numpy.testing.assert_allclose(result.numpy(), expected(q, wide, wide), atol=1e-12)


def test_rows_that_see_nothing_are_zero():
    q = tl.tensor(drawn(1, 1, 3, 4))
    assert attention(q, q, q, attn_mask=tl.zeros(3, 3, dtype=tl.bool)).tolist() == [[[[0.0] * 4] * 3]]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_rows_that_the_least_numbers_hide_are_means(dtype):
    dtype = getattr(tl, dtype)
    q, k, v = (tl.tensor(drawn(1, 100, 64, seed=i)).to(dtype) for i in range(3))
    mask = tl.full((100, 100), tl.finfo(dtype).min, dtype=dtype)
    mask[1:] = 0
    result = attention(q, k, v, attn_mask=mask)
    mean = v.to(tl.float64).numpy()[0].mean(0)
    numpy.testing.assert_allclose(result.to(tl.float64)[0, 0].numpy(), mean, atol=4e-3)
    assert tl.equal(result[0, 1:], attention(q, k, v, attn_mask=tl.zeros(100, 100, dtype=dtype))[0, 1:])


@pytest.mark.parametrize(
    "shapes", [((2, 0, 3, 4), (2, 0, 3, 4)), ((2, 1, 0, 4), (2, 1, 3, 4)), ((2, 1, 3, 4), (2, 1, 0, 4))]
)
def test_empty(shapes):
    q, k = (tl.zeros(s) for s in shapes)
    assert attention(q, k, k).tolist() == tl.zeros(shapes[0]).tolist()


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        (
            ((2, 3), (2, 3), (2, 3)),
            {"is_causal": True, "attn_mask": tl.ones(2, 2)},
            "should not be set when is_causal",
        ),
        (((3,), (2, 3), (2, 3)), {}, "at least 2 dimensional"),
        (((2, 3), (2, 4), (2, 3)), {}, "vectors of one size"),
        (((2, 3), (2, 3), (4, 3)), {}, "as many"),
        (
            ((2, 3), (2, 3), (2, 3)),
            {"attn_mask": tl.ones(2, 2, dtype=tl.int64)},
            "attn_mask dtype to be bool or float",
        ),
        (((4, 2, 3), (3, 2, 3), (3, 2, 3)), {"enable_gqa": True}, "must divide"),
    ],
)
def test_errors(arguments, keywords, message):
    with pytest.raises(RuntimeError, match=message):
        attention(*(tl.zeros(s) for s in arguments), **keywords)


def kept(shape, dropout, seed):
    """The mask that dropout of a tensor draws."""
    tl.manual_seed(seed)
    return tl.empty(*shape, dtype=tl.bool).bernoulli_(1 - dropout).numpy()


@pytest.mark.parametrize("causal_", [False, True])
@pytest.mark.parametrize(("queries", "keys"), [(1, 5), (64, 64), (150, 300)])
def test_dropout_masks_the_probabilities(queries, keys, causal_):
    q, k, v = drawn(2, 3, queries, 8), drawn(2, 3, keys, 8, seed=1), drawn(2, 3, keys, 8, seed=2)
    mask = kept((2, 3, queries, keys), 0.3, seed=5)
    following = tl.rand(2)
    tl.manual_seed(5)
    output = attention(*map(tl.tensor, (q, k, v)), dropout_p=0.3, is_causal=causal_)
    assert tl.equal(following, tl.rand(2))
    scores = q @ k.swapaxes(-1, -2) / numpy.sqrt(8)
    if causal_:
        scores = scores + causal(queries, keys)
    p = numpy.exp(scores - scores.max(-1, keepdims=True))
    p = p / p.sum(-1, keepdims=True) * mask / 0.7
    numpy.testing.assert_allclose(output.numpy(), p @ v, rtol=1e-10, atol=1e-12)


def test_dropout_of_everything_and_of_nothing():
    q, k, v = (tl.tensor(drawn(1, 2, 4, 8, seed=i)) for i in range(3))
    assert tl.equal(attention(q, k, v, dropout_p=1.0), tl.zeros(1, 2, 4, 8, dtype=tl.float64))
    assert tl.equal(attention(q, k, v, dropout_p=0.0), attention(q, k, v))
    with pytest.raises(RuntimeError, match="dropout probability"):
        attention(q, k, v, dropout_p=1.5)


def test_dropout_is_the_same_for_any_number_of_threads():
    q, k, v = (tl.tensor(drawn(2, 4, 200, 16, seed=i)) for i in range(3))
    before, results = tl.get_num_threads(), []
    for threads in (1, 4):
        tl.set_num_threads(threads)
        tl.manual_seed(1)
        results.append(attention(q, k, v, dropout_p=0.5))
    tl.set_num_threads(before)
    assert tl.equal(*results)
