"""Operators of aten that are made of others."""

import math
import pickle

import pytest

import tl_core as tl
from tl_core.operators import composites as composite_operators
from tl_core.operators import packets as ops

# What is expected comes from NumPy and SciPy; the core is tested without them, too.
np = pytest.importorskip("numpy")
special = pytest.importorskip("scipy.special")
aten = ops.aten
NAMES = sorted(
    name
    for name, packet in composite_operators.PACKETS.items()
    if isinstance(packet, composite_operators.CompositePacket)
)


def numbers(*shape, seed=0, low=0.1, high=0.9):
    return tl.from_numpy(np.random.default_rng(seed).uniform(low, high, shape))


X, Y = numbers(2, 3), numbers(2, 3, seed=1)
WHOLE, OTHER = tl.tensor([6, 5, 12]), tl.tensor([3, 1, 2])
SQUARE = numbers(3, 3, seed=2)


def close(got, expected):
    np.testing.assert_allclose(got.resolve_conj().numpy(), np.asarray(expected), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_every_one_has_a_schema_and_comes_back_from_a_pickle(name):
    packet = composite_operators.PACKETS[name]
    for overload in packet.overloads():
        op = getattr(packet, overload)
        assert str(op._schema).startswith(name) and op.name().startswith(name)
        assert len(op._schema.arguments) == len(op._signature.parameters)
        assert op._can_decompose() and pickle.loads(pickle.dumps(op)) is op


SPECIAL = {
    "digamma": special.digamma,
    "psi": special.digamma,
    "erf": special.erf,
    "erfc": special.erfc,
    "erfinv": special.erfinv,
    "exp2": np.exp2,
    "expit": special.expit,
    "expm1": np.expm1,
    "gammaln": special.gammaln,
    "i0": special.i0,
    "log1p": np.log1p,
    "sinc": np.sinc,
    "logit": special.logit,
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions(name):
    close(getattr(aten, f"special_{name}")(X), SPECIAL[name](X.numpy()))


@pytest.mark.parametrize(
    "name, arguments, expected",
    [
        ("special_gammainc", (X, Y), lambda: special.gammainc(X.numpy(), Y.numpy())),
        ("special_gammaincc", (X, Y), lambda: special.gammaincc(X.numpy(), Y.numpy())),
        ("special_softmax", (X, 1), lambda: special.softmax(X.numpy(), 1)),
        ("special_log_softmax", (X, 1), lambda: special.log_softmax(X.numpy(), 1)),
        ("special_logsumexp", (X, [1]), lambda: special.logsumexp(X.numpy(), 1)),
        ("special_polygamma", (1, X), lambda: special.polygamma(1, X.numpy())),
        ("special_multigammaln", (X + 1, 2), lambda: np.vectorize(lambda v: special.multigammaln(v, 2))(X + 1)),
        ("special_round", (X * 10,), lambda: np.round(X.numpy() * 10)),
        ("special_xlogy", (X, Y), lambda: X.numpy() * np.log(Y.numpy())),
        ("linalg_norm", (SQUARE,), lambda: np.linalg.norm(SQUARE.numpy())),
        ("linalg_norm", (SQUARE, 1, [0, 1], True), lambda: np.linalg.norm(SQUARE.numpy(), 1, (0, 1), True)),
        ("linalg_matrix_norm", (SQUARE, math.inf), lambda: np.linalg.norm(SQUARE.numpy(), np.inf)),
        ("linalg_cond", (SQUARE,), lambda: np.linalg.cond(SQUARE.numpy())),
        ("linalg_matmul", (X, SQUARE), lambda: X.numpy() @ SQUARE.numpy()),
        ("linalg_diagonal", (SQUARE,), lambda: np.diagonal(SQUARE.numpy())),
        ("linalg_matrix_rank", (SQUARE, 1e-9), lambda: 3),
        ("corrcoef", (X,), lambda: np.corrcoef(X.numpy())),
        ("cov", (X,), lambda: np.cov(X.numpy())),
        ("cdist", (X, Y, 1.0), lambda: np.abs(X.numpy()[:, None] - Y.numpy()[None]).sum(-1)),
        ("frobenius_norm", (X, [1]), lambda: np.linalg.norm(X.numpy(), axis=1)),
        ("nuclear_norm", (X,), lambda: np.linalg.norm(X.numpy(), "nuc")),
        ("numpy_T", (X,), lambda: X.numpy().T),
        ("mT", (X,), lambda: X.numpy().T),
        ("mH", (tl.complex(X, Y),), lambda: (X.numpy() + 1j * Y.numpy()).conj().T),
        ("matrix_H", (tl.complex(X, Y),), lambda: (X.numpy() + 1j * Y.numpy()).conj().T),
        ("swapaxes", (X, 0, 1), lambda: X.numpy().T),
        ("swapdims", (X, 0, 1), lambda: X.numpy().T),
        ("type_as", (X, WHOLE), lambda: X.numpy().astype("int64")),
        ("__and__", (WHOLE, OTHER), lambda: WHOLE.numpy() & OTHER.numpy()),
        ("__or__", (WHOLE, 1), lambda: WHOLE.numpy() | 1),
        ("__xor__", (WHOLE, OTHER), lambda: WHOLE.numpy() ^ OTHER.numpy()),
        ("__lshift__", (WHOLE, 2), lambda: WHOLE.numpy() << 2),
        ("__rshift__", (WHOLE, OTHER), lambda: WHOLE.numpy() >> OTHER.numpy()),
        ("copy", (X, Y), Y.numpy),
        ("zero", (X,), lambda: np.zeros((2, 3))),
        ("_stack", ([X, Y], 1), lambda: np.stack([X.numpy(), Y.numpy()], 1)),
        ("_unsafe_view", (X, [3, 2]), lambda: X.numpy().reshape(3, 2)),
        ("_reshape_alias", (X, [3], [1]), lambda: X.numpy().reshape(-1)[:3]),
        ("_reshape_alias_copy", (X, [3], [1]), lambda: X.numpy().reshape(-1)[:3]),
        ("_is_all_true", (tl.tensor([True, False]),), lambda: False),
        ("_is_any_true", (tl.tensor([True, False]),), lambda: True),
        ("_sparse_mm", (SQUARE.to_sparse(), SQUARE), lambda: SQUARE.numpy() @ SQUARE.numpy()),
        ("_sparse_addmm", (SQUARE, SQUARE.to_sparse(), SQUARE), lambda: (SQUARE + SQUARE @ SQUARE).numpy()),
    ],
)  # fmt: skip
def test_values(name, arguments, expected):
    close(getattr(aten, name)(*arguments), expected())


@pytest.mark.parametrize("name", ["and", "or", "xor", "lshift", "rshift"])
def test_those_in_place_write_and_give_their_argument(name):
    x = WHOLE.clone()
    assert getattr(aten, f"__i{name}__")(x, OTHER) is x
    assert x.tolist() == getattr(aten, f"__{name}__")(WHOLE, OTHER).tolist() != WHOLE.tolist()


@pytest.mark.parametrize("transposed", [False, True])
def test_convolutions(transposed):
    x, weight = numbers(1, 2, 5, 5), numbers(2, 2, 3, 3, seed=1)
    shape = ([1, 2], [1, 0], [1, 1], transposed, [0, 1] if transposed else [0, 0], 1)
    expected = tl.convolution(x, weight, None, *shape)
    assert tl.equal(aten._convolution(x, weight, None, *shape, False, False, True, True), expected)
    assert tl.equal(aten._convolution.deprecated(x, weight, None, *shape, False, False, True), expected)
    assert tl.equal(aten._convolution(x, weight, None, *shape, False, False, True), expected)
    same = aten._convolution_mode(x, weight, None, [1, 1], "same", [1, 1], 1)
    assert tl.equal(same, tl.conv2d(x, weight, padding=1))


def test_rows_of_which_nothing_is_left_have_no_weights():
    x = tl.tensor([[0.0, -math.inf], [-math.inf, -math.inf]])
    assert aten._safe_softmax(x, 1).tolist() == [[1.0, 0.0], [0.0, 0.0]]
    assert aten._safe_softmax(x, 1, tl.float64).dtype == tl.float64


@pytest.mark.parametrize("helper, name", [("_cummax_helper", "cummax"), ("_cummin_helper", "cummin")])
def test_running_extremes_are_written(helper, name):
    values, indices = tl.empty_like(X), tl.empty(2, 3, dtype=tl.int64)
    assert getattr(aten, helper)(X, values, indices, 1) is None
    expected = getattr(tl, name)(X, 1)
    assert tl.equal(values, expected.values) and tl.equal(indices, expected.indices)


def test_what_is_asserted_holds():
    aten._assert_async(tl.tensor(True))
    with pytest.raises(RuntimeError, match="Expected Tensor with single nonzero value"):
        aten._assert_async(tl.tensor(0.0))
    with pytest.raises(RuntimeError, match="too long"):
        aten._assert_async.msg(tl.tensor(False), "too long")
    with pytest.raises(RuntimeError, match="too long"):
        aten._assert_async(tl.tensor(False), "too long")
    for several in (tl.ones(2), tl.ones(0)):
        with pytest.raises(RuntimeError, match="is ambiguous"):
            aten._assert_async(several)


def test_questions():
    assert aten.is_floating_point(X) and not aten.is_floating_point(WHOLE)
    assert aten.is_complex(tl.complex(X, Y)) and aten.is_signed(X) and not aten.is_signed(tl.tensor([True]))
    assert aten.is_nonzero(tl.tensor(2)) and aten.is_same_size(X, Y) and not aten.is_same_size(X, WHOLE)
    assert aten.is_set_to(X, X) and not aten.is_set_to(X, Y) and aten.is_leaf(X)
    assert (aten.output_nr(X), aten._version(tl.ones(1).add_(1)), aten.element_size(X)) == (0, 1, 8)
    assert (aten.get_device(X), aten.is_pinned(X)) == (-1, False)
    assert aten.result_type(X, WHOLE) == tl.float64 and aten.result_type(WHOLE, 1.5) == tl.float32
    assert aten.promote_types(tl.int32, tl.float16) == tl.float16 and not aten.can_cast(tl.float32, tl.int32)


def test_storages_are_set():
    x = tl.ones(2, dtype=tl.float64)
    assert aten.set_(x, Y) is x and x.data_ptr() == Y.data_ptr()
    aten.set_(x, Y.untyped_storage(), 1, [2], [3])
    assert x.tolist() == [Y[0, 1].item(), Y[1, 1].item()]
    assert aten.set_(x).shape == (0,)
    assert aten.requires_grad_(tl.ones(1), False).requires_grad is False


@pytest.mark.parametrize(
    "name, arguments",
    [("uniform", (2.0, 3.0)), ("exponential", (2.0,)), ("geometric", (0.5,)), ("cauchy", ()), ("log_normal", ()),
     ("random", (2, 9)), ("random", ())],
)  # fmt: skip
def test_random_numbers_go_to_a_copy(name, arguments):
    before = X.clone()
    samples = getattr(aten, name)(X, *arguments, generator=tl.Generator().manual_seed(3))
    expected = getattr(X.clone(), f"{name}_")(*arguments, generator=tl.Generator().manual_seed(3))
    assert tl.equal(samples, expected) and tl.equal(X, before) and not tl.equal(samples, before)


def test_sizes_change_in_a_copy():
    assert (
        aten.resize(X, [2, 2]).shape == (2, 2)
        and aten.resize_as(X, WHOLE).shape == (3,)
        and X.shape == (2, 3)
    )


def test_pinned_memory_needs_an_accelerator():
    for name in ("_pin_memory", "pin_memory"):
        with pytest.raises(RuntimeError, match="accelerator"):
            getattr(aten, name)(X)


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match="missing a required argument"):
        aten._stack()
    with pytest.raises(TypeError, match="too many positional arguments"):
        aten.is_signed(X, 1)
    with pytest.raises(AttributeError, match="has no attribute 'no_such_operator'"):
        getattr(aten, "no_such_operator")  # noqa: B009 - a statement that is a name is no call


def test_functions_are_operators_too():
    x = tl.randn(3, 4)
    assert aten._compute_linear_combination(x, tl.eye(3)).tolist() == x.tolist()
    assert aten._foreach_norm([x], 1)[0].item() == pytest.approx(x.abs().sum().item(), rel=1e-5)
    assert aten._transform_bias_rescale_qkv(tl.ones(1, 2, 12), tl.zeros(12), 2)[1].shape == (1, 2, 2, 2)
    hist, edges = aten.histogramdd(x[:, :2], [2, 3])
    assert hist.shape == (2, 3) and [len(edge) for edge in edges] == [3, 4]
    assert aten.histogramdd.int_bins(x[:, :2], 2)[0].sum().item() == 3.0
    nested = aten._nested_tensor_from_mask(x[None], tl.tensor([[True, True, False]]))
    assert aten._nested_from_padded_and_nested_example(x[None], nested).size(0) == 1
    assert aten._nested_tensor_from_mask_left_aligned(x[None], tl.tensor([[True, False, True]])) is False


@pytest.mark.parametrize("kind", ["coo", "csr", "csc", "bsr", "bsc"])
def test_sparse_tensors_of_their_parts(kind):
    dense = tl.tensor([[0.0, 2.0], [3.0, 0.0]])
    source = (
        dense.to_sparse_coo()
        if kind == "coo"
        else getattr(dense, f"to_sparse_{kind}")(*[(1, 1)] * (kind[0] == "b"))
    )
    names = {"coo": "", "csr": "crow col", "csc": "ccol row", "bsr": "crow col", "bsc": "ccol row"}[
        kind
    ].split()
    parts = [getattr(source, f"{name}_indices")() for name in names] or [source.indices()]
    overload = "indices" if kind == "coo" else f"{names[0]}_{names[1]}_value"
    packet = getattr(aten, f"sparse_{kind}_tensor")
    sized = getattr(packet, f"{overload}_size")(*parts, source.values(), [2, 2], dtype=tl.float64)
    assert sized.dtype is tl.float64 and sized.to_dense().tolist() == dense.tolist()
    assert (
        getattr(packet, overload)(*parts, source.values(), layout=source.layout).to_dense().tolist()
        == dense.tolist()
    )
    if kind != "coo":
        full = aten.sparse_compressed_tensor(*parts, source.values(), [2, 2], layout=source.layout)
        assert full.layout is source.layout
