"""Joining, parting, turning and repeating against numpy, over element types and layouts; what they refuse."""

import itertools
import sys
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402
from tl_core.operators import packets as ops  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
import row_cases as r  # noqa: E402

DTYPES = ("bool", "uint8", "int16", "int64", "float32", "float64", "complex64", "complex128")


def layouts(shape, dtype, seed=0):
    """The same kind of input in several layouts."""
    rng = np.random.default_rng(seed)
    yield r.values(rng, shape, dtype)
    yield r.values(rng, shape[::-1], dtype).permute(*range(len(shape) - 1, -1, -1))
    yield r.values(rng, tuple(2 * n for n in shape), dtype)[tuple(slice(None, None, 2) for _ in shape)]
    yield r.values(rng, (1, *shape[1:]), dtype).expand(*shape)


def same(got, want):
    assert tuple(got.shape) == want.shape
    np.testing.assert_array_equal(got.numpy(), want)


# numpy's function, and the same of tensors.
TURNS = {
    "flip": (lambda a: np.flip(a, (0, 2)), lambda x: x.flip(0, 2)),
    "flip none": (lambda a: a, lambda x: tl.flip(x, [])),
    "fliplr": (np.fliplr, tl.fliplr),
    "flipud": (np.flipud, tl.flipud),
    "rot90": (lambda a: np.rot90(a, 1, (0, 2)), lambda x: tl.rot90(x, 1, (0, 2))),
    "rot90 back": (lambda a: np.rot90(a, -1, (1, 2)), lambda x: x.rot90(-1, (1, 2))),
    "rot180": (lambda a: np.rot90(a, 2), lambda x: x.rot90(2)),
    "rot360": (lambda a: a, lambda x: x.rot90(4)),
    "roll": (lambda a: np.roll(a, 2), lambda x: x.roll(2)),
    "roll dims": (lambda a: np.roll(a, (1, -7), (0, 2)), lambda x: tl.roll(x, (1, -7), (0, 2))),
    "tile": (lambda a: np.tile(a, (2, 1, 3)), lambda x: x.tile(2, 1, 3)),
    "tile short": (lambda a: np.tile(a, (2,)), lambda x: tl.tile(x, (2,))),
    "repeat": (lambda a: np.tile(a, (2, 1, 0, 3)), lambda x: x.repeat(2, 1, 0, 3)),
    "movedim": (lambda a: np.moveaxis(a, 0, -1), lambda x: x.movedim(0, -1)),
    "moveaxis": (lambda a: np.moveaxis(a, (0, 1), (-1, 0)), lambda x: tl.moveaxis(x, (0, 1), (-1, 0))),
    "ravel": (np.ravel, tl.ravel),
    "unflatten": (lambda a: a.reshape(3, 2, 2, 5), lambda x: x.unflatten(1, (2, -1))),
    "broadcast_to": (lambda a: np.broadcast_to(a, (2, 3, 4, 5)), lambda x: tl.broadcast_to(x, (2, 3, 4, 5))),
    "adjoint": (lambda a: a.swapaxes(-1, -2).conj(), tl.adjoint),
    "diagflat": (np.diagflat, tl.diagflat),
    "diag_embed": (
        lambda a: np.stack([[np.diag(v, 1) for v in m] for m in a]),
        lambda x: tl.diag_embed(x, 1),
    ),
}


@pytest.mark.parametrize("name", TURNS)
def test_turning_and_repeating(name):
    reference, call = TURNS[name]
    for dtype in DTYPES:
        for x in layouts((3, 4, 5), dtype):
            same(call(x).resolve_conj(), reference(x.numpy()))
            assert tuple(call(x.to("meta")).shape) == reference(x.numpy()).shape


