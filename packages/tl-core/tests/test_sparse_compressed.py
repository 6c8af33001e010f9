"""Compressed rows and columns: their parts, what has to hold of them, conversions, printing, pickles."""

import copy
import itertools
import pickle

import pytest

import tl_core as tl

numpy = pytest.importorskip("numpy")

LAYOUTS = (tl.sparse_csr, tl.sparse_csc, tl.sparse_bsr, tl.sparse_bsc)
ALL = (tl.sparse_coo, *LAYOUTS)
CONSTRUCTORS = {
    tl.sparse_csr: tl.sparse_csr_tensor,
    tl.sparse_csc: tl.sparse_csc_tensor,
    tl.sparse_bsr: tl.sparse_bsr_tensor,
    tl.sparse_bsc: tl.sparse_bsc_tensor,
}


def blocksize(layout, size=(2, 3)):
    return size if layout in (tl.sparse_bsr, tl.sparse_bsc) else None


def holed(*shape, seed=0, dtype="float64", density=0.4):
    rng = numpy.random.default_rng(seed)
    values = rng.integers(1, 9, shape) * (rng.random(shape) < density)
    return tl.from_numpy(values.astype(dtype))


def to(x, layout, size=(2, 3), **kwargs):
    return x.to_sparse(layout=layout, blocksize=blocksize(layout, size), **kwargs)


def indices(x):
    if x.layout in (tl.sparse_csr, tl.sparse_bsr):
        return x.crow_indices(), x.col_indices()
    return x.ccol_indices(), x.row_indices()


def test_the_parts_of_each_layout():
    for layout, construct in CONSTRUCTORS.items():
        blocks = blocksize(layout)
        values = tl.arange(1.0, 1.0 + 3 * (6 if blocks else 1)).reshape((3, 2, 3) if blocks else (3,))
        s = construct(tl.tensor([0, 1, 3]), tl.tensor([1, 0, 1]), values)
        assert s.layout is layout and s._nnz() == 3 and (s.sparse_dim(), s.dense_dim()) == (2, 0)
        assert s.shape == ((4, 6) if blocks else (2, 2))
        assert [i.tolist() for i in indices(s)] == [[0, 1, 3], [1, 0, 1]]
        assert tl.equal(s.values(), values) and s.values().data_ptr() == values.data_ptr()
        assert not s.is_sparse and s.is_sparse_csr == (layout is tl.sparse_csr)


def test_accessors_name_the_layout_they_need():
    csr, csc = holed(4, 6).to_sparse_csr(), holed(4, 6).to_sparse_csc()
    for x, name in ((csc, "crow_indices"), (csc, "col_indices"), (csr, "ccol_indices"), (csr, "row_indices")):
        kind = "row" if name in ("crow_indices", "col_indices") else "column"
        with pytest.raises(
            RuntimeError, match=f"{name} expected sparse {kind} compressed tensor layout but got"
        ):
            getattr(x, name)()
    for name in ("coalesce", "is_coalesced", "indices"):
        with pytest.raises(
            RuntimeError, match=f"{name} expected sparse coordinate tensor layout but got SparseCsr"
        ):
            getattr(csr, name)()


# ---- conversions --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("layout", ALL, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex128", "int8"])
def test_dense_to_sparse_and_back(layout, dtype):
    for shape in ((4, 6), (0, 6), (4, 0), (6, 9)):
        x = holed(*shape, dtype=dtype)
        s = to(x, layout)
        assert s.layout is layout and s.dtype is x.dtype and s.shape == x.shape
        assert tl.equal(s.to_dense(), x)


@pytest.mark.parametrize("name", ["csr", "csc"])
def test_the_indices_are_scipys(name):
    scipy = pytest.importorskip("scipy.sparse")
    x = holed(7, 5)
    expected = getattr(scipy, f"{name}_matrix")(x.numpy())
    result = to(x, getattr(tl, f"sparse_{name}"))
    assert [i.tolist() for i in indices(result)] == [expected.indptr.tolist(), expected.indices.tolist()]
    assert result.values().tolist() == expected.data.tolist()


def test_blocks_are_scipys():
    scipy = pytest.importorskip("scipy.sparse")
    x = holed(8, 9, density=0.1)
    expected = scipy.bsr_matrix(x.numpy(), blocksize=(2, 3))
    expected.sort_indices()
    result = x.to_sparse_bsr((2, 3))
    assert result.crow_indices().tolist() == expected.indptr.tolist()
    assert result.col_indices().tolist() == expected.indices.tolist()
    assert result.values().tolist() == expected.data.tolist()


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_batches_and_dense_dimensions(layout):
    x = holed(4, 6, density=0.5)
    batch = tl.stack([x, x * 2, x.flip(1) if layout in (tl.sparse_csr,) else x * 3]).reshape(3, 1, 4, 6)
    s = to(batch, layout)
    assert indices(s)[0].shape[:2] == (3, 1) and (s.sparse_dim(), s.dense_dim()) == (2, 0)
    assert tl.equal(s.to_dense(), batch)
    hybrid = to(holed(4, 6, 2), layout, dense_dim=1)
    assert hybrid.dense_dim() == 1 and hybrid.values().shape[-1] == 2
    assert tl.equal(hybrid.to_dense(), holed(4, 6, 2))


