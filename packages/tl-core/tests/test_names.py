"""Functions and methods of the flat namespace that belong to no larger family."""

import math

import pytest

import tl_core as tl
from tl_core.functions.lobpcg import lobpcg

np = pytest.importorskip("numpy", reason="the references are numpy's")

# ---- range, vander, renorm ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:range includes its end")
def test_range_includes_its_end():
    assert tl.range(1, 4).tolist() == [1, 2, 3, 4]
    assert tl.range(1, 4, 0.5).numel() == 7
    assert tl.range(4, 1, -1).tolist() == [4, 3, 2, 1]
    assert tl.range(0, 3, 2, dtype=tl.uint8).tolist() == [0, 2]
    assert tl.range(1, 4).dtype == tl.get_default_dtype()
    assert tl.range(1, 4, out=tl.empty(0)).tolist() == [1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="step must be nonzero"):
        tl.range(1, 4, 0)
    with pytest.raises(RuntimeError, match="inconsistent with step sign"):
        tl.range(4, 1)
    with pytest.raises(RuntimeError, match="unsupported range"):
        tl.range(1, math.inf)
    with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
        tl.range(1, 4, dtype=tl.complex64)


def test_range_warns():
    with pytest.warns(UserWarning, match="deprecated in favor of arange"):
        tl.range(1, 2)


@pytest.mark.parametrize("n", [None, 0, 1, 2, 5])
@pytest.mark.parametrize("increasing", [False, True])
def test_vander(n, increasing):
    x = [1.5, -2.0, 0.0]
    result = tl.vander(tl.tensor(x, dtype=tl.float64), n, increasing)
    np.testing.assert_allclose(result.numpy(), np.vander(np.array(x), n, increasing))


def test_vander_of_other_types_and_refusals():
    assert tl.vander(tl.tensor([True, False])).tolist() == [[1, 1], [0, 1]]
    assert tl.vander(tl.tensor([1, 2], dtype=tl.uint8)).dtype == tl.int64
    assert tl.vander(tl.empty(0), 3).shape == (0, 3)
    with pytest.raises(RuntimeError, match="one-dimensional"):
        tl.vander(tl.ones(2, 2))
    with pytest.raises(RuntimeError, match="N must be non-negative, got -1"):
        tl.vander(tl.ones(2), -1)


@pytest.mark.parametrize("p", [0.5, 1, 2, 3.5, math.inf])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", [tl.float16, tl.float32, tl.float64, tl.complex64])
def test_renorm_bounds_the_norm_of_slices(p, dim, dtype):
    x = tl.arange(-6, 18).reshape(2, 3, 4).to(dtype)
    result = tl.renorm(x, p, dim, 5)
    assert result.dtype == dtype
    for before, after in zip(x.unbind(dim), result.unbind(dim), strict=True):
        wide = before.to(tl.complex128 if dtype.is_complex else tl.float64).numpy().ravel()
        size = np.linalg.norm(wide, p)
        expected = wide * min(1, 5 / size)
        tolerance = 4e-3 if dtype == tl.float16 else 2e-6
        np.testing.assert_allclose(
            after.to(tl.complex128).numpy().ravel(), expected, rtol=tolerance, atol=tolerance
        )