def test_a_flip_keeps_the_layout_and_takes_every_type():
    x = tl.arange(24).reshape(4, 6).t()
    assert x.flip(0).stride() == x.stride()
    for dtype in (tl.float16, tl.bfloat16, tl.uint32):
        assert tl.arange(5).to(dtype).flip(0).tolist() == [4, 3, 2, 1, 0]
    assert tl.empty(0, 3).flip(0, 1).shape == (0, 3) and tl.tensor(2).flip([]).item() == 2
    big = tl.arange(300_000)
    assert tl.equal(big.flip(0), 299_999 - big)


JOINS = {
    "hstack": (np.hstack, tl.hstack),
    "vstack": (np.vstack, tl.vstack),
    "row_stack": (np.vstack, tl.row_stack),
    "dstack": (np.dstack, tl.dstack),
    "column_stack": (np.column_stack, tl.column_stack),
}


@pytest.mark.parametrize("name", JOINS)
def test_stacking(name):
    reference, call = JOINS[name]
    for shape in ((), (3,), (2, 3), (2, 3, 4)):
        for dtype in DTYPES:
            rng = np.random.default_rng(1)
            parts = [r.values(rng, shape, dtype) for _ in range(3)]
            want = reference([p.numpy() for p in parts])
            same(call(parts), want)
            out = tl.empty(0, dtype=parts[0].dtype)
            assert call(parts, out=out) is out
            same(out, want)
    with pytest.raises(RuntimeError, match="non-empty TensorList"):
        call([])


@pytest.mark.parametrize("name, dim, least", [("hsplit", 1, 1), ("vsplit", 0, 2), ("dsplit", 2, 3)])
def test_splitting_by_name(name, dim, least):
    x = tl.arange(4 * 6 * 8).reshape(4, 6, 8)
    call, reference = getattr(tl, name), getattr(np, name)
    for how in (2, [1, 3], [3, 2, 100]):
        for result, want in zip(call(x, how), reference(x.numpy(), how), strict=True):
            same(result, want)
    assert call(x, 2)[0].untyped_storage().data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match=f"{name} attempted to split along dimension {dim}"):
        call(x, 5)
    with pytest.raises(RuntimeError, match=f"{name} requires a tensor with at least {least}"):
        call(tl.ones((2,) * (least - 1)), 1)
    assert [p.tolist() for p in tl.hsplit(tl.arange(4), 2)] == [[0, 1], [2, 3]]


def test_tensor_split():
    x = tl.arange(14).reshape(2, 7)
    for how in (3, 7, 9, [2, 5], [], [-3, -1], [5, 2]):
        result, want = x.tensor_split(how, dim=1), np.array_split(x.numpy(), how, axis=1)
        for a, b in zip(result, want, strict=True):
            same(a, b)
    assert [p.shape for p in tl.tensor_split(x, tl.tensor([2, 5]), 1)] == [(2, 2), (2, 3), (2, 2)]
    assert len(x.tensor_split(tl.tensor(4), 1)) == 4
    for how, message in ((0, "larger than 0, got 0"), (tl.tensor([1.0]), "dtype of long, but got Float")):
        with pytest.raises(RuntimeError, match=message):
            x.tensor_split(how, 1)
    with pytest.raises(RuntimeError, match="at least a 1-dimensional tensor"):
        tl.tensor(1).tensor_split(2)
    with pytest.raises(RuntimeError, match="cannot split into"):
        tl.arange(3).tensor_split(2**40)


def test_unsafe_pieces_are_no_views_to_autograd():
    x = tl.arange(7)
    for pieces in (tl.unsafe_split(x, 3), x.unsafe_split_with_sizes([3, 3, 1]), tl.unsafe_chunk(x, 3)):
        assert [p.tolist() for p in pieces] == [[0, 1, 2], [3, 4, 5], [6]]
        assert all(p._base is None and p.untyped_storage().data_ptr() == x.data_ptr() for p in pieces)