def test_a_batch_needs_equal_counts():
    x = tl.zeros(2, 2, 2)
    x[0, 0, 0] = 1
    with pytest.raises(RuntimeError, match="Expect the same number of specified elements per batch"):
        x.to_sparse_csr()


@pytest.mark.parametrize(("source", "target"), list(itertools.permutations(ALL, 2)), ids=str)
def test_between_the_layouts(source, target):
    x = holed(4, 6)
    s = to(x, source)
    refused = source in (tl.sparse_bsr, tl.sparse_bsc) and target in (tl.sparse_csr, tl.sparse_csc)
    if refused:
        with pytest.raises(RuntimeError, match="expected SparseCsr or SparseCsc layout but got SparseB"):
            to(s, target)
        return
    result = to(s, target)
    assert result.layout is target and tl.equal(result.to_dense(), x)
    if target is not tl.sparse_coo:
        tl.sparse_compressed_tensor(
            *indices(result), result.values(), result.shape, layout=target, check_invariants=True
        )
    else:
        assert result.is_coalesced()
    assert to(s, source) is s


def test_index_types_are_kept():
    s = holed(4, 6).to_sparse_csr()
    narrow = tl.sparse_csr_tensor(s.crow_indices().int(), s.col_indices().int(), s.values(), s.shape)
    for layout in (tl.sparse_csc, tl.sparse_bsr, tl.sparse_bsc):
        assert {i.dtype for i in indices(to(narrow, layout))} == {tl.int32}
    assert tl.equal(narrow.to_dense(), s.to_dense())


def test_conversions_that_are_refused():
    x = holed(4, 6)
    with pytest.raises(RuntimeError, match="must be divisible by given blocksize"):
        x.to_sparse_bsr((3, 3))
    with pytest.raises(RuntimeError, match="requires a blocksize"):
        x.to_sparse(layout=tl.sparse_bsr)
    with pytest.raises(RuntimeError, match="positive integers"):
        x.to_sparse_bsr((0, 2))
    with pytest.raises(RuntimeError, match="blocksize argument given is not supported"):
        x.to_sparse(layout=tl.sparse_csr, blocksize=(2, 2))
    with pytest.raises(RuntimeError, match=r"sparse_dim\(\)!=2 is not supported"):
        holed(2, 2, 2).to_sparse().to_sparse_csr()
    with pytest.raises(RuntimeError, match="blocksize changed"):
        x.to_sparse_bsr((2, 3)).to_sparse_bsr((1, 1))
    with pytest.raises(TypeError, match="either sparse_dim or layout"):
        x.to_sparse(1, layout=tl.sparse_csr)


# ---- invariants ---------------------------------------------------------------------------------------------
GOOD = {"crow_indices": [0, 1, 3], "col_indices": [1, 0, 1], "values": [1.0, 2.0, 3.0], "size": (2, 2)}
BAD = {
    "first": ({"crow_indices": [1, 1, 3]}, r"`crow_indices\[..., 0\] == 0` is not satisfied"),
    "last": ({"crow_indices": [0, 1, 2]}, r"`crow_indices\[..., -1\] == nnz` is not satisfied"),
    "falling": ({"crow_indices": [0, 4, 3], "size": (2, 2)}, "is not satisfied"),
    "negative": ({"col_indices": [-1, 0, 1]}, "`0 <= col_indices < ncols` is not satisfied"),
    "too large": ({"col_indices": [1, 0, 2]}, "`0 <= col_indices < ncols` is not satisfied"),
    "unsorted": ({"col_indices": [1, 1, 0]}, "sorted and distinct"),
    "twice": ({"col_indices": [1, 1, 1]}, "sorted and distinct"),
    "rows": ({"size": (3, 2)}, "crow_indices.shape.* must be equal to the number of nrows"),
    "count": ({"values": [1.0, 2.0]}, "must be equal to nnz"),
    "rank": ({"size": (2, 2, 2)}, "dimension"),
}


@pytest.mark.parametrize("case", BAD)
def test_parts_that_do_not_fit(case):
    change, message = BAD[case]
    with pytest.raises(RuntimeError, match=message):
        tl.sparse_csr_tensor(**{**GOOD, **change}, check_invariants=True)
    tl.sparse_csr_tensor(**GOOD, check_invariants=True)


@pytest.mark.parametrize("case", ["first", "last", "falling", "negative", "too large"])
def test_wrong_indices_read_nothing(case):
    """Without a look at them, operators that follow the indices raise."""
    s = tl.sparse_csr_tensor(**{**GOOD, **BAD[case][0]}, check_invariants=False)
    for use in (
        lambda: s.to_dense(),
        lambda: s @ tl.ones(2, 3),
        lambda: s @ tl.ones(2),
        lambda: s.to_sparse_coo(),
    ):
        with pytest.raises((RuntimeError, IndexError)):
            use()
    with pytest.raises((RuntimeError, IndexError)):
        tl.sparse.sampled_addmm(s, tl.ones(2, 2), tl.ones(2, 2))