def test_renorm_inplace_and_refusals():
    x = tl.full((2, 3), 2.0)
    assert x.renorm_(2, 0, 1) is x
    assert tl.allclose(x.norm(dim=1), tl.ones(2))
    for arguments, message in (
        ((0, 0, 5), "non-positive-norm not supported"), ((2, 0, -5), "maxnorm to be >= 0"),
        ((1j, 0, 5), "p must be real-valued"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=message):
            tl.renorm(x, *arguments)
    with pytest.raises(RuntimeError, match="at least 2 dimensions, got 1"):
        tl.renorm(tl.ones(3), 2, 0, 1)
    with pytest.raises(IndexError):
        tl.renorm(x, 2, 2, 1)


# ---- copies of views ---------------------------------------------------------------------------------------

X = tl.arange(24.0).reshape(2, 3, 4)
VIEWS = [
    ("alias_copy", (), X), ("as_strided_copy", ((2, 2), (1, 3), 1), X.as_strided((2, 2), (1, 3), 1)),
    ("detach_copy", (), X), ("diagonal_copy", (1, 0, 2), X.diagonal(1, 0, 2)),
    ("expand_copy", ((5, 2, 3, 4),), X.expand(5, 2, 3, 4)),
    ("narrow_copy", (2, 1, 2), X.narrow(2, 1, 2)), ("permute_copy", ((2, 0, 1),), X.permute(2, 0, 1)),
    ("select_copy", (1, 2), X.select(1, 2)), ("slice_copy", (2, 1, 4, 2), X[:, :, 1:4:2]), ("squeeze_copy", (), X),
    ("transpose_copy", (0, 2), X.transpose(0, 2)), ("unfold_copy", (2, 2, 1), X.unfold(2, 2, 1)),
    ("unsqueeze_copy", (1,), X.unsqueeze(1)), ("view_copy", ((6, 4),), X.view(6, 4)),
    ("view_copy", (tl.int32,), X.view(tl.int32)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"), VIEWS, ids=[f"{v[0]}-{i}" for i, v in enumerate(VIEWS)]
)
def test_copies_of_views(name, arguments, wanted):
    function = getattr(tl, name)
    result = function(X, *arguments)
    assert result.is_contiguous()
    assert result.data_ptr() != X.data_ptr()
    assert result.tolist() == wanted.tolist()
    out = tl.empty(0, dtype=wanted.dtype)
    assert function(X, *arguments, out=out) is out
    assert out.tolist() == wanted.tolist()


def test_copies_of_several_views():
    for name, arguments in (
        ("split_copy", (2, 2)),
        ("split_with_sizes_copy", ((1, 3), 2)),
        ("unbind_copy", (1,)),
    ):
        result = getattr(tl, name)(X, *arguments)
        expected = getattr(X, name.removesuffix("_copy"))(*arguments)
        assert [t.tolist() for t in result] == [t.tolist() for t in expected]
        assert all(t.is_contiguous() and t.untyped_storage().data_ptr() != X.data_ptr() for t in result)


def test_narrow_copy_refuses_what_narrow_refuses():
    with pytest.raises(RuntimeError, match="exceeds dimension size"):
        X.narrow_copy(2, 3, 2)
    assert X.narrow_copy(0, 1, 1).tolist() == X[1:].tolist()


# ---- histograms --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("limits", [None, [-1.0, 1.0, -2.0, 0.5, 0.0, 3.0]])
def test_histogramdd(density, weighted, limits):
    rng = np.random.default_rng(0)
    points, weight = rng.normal(size=(500, 3)), rng.uniform(size=500)
    pairs = None if limits is None else list(zip(limits[::2], limits[1::2], strict=True))
    reference, edges = np.histogramdd(points, [3, 4, 2], pairs, density, weight if weighted else None)
    result = tl.histogramdd(
        tl.from_numpy(points),
        [3, 4, 2],
        range=limits,
        weight=tl.from_numpy(weight) if weighted else None,
        density=density,
    )
    np.testing.assert_allclose(result.hist.numpy(), reference, rtol=1e-12)
    for output, expected in zip(result.bin_edges, edges, strict=True):
        np.testing.assert_allclose(output.numpy(), expected, rtol=1e-12)


def test_the_parts_of_histogramdd():
    points = np.random.default_rng(0).random((60, 2)).astype(np.float32)
    reference, edges = np.histogramdd(points, [3, 4])
    parts = tl._histogramdd_bin_edges(tl.tensor(points), [3, 4])
    assert [np.allclose(e.numpy(), r, rtol=1e-6) for e, r in zip(parts, edges, strict=True)] == [True, True]
    assert tl._histogramdd_from_bin_cts(tl.tensor(points), [3, 4]).tolist() == reference.tolist()
    assert tl._histogramdd_from_bin_tensors(tl.tensor(points), parts).tolist() == reference.tolist()
    assert tl.ops.aten.histogramdd.int_bins(tl.tensor(points), 3)[0].sum() == 60


def test_numbers_outside_every_interval_are_not_counted():
    points = tl.tensor([[math.nan, 0.5], [math.inf, 0.5], [0.5, -1.0], [0.5, 0.5]])
    assert tl.histogramdd(points, [tl.tensor([0.0, 1.0])] * 2).hist.tolist() == [[1.0]]


def test_histogramdd_by_edges():
    points = tl.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [9.0, 0.0]])
    edges = (tl.tensor([0.0, 1.0, 2.0]), tl.tensor([0.0, 2.0]))
    result = tl.histogramdd(points, edges)
    assert result.hist.tolist() == [[1], [2]]
    assert result.bin_edges[0].tolist() == [0, 1, 2]
    assert tl.histogramdd(points.reshape(2, 2, 2), 2).hist.sum() == 4
    assert tl.histogramdd(tl.ones(0, 2), [2, 2]).hist.tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tl.histogramdd(tl.ones(3), [2]), RuntimeError, "at least 2 dimensions"),
        (lambda: tl.histogramdd(tl.ones(3, 2), [2]), RuntimeError, "equal to the innermost dimension"),
        (
            lambda: tl.histogramdd(tl.ones(3, 2), [2, 0]),
            RuntimeError,
            "bins must be > 0, but got 0 for dimension 1",
        ),
        (
            lambda: tl.histogramdd(tl.ones(3, 2), 2, range=[0.0, 1.0]),
            RuntimeError,
            "should have 4 elements, but got 2",
        ),
        (
            lambda: tl.histogramdd(tl.ones(3, 2), 2, weight=tl.ones(2)),
            RuntimeError,
            "should have the same shape",
        ),
        (lambda: tl.histogramdd(tl.ones(3, 2).long(), 2), NotImplementedError, "not implemented for"),
        (lambda: tl.histogramdd(tl.full((3, 2), math.nan), 2), RuntimeError, "is not finite"),
        (lambda: tl.histogramdd(tl.ones(3, 2), 2.5), TypeError, "histogramdd"),
    ],
)
def test_histogramdd_refuses(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---- eigenvalues -------------------------------------------------------------------------------------------


def symmetric(n, seed=0):
    a = np.random.default_rng(seed).normal(size=(n, n))
    return tl.from_numpy(a + a.T)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("method", [None, "basic", "ortho"])
def test_lobpcg_finds_the_ends_of_the_spectrum(largest, method):
    a = symmetric(40)
    E, X = lobpcg(a, k=3, largest=largest, method=method, tol=1e-9)
    values = np.linalg.eigvalsh(a.numpy())
    np.testing.assert_allclose(E.numpy(), values[::-1][:3] if largest else values[:3], rtol=1e-9)
    np.testing.assert_allclose((a @ X).numpy(), (X * E).numpy(), atol=1e-6)


def test_lobpcg_with_a_second_matrix_batches_and_preconditioning():
    scipy_linalg = pytest.importorskip("scipy.linalg", reason="the generalized problem is scipy's")
    a, root = symmetric(30), symmetric(30, 1)
    b = root @ root.T + 30 * tl.eye(30, dtype=tl.float64)
    expected = scipy_linalg.eigh(a.numpy(), b.numpy(), eigvals_only=True)[:2]
    E, X = lobpcg(a, k=2, B=b, largest=False, tol=1e-9)
    np.testing.assert_allclose(E.numpy(), expected, rtol=1e-8)
    np.testing.assert_allclose((X.T @ b @ X).numpy(), np.eye(2), atol=1e-9)
    steep = tl.diag(tl.arange(1.0, 101.0, dtype=tl.float64))
    records = []
    E, _ = lobpcg(
        steep,
        k=1,
        largest=False,
        iK=steep.inverse(),
        tol=1e-10,
        tracker=lambda s: records.append(s.ivars["istep"]),
    )
    assert abs(float(E) - 1) < 1e-12
    assert records == list(range(len(records)))
    E, X = lobpcg(tl.stack([a, 2 * a]), k=2, tol=1e-9)
    assert X.shape == (2, 30, 2)
    np.testing.assert_allclose(E[1].numpy(), 2 * E[0].numpy(), rtol=1e-8)


def test_lobpcg_refuses():
    with pytest.raises(ValueError, match="smaller than 3 x the number of requested eigenpairs"):
        lobpcg(tl.eye(5), k=2)
    with pytest.raises(RuntimeError, match="A must be square"):
        lobpcg(tl.ones(2, 20), k=1)
    with pytest.raises(ValueError, match="method must be"):
        lobpcg(tl.eye(5), k=1, method="other")


# ---- files and methods -------- -------------------------------------------------------------------------------


def test_from_file(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(np.arange(4, dtype=np.int16).tobytes())
    assert tl.from_file(str(path), size=3, dtype=tl.int16).tolist() == [0, 1, 2]
    shared = tl.from_file(path, shared=True, size=4, dtype=tl.int16)
    shared += 1
    assert np.frombuffer(path.read_bytes(), np.int16).tolist() == [1, 2, 3, 4]
    apart = tl.from_file(path, False, 4, dtype=tl.int16)
    apart += 1
    assert np.frombuffer(path.read_bytes(), np.int16).tolist() == [1, 2, 3, 4]
    assert tl.from_file(path).shape == (0,)
    with pytest.raises(RuntimeError, match="smaller than the required mapping size"):
        tl.from_file(path, size=100)
    with pytest.raises(RuntimeError, match="must not be negative, got -1"):
        tl.from_file(path, size=-1)
    with pytest.raises(RuntimeError, match="cannot be pinned"):
        tl.from_file(path, size=1, pin_memory=True)
    with pytest.raises(RuntimeError, match="unable to open file"):
        tl.from_file(tmp_path / "missing", size=1)


def test_dim_order():
    x = tl.empty(2, 3, 4, 5)
    assert x.dim_order() == (0, 1, 2, 3)
    assert x.transpose(1, 3).dim_order() == (0, 3, 2, 1)
    assert x.to(memory_format=tl.channels_last).dim_order() == (0, 2, 3, 1)
    with pytest.raises(RuntimeError, match="unique dim order"):
        tl.ones(1, 1).dim_order(ambiguity_check=True)
    with pytest.raises(TypeError, match="ambiguity_check"):
        x.dim_order(ambiguity_check="yes")


def test_methods_that_only_other_devices_have():
    x = tl.ones(2)
    assert x.storage_type() is tl.FloatStorage
    for call, error in ((x.to_mkldnn, RuntimeError), (lambda: x.record_stream(None), NotImplementedError)):
        with pytest.raises(error):
            call()
