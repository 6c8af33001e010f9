"""Fakes of sparse and jagged tensors. The sizes and layouts are recorded from PyTorch 2.13."""

import pytest

import tl_core as tl
from tl_core import nested, sparse
from tl_core.subclasses import FakeTensorMode
from tl_core.subclasses.fake_tensor import FakeTensor, is_fake

DENSE = tl.tensor([[1.0, 0, 2], [0, 3, 0]])
REAL = {
    "coo": DENSE.to_sparse(),
    "csr": DENSE.to_sparse_csr(),
    "csc": DENSE.to_sparse_csc(),
    "bsr": tl.eye(4).to_sparse_bsr((2, 2)),
    "bsc": tl.eye(4).to_sparse_bsc((2, 2)),
}


@pytest.fixture(params=REAL)
def pair(request):
    real = REAL[request.param]
    mode = FakeTensorMode()
    return mode, real, mode.from_tensor(real)


def facts(t):
    sparse_facts = () if t.layout is tl.strided else (t.sparse_dim(), t.dense_dim())
    return (type(t) is FakeTensor, t.layout, tuple(t.shape), t.dtype, str(t.device), *sparse_facts)


def facts_of_real(t):
    return (True, *facts(t)[1:])


def test_the_fake_stores_no_elements(pair):
    mode, real, fake = pair
    assert facts(fake) == facts_of_real(real)
    assert fake._nnz() == 0 and mode.from_tensor(real) is fake
    assert facts(fake._values())[:2] == (True, tl.strided)
    assert tuple(fake._values().shape) == (0, *real._values().shape[1:])


CALLS = {
    "mul": lambda x: x * 2,
    "mul of two": lambda x: x * x,
    "add": lambda x: x + x,
    "abs": lambda x: x.abs(),
    "relu": lambda x: x.relu(),
    "sum": lambda x: x.sum(),
    "to_dense": lambda x: x.to_dense(),
    "t": lambda x: x.t(),
    "to_sparse": lambda x: x.to_sparse(),
    "clone": lambda x: x.clone(),
    "detach": lambda x: x.detach(),
    "dtype": lambda x: x.to(tl.float64),
    "zeros_like": lambda x: tl.zeros_like(x),
    "neg_": lambda x: x.clone().neg_(),
    "sum along": lambda x: sparse.sum(x, 1),
}


@pytest.mark.parametrize("call", CALLS)
def test_results_are_fakes_of_the_results(pair, call):
    _, real, fake = pair
    assert facts(CALLS[call](fake)) == facts_of_real(CALLS[call](real))


@pytest.mark.parametrize("call", [tl.matmul, sparse.mm])
def test_products(pair, call):
    mode, real, fake = pair
    other = mode.from_tensor(tl.ones(real.shape[1], 5))
    assert facts(call(fake, other)) == (True, tl.strided, (real.shape[0], 5), tl.float32, "cpu")


TO = {
    tl.sparse_coo: lambda x: x.to_sparse(),
    tl.sparse_csr: lambda x: x.to_sparse_csr(),
    tl.sparse_csc: lambda x: x.to_sparse_csc(),
    tl.sparse_bsr: lambda x: x.to_sparse_bsr((1, 1)),
    tl.sparse_bsc: lambda x: x.to_sparse_bsc((1, 1)),
}


@pytest.mark.parametrize("layout", TO, ids=str)
@pytest.mark.parametrize("source", ["dense", "coo", "csr", "csc"])
def test_conversions(source, layout):
    real = DENSE if source == "dense" else REAL[source]
    result = TO[layout](FakeTensorMode().from_tensor(real))
    assert facts(result) == facts_of_real(TO[layout](real)) and result._nnz() == 0


def test_factories_in_the_mode():
    with FakeTensorMode():
        coo = tl.sparse_coo_tensor(tl.zeros(2, 3, dtype=tl.int64), tl.ones(3), (4, 4))
        csr = tl.sparse_csr_tensor(tl.tensor([0, 1, 2]), tl.tensor([0, 1]), tl.ones(2), (2, 2))
        empty = tl.sparse_coo_tensor((4, 5))
    assert facts(coo) == (True, tl.sparse_coo, (4, 4), tl.float32, "cpu", 2, 0) and coo._nnz() == 3
    assert facts(csr) == (True, tl.sparse_csr, (2, 2), tl.float32, "cpu", 2, 0) and csr._nnz() == 2
    assert facts(empty)[2] == (4, 5)


