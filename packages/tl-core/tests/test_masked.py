"""torch.masked against numpy.ma, whose masks are true for the elements that do not count."""

import copy
import math
import pickle
import warnings

import pytest

import tl_core as tl
from tl_core import masked
from tl_core.masked import MaskedTensor, as_masked_tensor, masked_tensor
from tl_core.masked.maskedtensor import binary, unary
from tl_core.operators.packets import aten

numpy = pytest.importorskip("numpy")

SHAPE = (4, 5)


def some(seed=0, shape=SHAPE):
    rng = numpy.random.default_rng(seed)
    data = rng.normal(size=shape)
    mask = rng.random(shape) > 0.4
    mask[0] = False  # a row of which nothing counts
    mask[1, 0] = mask[1, 2] = True
    return data, mask


def pair(seed=0):
    data, mask = some(seed)
    return tl.tensor(data), tl.tensor(mask), numpy.ma.array(data, mask=~mask)


def assert_masked(made, expected):
    """A masked tensor against one of numpy's."""
    assert isinstance(made, MaskedTensor)
    expected = numpy.ma.asarray(expected)
    counts = ~numpy.ma.getmaskarray(expected)
    numpy.testing.assert_array_equal(made.get_mask().numpy(), counts)
    numpy.testing.assert_allclose(made.get_data().numpy()[counts], expected.data[counts], rtol=1e-12)


