"""Jagged nested tensors against loops over their components in numpy."""

import copy
import pickle

import pytest

import tl_core as tl
from tl_core import nested
from tl_core.functions import nn as nn_functions
from tl_core.nested.nested_int import NestedInt

numpy = pytest.importorskip("numpy")

LENGTHS = (3, 0, 5, 1)


def components(inner=(4,), dtype=tl.float64, lengths=LENGTHS, seed=0):
    rng = numpy.random.default_rng(seed)
    return [tl.tensor(rng.normal(size=(n, *inner))).to(dtype) for n in lengths]


def jagged(inner=(4,), **kwargs):
    return nested.nested_tensor(components(inner, **kwargs), layout=tl.jagged)


def with_gaps(inner=(4,)):
    """The same components with rows between them that belong to none."""
    parts = components(inner)
    pieces, offsets, at = [], [], 0
    for part in parts:
        pieces += [tl.full((2, *inner), 1e6, dtype=tl.float64), part]
        offsets.append(at + 2)
        at += 2 + part.shape[0]
    offsets.append(at)
    lengths = tl.tensor(list(LENGTHS))
    return nested.nested_tensor_from_jagged(tl.cat(pieces), tl.tensor(offsets), lengths)


FORMS = {"dense": jagged, "gaps": with_gaps}
forms = pytest.mark.parametrize("make", FORMS.values(), ids=FORMS)


def assert_components(made, expected, **tolerance):
    assert made.is_nested
    parts = made.unbind()
    assert len(parts) == len(expected)
    for part, reference in zip(parts, expected, strict=True):
        numpy.testing.assert_allclose(part.numpy(), reference, **({"rtol": 1e-12} | tolerance))


def arrays(x):
    return [part.numpy() for part in x.unbind()]


# ---- the object ----
def test_what_it_consists_of():
    x = jagged()
    assert isinstance(x, tl.Tensor) and x.is_nested and not tl.zeros(2).is_nested
    assert x.layout is tl.jagged and str(tl.jagged) == "torch.jagged"
    assert x.values().shape == (9, 4) and not x.values().is_nested
    assert x.offsets().tolist() == [0, 3, 3, 8, 9] and x.lengths() is None
    assert (x.dim(), x.ndim, x.numel(), len(x), x.size(0), x.size(-1)) == (3, 3, 36, 4, 4, 4)
    assert x.is_contiguous() and not with_gaps().is_contiguous()
    assert with_gaps().lengths().tolist() == list(LENGTHS) and with_gaps().numel() == 36
    x.values()[0] = 7.0
    assert x[0][0].tolist() == [7.0] * 4  # views


def test_its_shape_names_the_structure():
    x = jagged()
    ragged = x.shape[1]
    assert isinstance(ragged, NestedInt) and repr(x.shape) == f"torch.Size([4, {ragged}, 4])"
    assert (x * 2).shape == x.shape and x.shape[1:] == (ragged, 4)
    assert jagged().shape != x.shape
    again = nested.nested_tensor_from_jagged(tl.zeros(9, 2), x.offsets())
    assert again.shape == (4, ragged, 2)
    assert x.stride() == (4 * ragged, 4, 1)
    with pytest.raises(IndexError, match="out of range"):
        x.size(3)


def test_sizes_compare_only_where_it_can_be_told():
    a, same, other = NestedInt(1), NestedInt(1), NestedInt(2)
    assert a == same and a != other and a != 3 and a != 3
    assert a >= same and a <= same and not a < same and not a > same
    assert a >= 2 and a >= 2 and a > 1 and not a <= 1 and not a < 2
    assert 2 * a == a * 2 and 2 * a > a and repr(3 * a) == "3*j1" and hash(a) == hash(same)
    for compare in (
        lambda: a < other,
        lambda: a >= other,
        lambda: a >= 3,
        lambda: a <= 3,
        lambda: a > 3,
        lambda: a > 2,
    ):
        with pytest.raises(ValueError, match="indeterminate"):
            compare()
    with pytest.raises(ValueError, match="no meaning"):
        a * other


