"""Every operator of sparse tensors in every layout: gradients of all elements, or of those that are stored."""

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd import grad, gradcheck, gradgradcheck
from tl_core import sparse
from tl_core.operators.packets import aten
from tl_core.testing import assert_close

A = tl.tensor(
    [[0.0, 2.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, -1.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
    dtype=tl.float64,
)
D = tl.rand(4, 4, dtype=tl.float64, generator=tl.Generator().manual_seed(1)) + 0.5
E = tl.tensor(
    [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0], [0.0, 0.0, 4.0, 0.0], [0.0, 0.0, 0.0, 0.0]], dtype=tl.float64
)
LAYOUTS = {
    "coo": lambda x: x.to_sparse(),
    "csr": lambda x: x.to_sparse_csr(),
    "csc": lambda x: x.to_sparse_csc(),
    "bsr": lambda x: x.to_sparse_bsr((2, 2)),
    "bsc": lambda x: x.to_sparse_bsc((2, 1)),
    "hybrid coo": lambda x: x.to_sparse(1),
    "coo of csr": lambda x: x.to_sparse_csr().to_sparse(),
    "csr of coo": lambda x: x.to_sparse().to_sparse_csr(),
    "clone": lambda x: x.to_sparse().clone(),
    "coalesced": lambda x: x.to_sparse().coalesce(),
}

# Functions of a sparse matrix and a dense one; `f` alone is differentiable at zero.
UNMASKED = {
    "@": lambda s, d: s @ d,
    "@ vector": lambda s, d: s @ d[0],
    "dense @": lambda s, d: d @ s,
    "vector @": lambda s, d: d[0] @ s,
    "@ sparse": lambda s, d: s @ E.to_sparse(),
    "@ itself": lambda s, d: s @ s,
    "mm": lambda s, d: tl.mm(s, d),
    "mv": lambda s, d: tl.mv(s, d[0]),
    "addmm": lambda s, d: tl.addmm(d, s, d, beta=0.5, alpha=2.0),
    "addmv": lambda s, d: tl.addmv(d[0], s, d[1], beta=0.5, alpha=2.0),
    "linear": lambda s, d: aten.linear(d, s, d[0]),
    "sum": lambda s, d: s.sum(),
    "sum along": lambda s, d: s.sum(0),
    "sum along, kept": lambda s, d: s.sum(1, keepdim=True),
    "mean": lambda s, d: s.mean(),
    "norm": lambda s, d: s.norm(),
    "trace": lambda s, d: tl.trace(s),
    "* 2": lambda s, d: s * 2,
    "/ 2": lambda s, d: s / 2,
    "* number in a tensor": lambda s, d: s * d[0, 0],
    "* dense": lambda s, d: s * d,
    "* sparse": lambda s, d: s * (E.to_sparse() if s.layout is tl.sparse_coo else s),
    "* itself": lambda s, d: s * s,
    "+": lambda s, d: s + s,
    "dense +": lambda s, d: d + s,
    "-": lambda s, d: s - 2 * s,
    "-s": lambda s, d: -s,
    "square": lambda s, d: tl.square(s),
    "power": lambda s, d: s**3,
    "sin": lambda s, d: tl.sin(s),
    "tanh": lambda s, d: tl.tanh(s),
    "expm1": lambda s, d: tl.expm1(s),
    "log1p": lambda s, d: tl.log1p(s * 0.1),
    "asinh": lambda s, d: tl.asinh(s),
    "erf": lambda s, d: tl.erf(s),
    "transposed": lambda s, d: s.transpose(0, 1),
    "t() @": lambda s, d: s.t() @ d,
    "permuted": lambda s, d: s.permute(1, 0),
    "a row": lambda s, d: s[2],
    "rows": lambda s, d: s.index_select(0, tl.tensor([2, 0, 2])),
    "narrowed": lambda s, d: s.narrow(0, 1, 2),
    "cat": lambda s, d: tl.cat([s, s], 1),
    "stack": lambda s, d: tl.stack([s, s]),
    "unsqueezed": lambda s, d: s.unsqueeze(0),
    "clone": lambda s, d: s.clone(),
    "complex": lambda s, d: s.to(tl.complex128).real,
    "to_dense(masked_grad=False)": lambda s, d: s.to_dense(masked_grad=False),
    "written": lambda s, d: s.clone().mul_(3.0),
    "a function, written": lambda s, d: s.clone().sin_(),
    "of a result": lambda s, d: (s * 2).sin() @ d,
    "solved": lambda s, d: sparse.spsolve(s + (5 * tl.eye(4, dtype=tl.float64)).to_sparse_csr(), d[0]),
}
# Their documentation says that the gradient has the elements that are stored.
MASKED = {
    "sparse.mm": lambda s, d: sparse.mm(s, d),
    "sparse.mm of a result": lambda s, d: sparse.mm(s * 2, d),
    "dense, sparse.mm": lambda s, d: sparse.mm(d, s),
    "sparse.addmm": lambda s, d: sparse.addmm(d, s, d, beta=0.5, alpha=2.0),
    "sparse.sum": lambda s, d: sparse.sum(s),
    "sparse.sum along": lambda s, d: sparse.sum(s, 1),
    "to_dense": lambda s, d: s.to_dense(),
    "values": lambda s, d: (s.coalesce() if s.layout is tl.sparse_coo else s).values(),
    "sparse_mask": lambda s, d: s.sparse_mask(s.detach()),
}


def all_elements(y):
    return y if y.layout is tl.strided else y.to_dense(masked_grad=False)


def raises(function, *args):
    """Whether the layout does not have the operator: then it says so without gradients as well."""
    with tl.no_grad():
        try:
            function(*args)
        except (RuntimeError, NotImplementedError, TypeError, IndexError):
            return True
    return False


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", UNMASKED)
def test_all_elements_have_gradients(name, layout):
    convert, f = LAYOUTS[layout], UNMASKED[name]
    if raises(lambda: f(convert(A), D)):
        assert layout != "coo" or name == "solved"
        return
    for a in (A, tl.zeros(4, 4, dtype=tl.float64)):
        if name == "norm" and not a.any():
            continue
        x = a.clone().requires_grad_()
        assert gradcheck(lambda a: all_elements(f(convert(a), D)), (x,))
        d = D.clone().requires_grad_()
        if f(convert(a), d).requires_grad:
            assert gradcheck(lambda d, a=a: all_elements(f(convert(a), d)), (d,))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", MASKED)
def test_stored_elements_have_gradients(name, layout):
    convert, f = LAYOUTS[layout], MASKED[name]
    if raises(lambda: f(convert(A), D)):
        assert layout != "coo"
        return
    x = A.clone().requires_grad_()
    y = all_elements(f(convert(x), D))
    w = tl.arange(1.0, 1.0 + y.numel(), dtype=tl.float64).reshape(y.shape)
    (result,) = grad((y * w).sum(), x)
    result = all_elements(result)
    stored = all_elements(tl.ones_like(convert(A))) != 0
    step = 1e-6
    for i in range(4):
        for j in range(4):
            if not A[i, j]:
                assert result[i, j] == 0 or bool(stored[i, j])
                continue
            e = tl.zeros(4, 4, dtype=tl.float64)
            e[i, j] = step
            ahead, behind = (all_elements(f(convert(A + k * e), D)) for k in (1, -1))
            assert float(result[i, j]) == pytest.approx(
                float((w * (ahead - behind)).sum()) / (2 * step), rel=1e-5
            )


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr"])
@pytest.mark.parametrize(
    "name", ["@", "dense @", "addmm", "* itself", "* dense", "sin", "power", "t() @", "norm", "@ itself"]
)
def test_second_derivatives(name, layout):
    convert, f = LAYOUTS[layout], UNMASKED[name]
    if raises(lambda: f(convert(A), D)):
        return
    assert gradgradcheck(
        lambda a, d: all_elements(f(convert(a), d)) ** 2,
        (A.clone().requires_grad_(), D.clone().requires_grad_()),
    )


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr", "bsc", "hybrid coo"])
@pytest.mark.parametrize("masked", [False, True])
def test_gradcheck_of_sparse_leaves(layout, masked):
    """As its documentation says: without `masked` all elements are perturbed."""
    leaf = LAYOUTS[layout](A).requires_grad_()
    functions = (
        [lambda s: sparse.mm(s, D), lambda s: s.to_dense()]
        if masked
        else [lambda s: s @ D, lambda s: s.sum(), lambda s: D + s, lambda s: s.to_dense(masked_grad=False)]
    )
    for f in functions:
        if not raises(f, leaf):
            assert gradcheck(f, (leaf,), masked=masked)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", {**UNMASKED, **MASKED})
def test_leaves_that_stop_requiring_a_gradient(name, layout):
    convert, f = LAYOUTS[layout], {**UNMASKED, **MASKED}[name]
    if raises(lambda: f(convert(A), D)):
        return
    expected = all_elements(f(convert(A), D))
    leaf = convert(A).detach().requires_grad_()
    all_elements(f(leaf, D))
    result = all_elements(f(leaf.requires_grad_(False), D))
    assert not result.requires_grad
    assert_close(result, expected, rtol=0, atol=0)


def test_which_layout_gradients_have():
    """A strided leaf's is strided; a sparse leaf's is dense where all elements have one, as PyTorch has it."""
    for layout in ("coo", "csr", "csc", "bsr"):
        x = A.clone().requires_grad_()
        (LAYOUTS[layout](x) @ D).sum().backward()
        assert x.grad.layout is tl.strided
        leaf = LAYOUTS[layout](A).requires_grad_()
        (leaf @ D).sum().backward()
        assert leaf.grad.layout is tl.strided and tl.allclose(leaf.grad, D.sum(1).expand(4, 4))
        leaf.grad = None
        leaf.sum().backward()
        assert leaf.grad.layout is tl.strided and leaf.grad.min() == 1
    for layout in ("coo", "csr"):
        leaf = LAYOUTS[layout](A).requires_grad_()
        sparse.mm(leaf, D).sum().backward()
        assert leaf.grad.layout is leaf.layout and leaf.grad._nnz() == 4
        leaf.grad = None
        (leaf * 2).to_dense().sum().backward()
        assert leaf.grad.layout is leaf.layout


def test_examples_of_two_elements():
    a = [[0.0, 2.0], [3.0, 0.0]]
    ones = tl.ones(2, 1)
    for convert in (tl.Tensor.to_sparse, tl.Tensor.to_sparse_csr, tl.Tensor.to_sparse_csc):
        for f in (
            lambda s: s @ ones,
            lambda s: tl.mm(s, ones),
            lambda s: s.sum(),
            lambda s: tl.mv(s, ones[:, 0]),
        ):
            x = tl.tensor(a, requires_grad=True)
            f(convert(x)).sum().backward()
            assert x.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
        x = tl.tensor(a, requires_grad=True)
        sparse.mm(convert(x), ones).sum().backward()
        assert x.grad.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_what_is_made_of_values_stays_sparse():
    """Nobody reads its other gradients: no dense matrix is made, whatever its size."""
    n = 1 << 20
    values = tl.tensor([1.0, 2.0, 3.0], requires_grad=True)
    indices = tl.tensor([[0, 5, n - 1], [3, n - 2, 0]])
    s = tl.sparse_coo_tensor(indices, values, (n, n)).coalesce()
    v = tl.ones(n, requires_grad=True)
    for result in (s, s * 2, -s, s.t(), (s + s) / 2, s.clone(), s.sin()):
        y = (result @ v).sum()
        g, h = grad(y, (values, v), retain_graph=True)
        assert g.shape == (3,) and h.shape == (n,) and g.abs().min() > 0
    csr = tl.sparse_csr_tensor(tl.tensor([0, 2, 3]), tl.tensor([0, n - 1, 5]), values, (2, n))
    assert grad((csr @ v).sum(), values)[0].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("name", ["csr", "csr with dense", "coo"])
def test_batches_and_dense_dimensions(name):
    a = tl.zeros(2, 3, 3, dtype=tl.float64)
    a[:, 0, 1], a[:, 2, 0] = 2.0, 3.0
    d = tl.rand(2, 3, 2, dtype=tl.float64)
    convert, f = {
        "csr": (lambda x: x.to_sparse_csr(), lambda s: s.to_dense(masked_grad=False) * 2),
        "csr with dense": (
            lambda x: x.permute(1, 2, 0).to_sparse_csr(dense_dim=1),
            lambda s: (s * 2).to_dense(masked_grad=False),
        ),
        "coo": (lambda x: x.to_sparse(), lambda s: tl.bmm(s, d)),
    }[name]  # fmt: skip
    x = a.clone().requires_grad_()
    y = f(convert(x))
    (result,) = grad((y * tl.arange(1.0, 1.0 + y.numel(), dtype=tl.float64).reshape(y.shape)).sum(), x)
    assert result.layout is tl.strided and (result != 0).all()


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_complex_matrices(layout):
    convert = LAYOUTS[layout]
    a = (A + 1j * A.t()).requires_grad_()
    d = (D + 0.5j * D.t()).requires_grad_()
    for f in (lambda s, d: s @ d, lambda s, d: d @ s, lambda s, d: s * d, lambda s, d: s.mH @ d):
        assert gradcheck(lambda a, d, f=f: all_elements(f(convert(a), d)), (a, d))


def test_written_sparse_tensors_have_their_new_history():
    x = A.clone().requires_grad_()
    s = x.to_sparse()
    s.mul_(3.0)
    s.sin_()
    (result,) = grad((s @ D).sum(), x)
    assert tl.allclose(result, 3.0 * (3.0 * A).cos() * D.sum(1))
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        A.to_sparse().requires_grad_().sin_()


def test_nothing_is_dense_without_recording():
    x = A.clone().requires_grad_()
    with tl.no_grad():
        y = x.to_sparse() @ D
    assert not y.requires_grad
    with tl_autograd.graph.save_on_cpu():
        (x.to_sparse() @ D).sum().backward()
    assert tl.allclose(x.grad, D.sum(1).expand(4, 4))