# ---- functions with a mask ----
REDUCTIONS = {
    "sum": lambda a, d: a.sum(d).filled(0), "prod": lambda a, d: a.prod(d).filled(1),
    "mean": lambda a, d: a.mean(d).filled(math.nan), "amax": lambda a, d: a.max(d).filled(-math.inf),
    "amin": lambda a, d: a.min(d).filled(math.inf), "var": lambda a, d: a.var(d, ddof=1).filled(math.nan),
    "std": lambda a, d: a.std(d, ddof=1).filled(math.nan), "norm": lambda a, d: numpy.sqrt((a * a).sum(d)).filled(0),
    "logsumexp": lambda a, d: numpy.log(numpy.exp(a).sum(d)).filled(-math.inf),
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dim", [0, 1])
def test_reductions(name, dim):
    x, mask, a = pair()
    function = getattr(masked, name)
    how = {"dim": dim, "mask": mask}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's, of rows of which nothing counts
        expected = REDUCTIONS[name](a, dim)
        numpy.testing.assert_allclose(function(x, **how).numpy(), expected, rtol=1e-12)
    assert function(x, **how, keepdim=True).shape == tuple(1 if d == dim else n for d, n in enumerate(SHAPE))
    full = tl.ones(SHAPE, dtype=tl.bool)
    assert tl.equal(function(x, dim=dim), function(x, dim=dim, mask=full)) or name in ("var", "std", "mean")
    numpy.testing.assert_allclose(
        function(x, dim=dim).numpy(), function(x, dim=dim, mask=full).numpy(), rtol=1e-12
    )
    assert function(x.float(), **how).dtype == tl.float32
    assert function(x, **how, dtype=tl.float32).dtype == tl.float32
    row = mask[1]
    assert tl.equal(
        function(x, dim=1, mask=row).nan_to_num(), function(x, dim=1, mask=row.expand(SHAPE)).nan_to_num()
    )


def test_reductions_of_all():
    x, mask, a = pair()
    assert masked.sum(x, mask=mask).item() == pytest.approx(a.sum())
    assert masked.mean(x, (0, 1), mask=mask).item() == pytest.approx(a.mean())
    assert masked.var(x, mask=mask, unbiased=False).item() == pytest.approx(a.var())
    assert masked.std(x, correction=0, mask=mask).item() == pytest.approx(a.std())
    assert masked.argmax(x, mask=mask).item() == a.argmax()
    assert masked.argmin(x, 0, mask=mask)[0].item() == a.argmin(0)[0]
    assert masked.norm(x, 1.0, mask=mask).item() == pytest.approx(abs(a).sum())
    assert masked.norm(x, -math.inf, mask=mask).item() == pytest.approx(abs(a).min())
    numpy.testing.assert_allclose(masked.median(x, 1, mask=mask).numpy()[1:], [
        numpy.sort(a[i].compressed())[(a[i].count() - 1) // 2] for i in range(1, 4)
    ])  # fmt: skip


def test_integers():
    x = tl.tensor([[5, 1, 7], [2, 9, 4]])
    mask = tl.tensor([[True, False, True], [True, True, True]])
    assert masked.sum(x, 1, mask=mask).tolist() == [12, 15] and masked.sum(x, 1, mask=mask).dtype == tl.int64
    assert (
        masked.amax(x, 1, mask=mask).tolist() == [7, 9]
        and masked.amin(x, 1, mask=~mask).tolist()[1] == 2**63 - 1
    )
    assert masked.median(x, 1, mask=mask).tolist() == [5, 4]
    assert masked.prod(x.int(), 1, mask=mask).tolist() == [35, 72]
    assert masked.cumsum(x, 1, mask=mask).tolist() == [[5, 5, 12], [2, 11, 15]]
    with pytest.raises(ValueError, match="Could not infer output dtype"):
        masked.mean(x, mask=mask)
    with pytest.raises(ValueError, match="no fully masked out rows"):
        masked.median(x, 1, mask=tl.zeros(2, 3, dtype=tl.bool))


def test_along_a_dimension():
    x, mask, a = pair()
    e = numpy.exp(a)
    counts = mask.numpy()
    p = (e / e.sum(1, keepdims=True)).filled(0)
    result = masked.softmax(x, 1, mask=mask).numpy()
    numpy.testing.assert_allclose(result[1:], p[1:], rtol=1e-12)
    numpy.testing.assert_allclose(masked.log_softmax(x, 1, mask=mask).exp().numpy()[1:], p[1:], rtol=1e-12)
    numpy.testing.assert_allclose(masked.softmin(-x, 1, mask=mask).numpy()[1:], p[1:], rtol=1e-12)
    assert numpy.isnan(result[0]).all()
    numpy.testing.assert_allclose(masked.cumsum(x, 1, mask=mask).numpy(), numpy.cumsum(a.filled(0), 1))
    numpy.testing.assert_allclose(masked.cumprod(x, 1, mask=mask).numpy(), numpy.cumprod(a.filled(1), 1))
    normal = masked.normalize(x, 2.0, 1, mask=mask).numpy()
    numpy.testing.assert_allclose(numpy.linalg.norm(normal, axis=1), [0, 1, 1, 1], rtol=1e-12)
    assert (normal[~counts] == 0).all()
    added = masked.logaddexp(x, 2 * x, input_mask=mask, other_mask=~mask).numpy()
    numpy.testing.assert_allclose(added, numpy.where(counts, a.data, 2 * a.data), rtol=1e-12)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x, m: masked.sum(x, 1, mask=tl.ones(2, *SHAPE)), IndexError, "higher than of the input"),
        (lambda x, m: masked.sum(x, 2, mask=m), IndexError, "out of range"),
        (lambda x, m: masked.sum(x, (0, 0), mask=m), RuntimeError, "appears multiple times"),
        (lambda x, m: masked.sum(3.0, mask=m), TypeError, "'input' must be Tensor"),
        (lambda x, m: masked.sum(x, mask=[True]), TypeError, "'mask' must be Tensor"),
        (lambda x, m: masked.sum(x.to_sparse(), mask=m), ValueError, "expects strided tensor"),
        (lambda x, m: masked.var(x, unbiased=True, correction=1), RuntimeError, "only one of"),
    ],
)
def test_wrong_arguments(call, error, message):
    x, mask, _ = pair()
    with pytest.raises(error, match=message):
        call(x, mask)


# ---- masked tensors ----
def test_what_it_consists_of():
    x, mask, a = pair()
    m = masked_tensor(x, mask)
    assert isinstance(m, tl.Tensor) and masked.is_masked_tensor(m) and not masked.is_masked_tensor(x)
    assert m.shape == SHAPE and m.dtype == tl.float64 and m.layout is tl.strided and len(m) == 4
    assert tl.equal(m.get_data(), x) and tl.equal(m.get_mask(), mask)
    numpy.testing.assert_array_equal(m.to_tensor(-1.0).numpy(), a.filled(-1))
    m.add_(1)
    assert tl.equal(x, tl.tensor(a.data))  # a copy
    assert_masked(MaskedTensor(x, mask), a)