def test_printing():
    x = nested.nested_tensor([[1, 2], [3]], layout=tl.jagged)
    text = f"NestedTensor(size=(2, {x.shape[1]}), offsets=tensor([0, 2, 3]), contiguous=True)"
    assert repr(x) == str(x) == text


def test_the_ragged_dimension_may_be_any():
    a, b = tl.arange(6).view(2, 3), tl.arange(8).view(2, 4)
    x = nested.nested_tensor([a, b], layout=tl.jagged)
    assert x.shape[:2] == (2, 2) and isinstance(x.shape[2], NestedInt) and x.values().shape == (2, 7)
    assert_components(x, [a.numpy(), b.numpy()])
    assert x.sum(2).tolist() == [[3, 12], [6, 22]]
    assert nested.to_padded_tensor(x, -1).tolist()[0] == [[0, 1, 2, -1], [3, 4, 5, -1]]


@forms
def test_components(make):
    x = make()
    expected = [c.numpy() for c in components()]
    assert_components(x, expected)
    assert [len(c) for c in x] == list(LENGTHS)
    numpy.testing.assert_array_equal(x[-2].numpy(), expected[2])
    numpy.testing.assert_array_equal(x[2, 1:, 0].numpy(), expected[2][1:, 0])
    assert_components(x[1:3], expected[1:3])
    assert_components(x[::2], expected[::2])
    assert_components(x.index_select(0, tl.tensor([2, 0])), [expected[2], expected[0]])
    assert_components(x.contiguous(), expected)
    assert x.contiguous().is_contiguous()
    for index in (4, -5):
        with pytest.raises(IndexError, match="out of bounds"):
            x[index]


@pytest.mark.parametrize(
    "how", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"]
)
@forms
def test_copies(make, how):
    x = make()
    y = how(x)
    assert_components(y, arrays(x))
    assert y.shape != x.shape and y.values().data_ptr() != x.values().data_ptr()
    pair = how([x, x + 1])
    assert pair[0].shape == pair[1].shape  # one structure stays one


def test_a_pickle_whose_parts_do_not_fit_is_refused():
    from tl_core.nested.pickling import rebuild_jagged

    for offsets, at in (([0, 3, 20], 1), ([-1, 2], 1), ([3, 1], 1), ([0, 2], 3)):
        with pytest.raises(ValueError, match=r"fit|no nested tensor"):
            rebuild_jagged(tl.zeros(9, 4), tl.tensor(offsets), None, at, False)


