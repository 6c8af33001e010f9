"""The same bits for every number of threads, at every address, whatever ran before."""

from __future__ import annotations

import random

import pytest

np = pytest.importorskip("numpy", reason="inputs are drawn by numpy")
pytest.importorskip("scipy", reason="row_cases names scipy's references")

import row_cases as r  # noqa: E402

import tl_core as tl  # noqa: E402

THREADS = (1, 2, 4, 8)
LONG = 100_003  # odd, and enough for several chunks of parallel work


@pytest.fixture(autouse=True)
def restore_threads():
    before = tl.get_num_threads()
    yield
    tl.set_num_threads(before)


def draw(seed: int, *shape: int, low: float = -3.0, high: float = 3.0, dtype: str = "float32"):
    array = np.random.default_rng(seed).uniform(low, high, shape)
    return tl.tensor(array.astype("float32" if dtype != "float64" else dtype)).to(getattr(tl, dtype))


def shifted(t):
    """The same tensor with its first element one element further from the aligned begin of the memory."""
    memory = tl.empty(t.numel() + 1, dtype=t.dtype)[1:]
    return memory.copy_(t.reshape(-1)).reshape(t.shape)


def spaced(t):
    """The same elements with gaps between them."""
    return tl.zeros(*t.shape, 2, dtype=t.dtype)[..., 0].copy_(t)


def litter(seed: int) -> list:
    """Tensors of random sizes, so that later ones lie elsewhere."""
    sizes = random.Random(seed)
    return [tl.empty(sizes.randrange(1, 5000)) for _ in range(1000)][::2]


def bits(result) -> list[bytes]:
    tensors = result if isinstance(result, (tuple, list)) else [result]
    return [
        t.contiguous().view(tl.uint8).numpy().tobytes() if t.dim() else repr(t.item()).encode()
        for t in tensors
    ]


def assert_same_bits(function, *inputs):
    """For dense inputs everywhere, and for inputs with gaps."""
    for layout in (lambda t: t, spaced):
        arranged = [layout(t) if isinstance(t, tl.Tensor) and t.dim() else t for t in inputs]
        tl.set_num_threads(1)
        expected = bits(function(*arranged))
        for threads in THREADS[1:]:
            tl.set_num_threads(threads)
            assert bits(function(*arranged)) == expected, f"{threads} threads"
    moved = [shifted(t) if isinstance(t, tl.Tensor) and t.dim() else t for t in inputs]
    expected = bits(function(*inputs))
    value = litter(1)
    assert bits(function(*moved)) == expected, "another address"
    assert bits(function(*inputs)) == expected, "after other allocations"
    del value


def numbers(row):
    """The row's inputs: tensors, and small numbers for its parameters."""
    shape = (LONG,)
    inputs = []
    for i in range(row.elementwise.inputs):
        kind = "bool" if row.elementwise.condition and i == 0 else dtype_of(row)
        generator = np.random.default_rng(i)
        if row.args[i].type == "Scalar":
            inputs.append(2)
            continue
        if kind == "float32":
            low, high = max(row.samples.low, -3), min(row.samples.high, 3)
            inputs.append(tl.tensor(generator.uniform(low, high, shape).astype("float32")))
        else:
            inputs.append(tl.tensor(generator.integers(0, 2, shape)).to(getattr(tl, kind)))
    return inputs


def dtype_of(row) -> str:
    return next(d for d in ("float32", "int64", "int16", "complex64") if d in row.elementwise.dtypes)


ROWS = [row for row in r.ELEMENTWISE if row.args[0].type != "Scalar" and not row.base.endswith("_")]


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_elementwise_rows(row):
    more = {a.name: 2 for a in row.args[row.elementwise.inputs :] if a.keyword_only and a.default is None}
    rest = [2 for a in row.args[row.elementwise.inputs :] if not a.keyword_only and a.default is None]
    assert_same_bits(lambda *inputs: r.call(row.name, *inputs, *rest, **more), *numbers(row))


INDEX = np.random.default_rng(0).integers(0, 1000, LONG)
CASES = {
    "sum": lambda x: x.sum(),
    "sum of rows": lambda x: x[:99_995].reshape(-1, 7).sum(1),
    "sum of columns": lambda x: x[:100_000].reshape(400, 250).sum(0),
    "mean": lambda x: x.mean(),
    "var_mean": lambda x: tl.var_mean(x),
    "norm of columns": lambda x: x[:100_000].reshape(400, 250).square().sum(0).sqrt(),
    "max": lambda x: x[:100_000].reshape(400, 250).max(1),
    "argmin": lambda x: x.argmin(),
    "softmax": lambda x: x[:100_000].reshape(400, 250).softmax(1),
    "log_softmax over columns": lambda x: x[:100_000].reshape(400, 250).log_softmax(0),
    "logsumexp": lambda x: x.logsumexp(0),
    "cumsum": lambda x: x.cumsum(0),
    "cumprod": lambda x: (x / 3 + 1).cumprod(0),
    "sort": lambda x: x.sort(stable=True),
    "topk": lambda x: x.topk(50),
    "scatter_add": lambda x: x[:1000].scatter_add(0, tl.tensor(INDEX), x),
    "index_put": lambda x: x[:1000].index_put((tl.tensor(INDEX),), x, accumulate=True),
    "index_select": lambda x: x.index_select(0, tl.tensor(INDEX)),
    "masked": lambda x: x[x > 0],
    "mm": lambda x: x[:60_000].reshape(200, 300) @ x[40_000:].reshape(-1)[:60_000].reshape(300, 200),
    "tall mm": lambda x: x[:99_000].reshape(33_000, 3) @ x[:12].reshape(3, 4),
    "mv": lambda x: x[:99_000].reshape(330, 300) @ x[:300],
    "dot": lambda x: x.dot(x),
    "bmm": lambda x: x[:96_000].reshape(32, 50, 60).bmm(x[:96_000].reshape(32, 60, 50)),
    "copy of a transpose": lambda x: x[:90_000].reshape(300, 300).t().contiguous(),
    "cat": lambda x: tl.cat([x, x[:1000], x]),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name", CASES)
def test_other_operators(name, dtype):
    assert_same_bits(CASES[name], draw(0, LONG, dtype=dtype))


@pytest.mark.parametrize("name", ["rand", "randn", "randperm", "bernoulli", "randint"])
def test_random_numbers(name):
    makers = {
        "rand": lambda: tl.rand(LONG),
        "randn": lambda: tl.randn(LONG),
        "randperm": lambda: tl.randperm(LONG),
        "bernoulli": lambda: tl.full((LONG,), 0.3).bernoulli(),
        "randint": lambda: tl.randint(0, 1000, (LONG,)),
    }

    def drawn():
        tl.manual_seed(7)
        return makers[name]()

    assert_same_bits(drawn)