def test_printing():
    m = masked_tensor(tl.tensor([[1.0, 2.0], [3.0, -4.5]]), tl.tensor([[True, False], [True, True]]))
    text = "MaskedTensor(\n  [\n    [  1.0000,       --],\n    [  3.0000,  -4.5000]\n  ]\n)"
    assert repr(m) == str(m) == f"{m}" == text
    assert repr(m[1]) == "MaskedTensor(\n  [  3.0000,  -4.5000]\n)"
    assert repr(m.sum()) == "MaskedTensor( -0.5000, True)" and repr(m[0, 1]) == "MaskedTensor(--, False)"
    assert repr(m.long()[0]) == "MaskedTensor(\n  [1,       --]\n)"
    assert repr(masked_tensor(tl.zeros(0), tl.zeros(0, dtype=tl.bool))) == "MaskedTensor(\n  []\n)"


@pytest.mark.parametrize(
    "how", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"]
)
def test_copies(how):
    x, mask, a = pair()
    assert_masked(how(masked_tensor(x, mask)), a)


@pytest.mark.parametrize(
    "data, mask, error, message",
    [
        (0, tl.ones(1, dtype=tl.bool), TypeError, "data must be a Tensor"),
        (tl.ones(1), 0, TypeError, "mask must be a Tensor"),
        (tl.ones(1), tl.ones(1), TypeError, "mask must have dtype bool"),
        (tl.ones(1, dtype=tl.complex64), tl.ones(1, dtype=tl.bool), TypeError, "complex64 is not supported"),
        (tl.ones(1, 1), tl.ones(1, dtype=tl.bool), ValueError, r"data.dim\(\) must equal mask.dim\(\)"),
        (tl.ones(2), tl.ones(1, dtype=tl.bool), ValueError, r"data.size\(\) must equal mask.size\(\)"),
        (tl.ones(1).to_sparse(), tl.ones(1, dtype=tl.bool), TypeError, "must have the same layout"),
    ],
)
def test_wrong_constructions(data, mask, error, message):
    with pytest.raises(error, match=message):
        masked_tensor(data, mask)


def inputs_of(name):
    data, mask = some()
    base = name.rstrip("_")
    if base in ("log", "log10", "log1p", "log2", "sqrt", "rsqrt", "acosh", "arccosh"):
        data = numpy.abs(data) + 1
    if base in ("acos", "arccos", "asin", "arcsin", "atanh", "arctanh", "erfinv", "logit"):
        data = 1 / (1 + numpy.exp(-data))
    x = tl.tensor(data)
    return (x * 10).to(tl.int8) if base == "bitwise_not" else x, tl.tensor(mask)


@pytest.mark.parametrize("name", [*unary.UNARY_NAMES, *unary.INPLACE_UNARY_NAMES])
def test_unary(name):
    x, mask = inputs_of(name)
    more = {"clamp": (-0.5, 0.5), "clip": (-0.5, 0.5), "pow": (2.0,)}.get(name.rstrip("_"), ())
    function = getattr(tl, name, None) or getattr(tl.Tensor, name)
    m = masked_tensor(x, mask)
    result = function(m, *more)
    expected = function(x.clone(), *more)
    assert tl.equal(result.get_mask(), mask) and (result is m or not name.endswith("_"))
    assert tl.equal(result.get_data().nan_to_num(), expected.nan_to_num())


@pytest.mark.parametrize("name", [*binary.BINARY_NAMES, *binary.INPLACE_BINARY_NAMES])
def test_binary(name):
    x, mask, _ = pair()
    y = tl.tensor(some(1)[0])
    if "bitwise" in name or "shift" in name:
        x, y = (x * 10).long(), y.abs().long()
    function = getattr(tl, name, None) or getattr(tl.Tensor, name)
    expected = function(x.clone(), y).nan_to_num()
    for other in (masked_tensor(y, mask), y):
        result = function(masked_tensor(x, mask), other)
        assert tl.equal(result.get_mask(), mask) and tl.equal(result.get_data().nan_to_num(), expected)
    with pytest.raises(ValueError, match=r"Input masks must match\."):
        function(masked_tensor(x, mask), masked_tensor(y, ~mask))


def test_operators_of_the_language():
    x, mask, a = pair()
    m = masked_tensor(x, mask)
    assert_masked(2 - m, 2 - a)
    assert_masked(m**2, a**2)
    assert_masked(x * m, a.data * a)
    assert_masked(-m + 1, 1 - a)
    assert_masked(m + tl.ones(5, dtype=tl.float64), a + 1)
    assert_masked(aten.add(m, m), a + a)