# ---- construction ----
def test_construction_of_what_tensor_takes():
    x = nested.nested_tensor([[1, 2], [3]], layout=tl.jagged, dtype=tl.float32)
    assert x.dtype == tl.float32 and x.values().tolist() == [1, 2, 3]
    assert nested.as_nested_tensor(x, layout=tl.jagged) is x
    assert nested.as_nested_tensor(x, dtype=tl.float64).dtype == tl.float64
    batch = tl.arange(12).view(2, 3, 2)
    y = nested.as_nested_tensor(batch, layout=tl.jagged)
    assert y.values().data_ptr() == batch.data_ptr() and y.offsets().tolist() == [0, 3, 6]


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: nested.nested_tensor(tl.zeros(2), layout=tl.jagged), TypeError, "must be a list or tuple"),
        (lambda: nested.nested_tensor([], layout=tl.jagged), RuntimeError, "empty tensor list"),
        (lambda: nested.nested_tensor([tl.zeros(2), tl.zeros(2, 2)], layout=tl.jagged), RuntimeError, "same dim"),
        (lambda: nested.nested_tensor([tl.zeros(2, 3), tl.zeros(1, 2)], layout=tl.jagged), RuntimeError, "single"),
        (lambda: nested.nested_tensor([1.0, 2.0], layout=tl.jagged), RuntimeError, "zero-dim"),
        (lambda: nested.nested_tensor([tl.zeros(2)], layout=tl.sparse_coo), RuntimeError, "layout is unsupported"),
        (lambda: nested.as_nested_tensor(3.0), TypeError, "tensor or a list"),
        (lambda: nested.as_nested_tensor(tl.zeros(3), layout=tl.jagged), RuntimeError, "dim\\(\\) > 1"),
        (lambda: nested.nested_tensor_from_jagged(tl.zeros(3)), RuntimeError, "At least one of"),
        (lambda: nested.nested_tensor_from_jagged([1], tl.tensor([0, 1])), TypeError, "must be a dense Tensor"),
        (lambda: nested.nested_tensor_from_jagged(tl.zeros(3), tl.zeros(2)), RuntimeError, "int32 or int64"),
        (lambda: nested.nested_tensor_from_jagged(tl.zeros(3), tl.tensor([0, 3]), jagged_dim=2), IndexError, "1 to 1"),
        (lambda: nested.narrow(tl.zeros(2, 3), 0, 0, 1, layout=tl.jagged), RuntimeError, "only supports dim=1"),
        (lambda: nested.narrow(tl.zeros(2, 3), 1, 2, tl.tensor([1, 2]), layout=tl.jagged), RuntimeError, "exceeds"),
        (lambda: nested.narrow(tl.zeros(2, 3), 1, 0, tl.tensor([1, 2])), RuntimeError, "must be integers"),
        (lambda: nested.masked_select(jagged(), tl.tensor([True])), RuntimeError, "requires a strided tensor"),
        (lambda: nested.to_padded_tensor(tl.zeros(2), 0.0), NotImplementedError, "must be a nested tensor"),
    ],
)  # fmt: skip
def test_wrong_constructions(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_narrow_is_a_view():
    base = tl.arange(24).view(2, 4, 3)
    x = nested.narrow(base, 1, tl.tensor([1, 0]), tl.tensor([2, 4]), layout=tl.jagged)
    assert not x.is_contiguous() and x.values().data_ptr() == base.data_ptr()
    assert_components(x, [base[0, 1:3].numpy(), base[1].numpy()])


def test_masked_select_keeps_rows():
    x = tl.arange(12).view(2, 2, 3)
    mask = x % 2 == 0
    result = nested.masked_select(x, mask)
    assert_components(result, [row[row % 2 == 0] for row in x.numpy().reshape(4, 3)])
    assert nested.masked_select(tl.zeros(3, 2), tl.tensor([False])).offsets().tolist() == [0, 0, 0, 0]


# ---- padding ----
@forms
def test_padding(make):
    x = make()
    padded = nested.to_padded_tensor(x, -1.0)
    assert padded.shape == (4, 5, 4) and not padded.is_nested
    for row, part in zip(padded, x.unbind(), strict=True):
        assert tl.equal(row[: len(part)], part) and bool((row[len(part) :] == -1).all())
    larger = nested.to_padded_tensor(x, 2.0, (4, 6, 5))
    assert larger.shape == (4, 6, 5) and tl.equal(larger[:, :5, :4].masked_fill(padded == -1, -1), padded)
    assert tl.equal(nested.to_padded_tensor(x, -1.0, out=tl.zeros(0, dtype=tl.float64)), padded)
    with pytest.raises(RuntimeError, match="Truncation is not supported"):
        nested.to_padded_tensor(x, 0.0, (4, 4, 4))


# ---- element by element ----
UNARY = {
    "exp": numpy.exp, "sin": numpy.sin, "neg": numpy.negative, "abs": numpy.abs, "tanh": numpy.tanh,
    "relu": lambda a: numpy.maximum(a, 0), "square": numpy.square, "isnan": numpy.isnan,
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
@forms
def test_unary(make, name):
    x = make()
    assert_components(getattr(x, name)(), [UNARY[name](a) for a in arrays(x)])
    result = getattr(tl, name)(x)
    assert result.shape == x.shape and result.is_contiguous() == x.is_contiguous()


@forms
def test_binary(make):
    x = make()
    a = arrays(x)
    y = x * x
    assert_components(x + y, [i + i * i for i in a])
    assert_components(2 - x, [2 - i for i in a])
    assert_components(x / 3, [i / 3 for i in a])
    assert_components(tl.where(x > 0, x, 0.0), [numpy.where(i > 0, i, 0) for i in a])
    assert_components(x.masked_fill(x > 0, 5.0), [numpy.where(i > 0, 5, i) for i in a])
    assert_components(tl.clamp(x, -0.5, 0.5), [numpy.clip(i, -0.5, 0.5) for i in a])
    assert_components(x.to(tl.float32).double(), a, rtol=1e-6)


@forms
def test_binary_with_dense(make):
    x = make()
    a = arrays(x)
    rng = numpy.random.default_rng(1)
    for shape in ((4,), (1, 4), (1, 1, 4), (4, 1, 4), (4, 1, 1), (4, 5, 4), (1, 5, 1), ()):
        d = rng.normal(size=shape)
        full = numpy.broadcast_to(d, (4, 5, 4))
        expected = [i * full[k, : len(i)] for k, i in enumerate(a)]
        assert_components(x * tl.tensor(d), expected)
        assert_components(tl.tensor(d) * x, expected)


def test_inplace():
    x = jagged()
    a = arrays(x.clone())
    y = x
    y += 1
    y.mul_(x)
    assert y is x
    assert_components(x, [(i + 1) * (i + 1) for i in a])
    assert x.zero_() is x and x.values().sum() == 0


def test_out():
    x = jagged()
    out = tl.empty_like(x)
    assert tl.add(x, x, out=out) is out
    assert_components(out, [2 * i for i in arrays(x)])
    dense = tl.zeros(9, 4, dtype=tl.float64)
    with pytest.raises(RuntimeError, match="'out' must be nested"):
        tl.add(x, x, out=dense)
    assert type(dense) is tl.Tensor


def test_lists_of_tensors():
    x, dense = jagged(), tl.ones(2)
    a = arrays(x.clone())
    result = tl._foreach_mul([x, dense], 2.0)
    assert_components(result[0], [2 * i for i in a])
    assert result[1].tolist() == [2, 2]
    tl._foreach_add_([x], [x])
    assert_components(x, [2 * i for i in a])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + jagged(),
        lambda x: x + tl.zeros(9, 4),
        lambda x: x + tl.zeros(4, 4, 4),
        lambda x: x + tl.zeros(1, 4, 5, 4),
        lambda x: x + x.sum(-1),
    ],
)
def test_structures_must_match(call):
    with pytest.raises(RuntimeError, match="cannot call binary pointwise function add"):
        call(jagged())