def test_checks_are_switched():
    check = tl.sparse.check_sparse_tensor_invariants
    make = lambda: tl.sparse_csr_tensor([0, 1], [5], [1.0], (1, 2))  # noqa: E731
    assert not check.is_enabled()
    make()
    with check():
        with pytest.raises(RuntimeError, match="`0 <= col_indices < ncols`"):
            make()
        with check(False):
            make()
        assert check.is_enabled()
    with pytest.raises(RuntimeError, match="`0 <= col_indices < ncols`"):
        check(True)(make)()
    one = check()
    with one, pytest.raises(RuntimeError, match="already activated"), one:
        pass
    check.enable()
    try:
        with pytest.raises(RuntimeError, match="`0 <= col_indices < ncols`"):
            make()
    finally:
        check.disable()
    assert not check.is_enabled()


def test_arguments_that_are_refused():
    with pytest.raises(RuntimeError, match="expected a sparse compressed layout"):
        tl.sparse_compressed_tensor([0], [], [], layout=tl.sparse_coo)
    with pytest.raises(RuntimeError, match=r"same number of dimensions|at least one dimension"):
        tl.sparse_csr_tensor(tl.tensor([0, 1]), tl.tensor([[0]]), tl.tensor([1.0]), (1, 1))
    with pytest.raises(RuntimeError, match="negative"):
        tl.sparse_csr_tensor([0], [], [], (-1, 2))


# ---- texts, copies ------------------------------------------------------------------------------------------
def test_how_they_print():
    csr = tl.sparse_csr_tensor([0, 1, 3], [1, 0, 1], [1.0, 2.0, 3.0])
    assert repr(csr) == (
        "tensor(crow_indices=tensor([0, 1, 3]),\n       col_indices=tensor([1, 0, 1]),\n"
        "       values=tensor([1., 2., 3.]), size=(2, 2), nnz=3,\n       layout=torch.sparse_csr)"
    )
    csc = csr.to(tl.float64).to_sparse_csc()
    assert repr(csc) == (
        "tensor(ccol_indices=tensor([0, 1, 3]),\n       row_indices=tensor([1, 0, 1]),\n"
        "       values=tensor([2., 1., 3.]), size=(2, 2), nnz=3, dtype=torch.float64,\n"
        "       layout=torch.sparse_csc)"
    )


@pytest.mark.parametrize("layout", ALL, ids=str)
def test_copies_and_pickles(layout):
    s = to(holed(4, 6), layout)
    for result in (s.clone(), copy.copy(s), copy.deepcopy(s), pickle.loads(pickle.dumps(s)), s.detach()):
        assert result.layout is layout and tl.equal(result.to_dense(), s.to_dense())
    clone = s.clone()
    clone.values().mul_(2)
    assert not tl.equal(clone.to_dense(), s.to_dense())


def test_a_pickle_with_wrong_indices_is_refused():
    s = tl.sparse_csr_tensor([0, 1], [5], [1.0], (1, 2))
    with pytest.raises(RuntimeError, match="`0 <= col_indices < ncols`"):
        pickle.loads(pickle.dumps(s))


@pytest.mark.parametrize("layout", ALL, ids=str)
def test_meta(layout):
    s = to(holed(4, 6), layout).to("meta")
    assert s.is_meta and s.layout is layout and s.shape == (4, 6)
    assert "device='meta'" in repr(s) and tl.empty_like(s).is_meta and s.to_dense().is_meta


def test_what_stores_nothing():
    for layout in (tl.sparse_coo, tl.sparse_csr, tl.sparse_csc):
        for make in (tl.empty, tl.zeros):
            s = make(3, 4, layout=layout)
            assert s.layout is layout and s._nnz() == 0 and not s.to_dense().any()
    for layout in ALL:
        s = to(holed(4, 6), layout)
        assert tl.zeros_like(s)._nnz() == 0 and tl.zeros_like(s).layout is layout
        assert tl.zeros_like(s, layout=tl.strided).layout is tl.strided
        assert s.zero_() is s and s._nnz() == 0 and not s.to_dense().any()


@pytest.mark.parametrize("name", ["csr", "csc", "bsr", "bsc"])
def test_the_layout_may_be_named(name):
    make, layout = getattr(tl, f"sparse_{name}_tensor"), getattr(tl, f"sparse_{name}")
    values = tl.ones(2) if name[0] == "c" else tl.ones(2, 1, 1)
    assert make([0, 1, 2], [0, 1], values, (2, 2), layout=layout).layout is layout
    with pytest.raises(RuntimeError, match="layout must be"):
        make([0, 1, 2], [0, 1], values, (2, 2), layout=tl.strided)