@pytest.mark.parametrize("dim", [None, 0, 1])
def test_reductions_of_masked_tensors(dim):
    x, mask, a = pair()
    m = masked_tensor(x, mask)
    how = () if dim is None else (dim,)
    for name, expected in (
        ("sum", a.sum(dim)), ("mean", a.mean(dim)), ("amax", a.max(dim)), ("amin", a.min(dim)), ("prod", a.prod(dim)),
        ("norm", None), ("all", None),
    ):  # fmt: skip
        if expected is not None:
            assert_masked(getattr(m, name)(*how), expected)
    assert_masked(m.norm(dim=dim), numpy.sqrt((a * a).sum(dim)))
    assert_masked((m > -10).all(*how), (a > -10).all(dim))
    assert m.sum(1, keepdim=True).shape == (4, 1) and m.var(0).get_mask().tolist() == mask.any(0).tolist()
    assert m.argmax(1).get_data()[1].item() == a[1].argmax()
    assert m.std(1, unbiased=False).get_data()[1].item() == pytest.approx(a[1].std())


def test_views_and_selections():
    x, mask, a = pair()
    m = masked_tensor(x, mask)
    assert_masked(m.select(0, 1), a[1])
    assert_masked(m[1:, ::2], a[1:, ::2])
    assert_masked(m.t(), a.T)
    assert_masked(m.view(5, 4), a.reshape(5, 4))
    assert_masked(tl.cat([m, m]), numpy.ma.concatenate([a, a]))
    assert_masked(tl.stack([m, m]), numpy.ma.stack([a, a]))
    assert_masked(m.expand(2, 4, 5)[1], a)
    assert_masked(m.unfold(1, 2, 2)[:, 0], a[:, :2])
    assert_masked(tl.hstack([m, m]), numpy.ma.hstack([a, a]))
    assert [tuple(p.shape) for p in m.chunk(2)] == [(2, 5), (2, 5)] and m.split(3)[1].shape == (1, 5)
    assert tl.kron(m, m).shape == (16, 25) and m.flatten().shape == (20,)
    assert [tuple(g.shape) for g in tl.meshgrid(m[0], m[1], indexing="ij")] == [(5, 5)] * 2
    assert_masked(m.to(tl.float32).double().sum(), a.astype(numpy.float32).astype(float).sum())
    assert_masked(tl.where(mask, m, m + 1), numpy.ma.array(a.data, mask=~mask.numpy()))
    assert not m.t().is_contiguous() and m.t().contiguous().is_contiguous()


def test_softmax():
    x, mask, a = pair()
    result = tl.softmax(masked_tensor(x, mask), 1)
    e = numpy.ma.exp(a)
    numpy.testing.assert_allclose(
        result.to_tensor(0.0).numpy()[1:], (e / e.sum(1, keepdims=True)).filled(0)[1:]
    )


def test_what_there_is_not():
    x, mask, _ = pair()
    m = masked_tensor(x, mask)
    for call in (lambda: m.max(), lambda: m.cumsum(1), lambda: m @ m.t(), lambda: tl.sort(m)):
        with pytest.raises(TypeError, match="on MaskedTensor"):
            call()
    with pytest.raises(TypeError, match="no out="):
        tl.add(m, m, out=tl.empty(SHAPE))
    with pytest.raises(RuntimeError, match="get_data"):
        m.numpy()
    with pytest.raises(ValueError, match="boolean"):
        m._is_any_true()
    assert (m > 100)._is_any_true().get_data().item() is False


def test_sparse():
    x, mask, a = pair()
    m = masked_tensor(x, mask)
    s = m.to_sparse()
    assert s.is_sparse_coo() and s.layout is tl.sparse_coo and not m.is_sparse_coo()
    assert_masked(s.sin().to_dense(), numpy.ma.sin(a))
    assert_masked((s + s).to_dense(), a + a)
    assert_masked(s.sum(1), a.sum(1))
    with pytest.raises(ValueError, match="do not have is_contiguous"):
        s.is_contiguous()
    other = tl.sparse_coo_tensor([[0], [0]], [True], SHAPE)
    with pytest.raises(ValueError, match="do not have the same indices"):
        masked_tensor(s.get_data(), other)


def test_as_masked_tensor_shares_memory():
    x, mask, a = pair()
    m = as_masked_tensor(x, mask)
    assert m.get_data().data_ptr() == x.data_ptr()
    assert_masked(m, a)


@pytest.mark.parametrize("name", ["amax", "amin", "mean", "sum", "prod"])
def test_reductions_of_a_scalar_have_memory_of_their_own(name):
    x = tl.tensor(2.0)
    result = getattr(tl.masked, name)(x)
    result.add_(1)
    assert x.item() == 2