def test_what_there_is_not():
    x = jagged()
    with pytest.raises(NotImplementedError, match="not implemented for nested tensors"):
        tl.tril(x)
    with pytest.raises(RuntimeError, match="numpy"):
        x.numpy()
    with pytest.raises(RuntimeError, match="cannot hold the result"):
        tl.zeros(4, 5, 4, dtype=tl.float64).add_(x)


# ---- reductions ----
RAGGED = {
    "sum": lambda a: a.sum(0), "mean": lambda a: a.mean(0), "amax": lambda a: a.max(0), "amin": lambda a: a.min(0),
    "prod": lambda a: a.prod(0), "argmax": lambda a: a.argmax(0), "argmin": lambda a: a.argmin(0),
    "var": lambda a: a.var(0, ddof=1), "std": lambda a: a.std(0, ddof=1),
    "logsumexp": lambda a: numpy.log(numpy.exp(a).sum(0)), "norm": lambda a: numpy.sqrt((a * a).sum(0)),
    "count_nonzero": lambda a: numpy.count_nonzero(a, 0),
}  # fmt: skip


def reduced(x, name, dim, keepdim=False):
    if name == "norm":
        return x.norm(dim=dim, keepdim=keepdim)
    return getattr(x, name)(dim) if name == "count_nonzero" else getattr(x, name)(dim, keepdim=keepdim)


@pytest.mark.parametrize("name", RAGGED)
@forms
def test_reductions_of_the_ragged_dimension(make, name):
    x = make()
    result = reduced(x, name, 1)
    assert result.shape == (4, 4) and not result.is_nested
    for row, a in zip(result.numpy(), arrays(x), strict=True):
        if len(a) > 1 or (len(a) and name not in ("var", "std")):
            numpy.testing.assert_allclose(row, RAGGED[name](a), rtol=1e-12)
    if name != "count_nonzero":
        assert reduced(x, name, 1, True).shape == (4, 1, 4)