@pytest.mark.filterwarnings("ignore:torch.meshgrid")
def test_grids_and_products():
    a, b, c = tl.tensor([1, 2]), tl.tensor([3, 4, 5]), tl.tensor(6)
    for indexing in ("ij", "xy"):
        want = np.meshgrid(a.numpy(), b.numpy(), c.numpy(), indexing=indexing)
        for result, one in zip(tl.meshgrid(a, b, c, indexing=indexing), want, strict=True):
            same(result, one)
    assert tl.meshgrid([a, b])[0].tolist() == [[1, 1, 1], [2, 2, 2]]
    assert tl.cartesian_prod(a, b).tolist() == [list(p) for p in itertools.product([1, 2], [3, 4, 5])]
    assert tl.cartesian_prod(a) is a
    for again, function in ((False, itertools.combinations), (True, itertools.combinations_with_replacement)):
        for k in (1, 2, 3, 5):
            want = [list(p) for p in function(range(4), k)]
            assert tl.combinations(tl.arange(4), k, again).tolist() == want
    assert tl.combinations(tl.arange(3), 0).shape == (0,)
    assert tl.combinations(tl.arange(3), 5).shape == (0, 5)
    with pytest.raises(RuntimeError, match="too many of 500 out of 1000"):
        tl.combinations(tl.arange(1000), 500)
    with pytest.raises(RuntimeError, match="too many of"):
        tl.combinations(tl.arange(2), 2**62, True)
    assert tl.combinations(tl.arange(1), 4, True).tolist() == [[0, 0, 0, 0]]
    with pytest.raises(RuntimeError, match='must be one of "xy" or "ij", but received: yx'):
        tl.meshgrid(a, b, indexing="yx")
    with pytest.raises(RuntimeError, match="same dtype, but got"):
        tl.meshgrid(a, tl.ones(2))


def test_block_diag():
    linalg = pytest.importorskip("scipy.linalg", reason="the reference of block_diag is scipy's")
    blocks = [tl.tensor([[1, 2], [3, 4]]), tl.tensor([5, 6, 7]), tl.tensor(8), tl.empty(0, 2, dtype=tl.int64)]
    same(tl.block_diag(*blocks), linalg.block_diag(*[b.numpy() for b in blocks]))
    assert tl.block_diag(tl.tensor([1]), tl.tensor([0.5])).dtype == tl.float32
    with pytest.raises(RuntimeError, match="Input 1 has 3 dimensions"):
        tl.block_diag(tl.ones(2), tl.ones(1, 2, 3))


def test_dimensions_at_least():
    for n, reference in ((1, np.atleast_1d), (2, np.atleast_2d), (3, np.atleast_3d)):
        call = getattr(tl, f"atleast_{n}d")
        for shape in ((), (2,), (2, 3), (2, 3, 4), (2, 3, 4, 5)):
            x = tl.arange(int(np.prod(shape))).reshape(shape)
            same(call(x), reference(x.numpy()))
        assert isinstance(call(tl.tensor(1), tl.ones(2)), tuple) and len(call([tl.tensor(1)])) == 1