def test_writes():
    mode = FakeTensorMode()
    out, fake = mode.from_tensor(tl.zeros(2, 3)), mode.from_tensor(REAL["coo"])
    assert out.add_(fake) is out and facts(out)[:3] == (True, tl.strided, (2, 3))
    assert fake.mul_(2) is fake and facts(fake) == facts_of_real(REAL["coo"])
    assert fake.t_() is fake and tuple(fake.shape) == (3, 2) and tuple(fake._indices().shape) == (2, 0)


def test_text():
    mode = FakeTensorMode()
    text = repr(mode.from_tensor(REAL["csr"]))
    assert text.startswith("FakeTensor(crow_indices=tensor(..., size=(3,)),")
    assert text.endswith("size=(2, 3), layout=torch.sparse_csr)") and "nnz" not in text


def test_errors_are_those_of_real_tensors():
    fake = FakeTensorMode().from_tensor(REAL["csr"])
    with pytest.raises(RuntimeError, match="expected sparse coordinate tensor layout but got SparseCsr"):
        fake.coalesce()
    with pytest.raises(RuntimeError, match="view"):
        fake.reshape(-1)


# ---- jagged --------------------------------------------------------------------------------------------------
@pytest.fixture
def jagged():
    real = nested.nested_tensor([tl.ones(2, 3), tl.ones(4, 3)], layout=tl.jagged)
    mode = FakeTensorMode()
    return mode, real, mode.from_tensor(real)


def test_a_jagged_fake(jagged):
    mode, real, fake = jagged
    assert isinstance(fake, nested.tensor.NestedTensor) and is_fake(fake)
    assert fake.layout is tl.jagged and fake.is_nested
    assert tuple(fake.values().shape) == (6, 3) and tuple(fake.offsets().shape) == (3,)
    assert is_fake(fake.values()) and is_fake(fake.offsets()) and mode.from_tensor(real) is fake


JAGGED_CALLS = {
    "add": (lambda x: x + x, (6, 3)),
    "mul": (lambda x: x * 2, (6, 3)),
    "sin": (lambda x: x.sin(), (6, 3)),
    "softmax": (lambda x: x.softmax(-1), (6, 3)),
    "detach": (lambda x: x.detach(), (6, 3)),
    "clone": (lambda x: x.clone(), (6, 3)),
    "to": (lambda x: x.to(tl.float64), (6, 3)),
    "unsqueeze": (lambda x: x.unsqueeze(1), (1, 6, 3)),
}


@pytest.mark.parametrize("call", JAGGED_CALLS)
def test_jagged_results_are_jagged_fakes(jagged, call):
    function, sizes = JAGGED_CALLS[call]
    result = function(jagged[2])
    assert is_fake(result) and result.layout is tl.jagged and tuple(result.values().shape) == sizes


@pytest.mark.parametrize(
    ("call", "sizes"),
    [
        (lambda x: x.sum(), ()),
        (lambda x: x.sum(1), (2, 3)),
        (lambda x: x.mean(1), (2, 3)),
        (lambda x: x.to_padded_tensor(0.0), (2, 4, 3)),
        (lambda x: x.unbind()[1], (4, 3)),
    ],
)
def test_dense_results_are_fakes(jagged, call, sizes):
    result = call(jagged[2])
    assert is_fake(result) and result.layout is tl.strided and tuple(result.shape) == sizes


@pytest.mark.parametrize("make", [nested.nested_tensor, nested.as_nested_tensor])
def test_jagged_factories_in_the_mode(make):
    with FakeTensorMode():
        x = make([tl.ones(2, 3), tl.ones(4, 3)], layout=tl.jagged)
        y = nested.nested_tensor_from_jagged(tl.ones(6, 3), tl.tensor([0, 2, 6]))
    for result in (x, y):
        assert is_fake(result) and tuple(result.values().shape) == (6, 3)


def test_unknown_lengths_raise():
    mode = FakeTensorMode()
    x = nested.nested_tensor_from_jagged(
        mode.from_tensor(tl.ones(6, 3)), mode.from_tensor(tl.tensor([0, 2, 6]))
    )
    with pytest.raises(RuntimeError, match="depends on elements"):
        x.unbind()