@forms
def test_reductions_of_nothing(make):
    x = make()
    assert x.sum(1)[1].tolist() == [0.0] * 4 and x.prod(1)[1].tolist() == [1.0] * 4
    assert x.amax(1)[1].tolist() == [-float("inf")] * 4 and x.amin(1)[1].tolist() == [float("inf")] * 4
    assert bool(x.mean(1)[1].isnan().all())


@pytest.mark.parametrize("name", [n for n in RAGGED if n not in ("argmax", "argmin", "prod")])
@forms
def test_reductions_of_other_dimensions(make, name):
    x = make()
    result = reduced(x, name, 2)
    assert result.is_nested and result.shape == x.shape[:2]
    assert_components(result, [RAGGED[name](a.T) for a in arrays(x)])


@forms
def test_reductions_of_all(make):
    x = make()
    full = numpy.concatenate(arrays(x))
    for name in ("sum", "mean", "prod"):
        numpy.testing.assert_allclose(getattr(x, name)().numpy(), getattr(full, name)(), rtol=1e-12)
    assert x.max().item() == full.max() and x.argmin().item() == full.argmin()
    assert bool((x < 100).all()) and not bool((x > 100).any())
    numpy.testing.assert_allclose(x.sum((0, 1)).numpy(), full.sum(0), rtol=1e-12)
    assert x.sum((0, 1), keepdim=True).shape == (1, 1, 4)
    numpy.testing.assert_allclose(x.sum((1, 2)).numpy(), [a.sum() for a in arrays(x)], rtol=1e-12)
    numpy.testing.assert_allclose(x.amax((1, 2)).numpy()[2], arrays(x)[2].max())
    numpy.testing.assert_allclose(x.var((1, 2)).numpy()[2], arrays(x)[2].var(ddof=1), rtol=1e-12)


def test_named_results():
    x = jagged()
    result = x.max(1)
    assert result.values.shape == (4, 4) and result.indices[2].tolist() == arrays(x)[2].argmax(0).tolist()
    ordered = x.sort(-1)
    assert_components(ordered.values, [numpy.sort(a, -1) for a in arrays(x)])


def test_integers_and_bool():
    x = nested.nested_tensor([[3, -1], [], [2]], layout=tl.jagged, dtype=tl.int64)
    assert x.sum(1).tolist() == [2, 0, 2] and x.amax(1).tolist() == [3, -(2**63), 2]
    assert (x > 0).any(1).tolist() == [True, False, True] and (x > 0).all(1).tolist() == [False, True, True]
    assert x.to(tl.uint8).sum(1).dtype == tl.int64 and x.argmax(1)[0] == 0


def test_the_batch_alone_is_no_reduction():
    for call in (lambda x: x.sum(0), lambda x: x.mean((0, 2)), lambda x: x.amax(0)):
        with pytest.raises(RuntimeError, match="reducing along the batch dimension but not the ragged"):
            call(jagged())
    with pytest.raises(IndexError, match="out of range"):
        jagged().sum(3)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@forms
def test_scans(make, name):
    x = make()
    for dim in (1, 2):
        result = getattr(x, name)(dim)
        assert_components(result, [getattr(numpy, name)(a, dim - 1) for a in arrays(x)])


def softmax(a, axis):
    e = numpy.exp(a - a.max(axis, keepdims=True)) if a.size else a
    return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize("dim", [1, 2])
@forms
def test_softmax(make, dim):
    x = make()
    assert_components(x.softmax(dim), [softmax(a, dim - 1) for a in arrays(x)])
    assert_components(tl.log_softmax(x, dim), [numpy.log(softmax(a, dim - 1)) for a in arrays(x)])
    with pytest.raises(RuntimeError, match="across the batch"):
        x.softmax(0)