def test_kron_cross_trace_diag():
    for dtype in DTYPES[1:]:
        for x in layouts((3, 4), dtype):
            a, y = x.numpy(), r.values(np.random.default_rng(5), (2, 1, 2), dtype)
            np.testing.assert_allclose(tl.kron(x, y).numpy(), np.kron(a, y.numpy()), rtol=1e-6)
            same(x.diag(1), np.diag(a, 1))
            assert x.trace().item() == pytest.approx(np.trace(a), rel=1e-6)
    same(tl.tensor([1, 2]).diag(-1), np.diag([1, 2], -1))
    assert tl.ones(2, 2).diag()._base is None
    a, b = np.random.default_rng(0).normal(size=(2, 4, 3))
    np.testing.assert_allclose(tl.cross(tl.tensor(a), tl.tensor(b)).numpy(), np.cross(a, b))
    np.testing.assert_allclose(
        ops.aten.linalg_cross(tl.tensor(a), tl.tensor(b[:1])).numpy(), np.cross(a, b[:1])
    )
    out = tl.tensor(a)
    np.testing.assert_allclose(tl.cross(out, tl.tensor(b), out=out).numpy(), np.cross(a, b))
    for call, message in (
        (lambda: tl.cross(tl.ones(2, 2), tl.ones(2, 2)), "no dimension of size 3"),
        (lambda: tl.cross(tl.ones(3), tl.ones(2, 3)), "same number of dimensions"),
        (lambda: tl.ones(3).trace(), "expected a matrix"),
        (lambda: tl.ones(2, 2, 2).diag(), "Supports 1D or 2D tensors. Got 3D"),
        (lambda: tl.diag_embed(tl.ones(2), 2**63 - 1), "offset 9223372036854775807 is too large"),
        (lambda: tl.kron(tl.ones(1).expand(2**40), tl.ones(1).expand(2**40)), "does not fit"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()


@pytest.mark.parametrize("shape", [(3, 3), (3, 5), (7, 2), (9, 3), (3, 3, 3)])
def test_filling_a_diagonal(shape):
    for wrap in (False, True):
        want = np.zeros(shape)
        np.fill_diagonal(want, 5, wrap)
        same(tl.zeros(shape, dtype=tl.float64).fill_diagonal_(5, wrap), want)
        transposed = tl.zeros(shape[::-1], dtype=tl.float64).permute(*range(len(shape) - 1, -1, -1))
        same(transposed.fill_diagonal_(5, wrap), want)
    with pytest.raises(RuntimeError, match="dimensions must larger than 1"):
        tl.zeros(3).fill_diagonal_(1)
    with pytest.raises(RuntimeError, match="equal length"):
        tl.zeros(2, 3, 2).fill_diagonal_(1)


@pytest.mark.parametrize("offset", [0, 1, -2, 5, -5, 2**63 - 1, -(2**63)])
def test_positions_in_triangles(offset):
    bounded = max(min(offset, 100), -100)
    for rows, columns in ((3, 4), (4, 3), (0, 2), (2, 0)):
        for call, reference in ((tl.tril_indices, np.tril_indices), (tl.triu_indices, np.triu_indices)):
            want = np.array(reference(rows, bounded, columns)).reshape(2, -1)
            same(call(rows, columns, offset), want)
    assert tl.tril_indices(2, 2, dtype=tl.int32).dtype == tl.int32
    assert tl.tril_indices(2**62, 0).shape == tl.triu_indices(2**62, 3, 5).shape == (2, 0)
    assert tl.triu_indices(2**62, 2).tolist() == [[0, 0, 1], [0, 1, 1]]
    for call in (tl.tril_indices, tl.triu_indices):
        with pytest.raises(RuntimeError, match="too many elements"):
            call(2**62, 2**62)


@pytest.mark.parametrize("base", [2.0, -2.0])
def test_complex_powers(base):
    ends = 0.5 - 1j, 2 + 3j
    expected = np.power(complex(base), np.linspace(*ends, 5))
    np.testing.assert_allclose(tl.logspace(*ends, 5, base=base, dtype=tl.complex128).numpy(), expected)
    assert tl.logspace(complex("nan"), 1j, 3, base=base).isnan().all()


def test_logspace_and_ends_as_tensors():
    np.testing.assert_allclose(tl.logspace(-2, 3, 11, dtype=tl.float64).numpy(), np.logspace(-2, 3, 11))
    np.testing.assert_allclose(tl.logspace(0, 4, 5, base=2).numpy(), [1, 2, 4, 8, 16])
    assert tl.logspace(0, 3, 4, dtype=tl.int64).tolist() == [1, 10, 100, 1000]
    assert tl.logspace(1.5, 4.3, 3, base=2, dtype=tl.int64).tolist() == [2, 5, 16]
    want = np.logspace(1 + 1j, 2 - 1j, 5)
    np.testing.assert_allclose(tl.logspace(1 + 1j, 2 - 1j, 5, dtype=tl.complex128).numpy(), want)
    for start, end in ((tl.tensor(1), tl.tensor(3)), (1, tl.tensor(3.0)), (tl.tensor(1), 3)):
        assert tl.linspace(start, end, 3).tolist() == [1, 2, 3]
        assert tl.logspace(start, end, 3).tolist() == [10, 100, 1000]
    with pytest.raises(RuntimeError, match="only supports 0-dimensional start and end tensors"):
        tl.linspace(tl.ones(2), 3, 2)


def test_strides_asked_for():
    x = tl.empty_permuted((2, 3, 5), (0, 2, 1))
    assert x.stride() == (15, 1, 3)
    assert tl.ones(1, dtype=tl.int8).new_empty_strided((2, 3), (1, 2)).dtype == tl.int8
    for layout, message in (
        ((0, 1), "len.size. = 3"),
        ((0, 1, 3), "but got 3 at index 2"),
        ((0, 1, 1), "Duplicate"),
    ):
        with pytest.raises(RuntimeError, match=message):
            tl.empty_permuted((2, 3, 5), layout)
    template = tl.empty(2, 3, 4, 5).to(memory_format=tl.channels_last)
    assert (
        tl.resize_as_(tl.empty(1), template, memory_format=tl.preserve_format).stride() == template.stride()
    )


@pytest.mark.parametrize("memory_format", [tl.channels_last, tl.contiguous_format, tl.preserve_format])
def test_a_stretched_tensor_gets_room_for_all_elements_when_it_is_laid_out_anew(memory_format):
    expected = tl.arange(120.0).reshape(2, 3, 4, 5)
    x = tl.zeros(1).expand(2, 3, 4, 5).resize_as_(expected, memory_format=memory_format)
    assert x.untyped_storage().nbytes() == 120 * 4
    assert tl.equal(x.copy_(expected), expected)


def test_as_strided_scatter():
    x = tl.arange(12.0).reshape(3, 4)
    result = tl.as_strided_scatter(x, tl.full((2, 2), -1.0), (2, 2), (5, 1), 2)
    want = x.numpy().copy().reshape(-1)
    want[[2, 3, 7, 8]] = -1
    same(result, want.reshape(3, 4))
    part = x[1:]
    assert tl.as_strided_scatter(part, tl.zeros(1), (1,), (1,)).tolist()[0][0] == 0
    with pytest.raises(RuntimeError, match="size equal to the slice"):
        tl.as_strided_scatter(x, tl.zeros(3), (2, 2), (1, 1))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: x.flip(0, 0), RuntimeError, "appears multiple times"),
        (lambda x: x.flip(4), IndexError, "Dimension out of range"),
        (lambda x: x.rot90(1, (0, 0)), RuntimeError, "rotation dims to be different"),
        (lambda x: x.roll((1, 2), 0), RuntimeError, "shifts: 2, dims:1"),
        (lambda x: x.repeat(2), RuntimeError, "can not be smaller"),
        (lambda x: x.repeat(2, -1), RuntimeError, "negative dimension -1"),
        (lambda x: x.repeat(2**62, 2**62), RuntimeError, "."),
        (lambda x: x.movedim((0, 1), (1,)), RuntimeError, "same number of dims"),
        (lambda x: x.movedim((0, 0), (0, 1)), RuntimeError, "repeated dim in `source`"),
        (lambda x: x.unflatten(1, (2, 2)), RuntimeError, "don't multiply up to the size of dim 1"),
        (lambda x: x.unflatten(1, (2**40, 2**40)), RuntimeError, "don't multiply up"),
        (lambda x: tl.broadcast_tensors(x, tl.ones(2)), RuntimeError, "must match"),
        (lambda x: tl.broadcast_shapes((2, 3), (2,)), RuntimeError, "must match"),
        (lambda x: tl.broadcast_shapes((2, -1)), RuntimeError, "negative dimension"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(tl.ones(2, 3))