# ---- shapes ----
def test_views():
    x = jagged((6,))
    a = arrays(x)
    j = x.shape[1]
    assert_components(x.unsqueeze(-1), [i[..., None] for i in a])
    assert_components(x.unsqueeze(1), [i[None] for i in a])
    assert_components(x.unflatten(-1, [2, 3]), [i.reshape(-1, 2, 3) for i in a])
    assert_components(x.view(4, -1, 2, 3), [i.reshape(-1, 2, 3) for i in a])
    assert_components(x.view(4, j, 6, 1), [i[..., None] for i in a])
    assert_components(x.view(4, -1, 2, 3).flatten(2), a)
    assert_components(x.transpose(1, 2), [i.T for i in a])
    assert_components(x.mT, [i.T for i in a])
    assert_components(x.permute(0, 2, 1).sum(1).unsqueeze(-1), [i.sum(1)[:, None] for i in a])
    assert_components(x.select(2, 1), [i[:, 1] for i in a])
    assert_components(x[..., 1:5:2], [i[:, 1:5:2] for i in a])
    assert_components(x.narrow(2, 1, 3), [i[:, 1:4] for i in a])
    assert_components(x.unsqueeze(2).expand(4, j, 3, 6), [numpy.repeat(i[:, None], 3, 1) for i in a])
    assert_components(x.unsqueeze(2).squeeze(2), a)
    assert_components(x.flip(2), [i[:, ::-1] for i in a])
    assert x.unsqueeze(-1).shape == (4, j, 6, 1) and x.transpose(1, 2).shape == (4, 6, j)
    assert x.view_as(x).shape == x.shape and x.mT.mT.shape == x.shape
    assert not x.mT.is_contiguous() and x.mT.sum(2).shape == (4, 6)


def test_parts():
    x = jagged((6,))
    a = arrays(x)
    for result, expected in zip(x.chunk(2, -1), [[i[:, :3] for i in a], [i[:, 3:] for i in a]], strict=True):
        assert_components(result, expected)
    for result, expected in zip(x.chunk(2), [a[:2], a[2:]], strict=True):
        assert_components(result, expected)
    assert [p.shape[2] for p in x.split([1, 5], 2)] == [1, 5]
    assert [len(p) for p in x.split([1, 3], 0)] == [1, 3] and [len(p) for p in x.split(3)] == [3, 1]
    assert_components(tl.cat([x, x], 2), [numpy.concatenate([i, i], 1) for i in a])
    assert_components(tl.cat([x, jagged((6,), seed=1)]), a + arrays(jagged((6,), seed=1)))
    assert_components(tl.stack([x, x], 2), [numpy.stack([i, i], 1) for i in a])


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x: x.transpose(0, 1), ValueError),
        (lambda x: x.permute(1, 0, 2), ValueError),
        (lambda x: x.view(4, 9, 6), RuntimeError),
        (lambda x: x.view(2, 2, -1), RuntimeError),
        (lambda x: x.flatten(), RuntimeError),
        (lambda x: x.select(1, 0), RuntimeError),
        (lambda x: x.chunk(2, 1), RuntimeError),
        (lambda x: x.split([1, 2], 0), RuntimeError),
        (lambda x: x.unsqueeze(0), RuntimeError),
        (lambda x: x.unbind(1), RuntimeError),
        (lambda x: x.new_zeros(3), RuntimeError),
        (lambda x: tl.cat([x, tl.zeros(4, 3, 6)], 2), RuntimeError),
        (lambda x: tl.stack([x, x], 0), RuntimeError),
        (lambda x: x.transpose(1, 4), IndexError),
    ],
)
def test_shapes_that_cannot_be(call, error):
    with pytest.raises(error):
        call(jagged((6,)))


# ---- layers ----
def test_products():
    x = jagged()
    a = arrays(x)
    w = tl.tensor(numpy.random.default_rng(2).normal(size=(4, 3)))
    assert_components(x @ w, [i @ w.numpy() for i in a])
    assert_components(
        nn_functions.linear(x, w.t(), tl.ones(3, dtype=tl.float64)), [i @ w.numpy() + 1 for i in a]
    )
    each = tl.tensor(numpy.random.default_rng(3).normal(size=(4, 4, 3)))
    assert_components(x @ each, [i @ m for i, m in zip(a, each.numpy(), strict=True)])
    products = x.mT @ (x + 1)
    assert not products.is_nested
    for result, i in zip(products.numpy(), a, strict=True):
        numpy.testing.assert_allclose(result, i.T @ (i + 1), rtol=1e-12)
    with pytest.raises(RuntimeError, match="not supported between inputs of shapes"):
        x @ x
    with pytest.raises(ValueError, match="must be regular"):
        nn_functions.linear(x.mT, w)


@forms
def test_products_with_a_matrix_each(make):
    x = make()
    a = arrays(x)
    each = tl.tensor(numpy.random.default_rng(3).normal(size=(3, 4, 4))).mT  # not dense
    assert_components(x @ each[:1], [i @ each[0].numpy() for i in a])
    each = tl.cat([each, each[:1]])
    assert_components(tl.bmm(x, each), [i @ m for i, m in zip(a, each.numpy(), strict=True)])
    products = x.mT @ x.exp()
    for result, i in zip(products.numpy(), a, strict=True):
        numpy.testing.assert_allclose(result, i.T @ numpy.exp(i), rtol=1e-11, atol=1e-13)


def test_normalization():
    x = jagged()
    result = tl.layer_norm(x, (4,))
    mean = [a.mean(-1, keepdims=True) for a in arrays(x)]
    expected = [
        (a - m) / numpy.sqrt(a.var(-1, keepdims=True) + 1e-5) for a, m in zip(arrays(x), mean, strict=True)
    ]
    assert_components(result, expected)
    with pytest.raises(RuntimeError, match="extends into irregular dimensions"):
        tl.layer_norm(x, (9, 4))


def attention(q, k, v, causal=False):
    """softmax(q k' / sqrt(E)) v by heads."""
    scores = q @ k.swapaxes(-1, -2) / numpy.sqrt(q.shape[-1])
    if causal:
        scores = numpy.where(numpy.tri(*scores.shape[-2:], dtype=bool), scores, -numpy.inf)
    return softmax(scores, -1) @ v


def heads(x, n):
    return x.unflatten(-1, [n, -1]).transpose(1, 2)


@pytest.mark.parametrize("causal", [False, True])
@forms
def test_attention(make, causal):
    q = heads(make((6,)), 2)
    result = nn_functions.scaled_dot_product_attention(q, q * 0.5, q.exp(), is_causal=causal)
    assert result.shape == q.shape
    expected = [attention(a, a * 0.5, numpy.exp(a), causal) if a.size else a for a in arrays(q)]
    assert_components(result, expected, rtol=1e-10)
    assert result.transpose(1, 2).values().is_contiguous()  # the rows of all heads side by side


def test_attention_of_other_lengths_and_shared_heads():
    q = heads(jagged((8,)), 4)
    keys = heads(jagged((4,), lengths=(2, 3, 70, 4), seed=1), 2)
    result = nn_functions.scaled_dot_product_attention(q, keys, keys + 1, enable_gqa=True)
    expected = [
        attention(a, numpy.repeat(b, 2, 0), numpy.repeat(b, 2, 0) + 1)
        for a, b in zip(arrays(q), arrays(keys), strict=True)
    ]
    assert_components(result, expected, rtol=1e-10)
    with pytest.raises(RuntimeError, match="same lengths"):
        nn_functions.scaled_dot_product_attention(q, keys, keys, is_causal=True, enable_gqa=True)
    with pytest.raises(RuntimeError, match="no attn_mask"):
        nn_functions.scaled_dot_product_attention(q, q, q, attn_mask=tl.zeros(3, 3))
    with pytest.raises(RuntimeError, match="must all be nested"):
        nn_functions.scaled_dot_product_attention(q, tl.zeros(4, 4, 3, 2, dtype=tl.float64), q)


def test_attention_with_dropout_keeps_expectations():
    tl.manual_seed(0)
    q = heads(jagged((4,), lengths=(300, 200)), 2)
    ones = tl.ones_like(q)
    result = nn_functions.scaled_dot_product_attention(q, q, ones, dropout_p=0.25)
    assert abs(result.values().mean().item() - 1) < 0.02 and result.values().std() > 0.01
    assert nn_functions.scaled_dot_product_attention(q, q, ones, dropout_p=1.0).values().abs().sum() == 0


# ---- segments ----
@pytest.mark.parametrize("dtype", [tl.float16, tl.bfloat16, tl.float32, tl.float64])
def test_segments_of_every_layout_and_type(dtype):
    rng = numpy.random.default_rng(0)
    offsets = tl.tensor([0, 40, 40, 130])
    for values in (
        tl.tensor(rng.normal(size=(130, 7))).to(dtype),
        tl.tensor(rng.normal(size=(7, 130))).to(dtype).t(),
        tl.tensor(rng.normal(size=(260, 14))).to(dtype)[::2, ::2],
        tl.tensor(rng.normal(size=(130,))).to(dtype),
        tl.tensor(rng.normal(size=(130, 2, 0))).to(dtype),
    ):
        parts = [values[0:40], values[40:40], values[40:130]]
        assert tl.equal(tl._segment_sum(values, offsets), tl.stack([p.sum(0) for p in parts]))
        for result, part in zip(tl._segment_amax(values, offsets)[::2], parts[::2], strict=True):
            assert tl.equal(result, part.amax(0))
        output = tl._segment_softmax(values, offsets)
        assert tl.equal(output, tl.cat([p.softmax(0) for p in parts]))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: tl._segment_sum(tl.zeros(3), tl.tensor([0, 4])), "there are 3 rows"),
        (lambda: tl._segment_sum(tl.zeros(3), tl.tensor([2, 1])), "segment 0 has -1 rows"),
        (
            lambda: tl._segment_sum(tl.zeros(3), tl.tensor([0, 1]), tl.tensor([1, 1])),
            "one less than 'offsets'",
        ),
        (lambda: tl._segment_sum(tl.zeros(3), tl.zeros(2)), "must be one-dimensional and int32 or int64"),
        (lambda: tl._segment_sum(tl.zeros(()), tl.tensor([0, 1])), "one or more dimensions"),
        (lambda: tl._segment_sum(tl.zeros(3), tl.zeros(0, dtype=tl.int64)), "an element more"),
        (lambda: tl._segment_expand(tl.zeros(2), tl.tensor([0, 1]), None, 1), "1 segments for 2 rows"),
        (lambda: tl._jagged_to_padded(tl.zeros(3), tl.tensor([0, 3]), None, 2, 0), "longest segment has 3"),
        (lambda: tl._padded_to_jagged(tl.zeros(1, 2), tl.tensor([0, 3]), None, 3), "do not fit a batch"),
        (
            lambda: tl._segment_matmul(tl.zeros(3, 2), tl.zeros(1, 3, 2), tl.tensor([0, 3])),
            "for matrices of shape",
        ),
        (lambda: tl._segment_matmul(tl.zeros(3, 2), tl.zeros(2, 2), tl.tensor([0, 3])), "2 and 3 dimensions"),
        (lambda: tl._segment_products(tl.zeros(3, 2), tl.zeros(2, 2), tl.tensor([0, 3])), "3 rows and 2"),
        (lambda: tl._segment_sum(tl.zeros(3), tl.tensor([0, 2**62]), tl.tensor([2**62])), "there are 3 rows"),
    ],
)
def test_wrong_segments(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_ragged_sizes_as_symbolic_numbers():
    from tl_core.nested._internal.nested_int import NestedIntNode
    from tl_core.symbolic.numbers import SymInt

    j, k = SymInt(NestedIntNode(1, 1)), SymInt(NestedIntNode(2, 1))
    assert j == SymInt(NestedIntNode(1, 1)) and j != k and j != 3
    assert j >= 2 and j > 1 and not j < j and j <= 2 * j == j * 2
    for indefinite in (lambda: j >= k, lambda: k < j, lambda: j >= 3, lambda: j > 2):
        with pytest.raises(ValueError, match="relation is indeterminate"):
            indefinite()
    assert str(3 * j) == "3*j1" and j.node.nested_int() == 1 and (3 * j).node.nested_int_coeff() == 3
    with pytest.raises(ValueError, match="no single number"):
        int(j)
