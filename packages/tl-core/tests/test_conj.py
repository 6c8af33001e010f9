"""Conjugates and negatives that are views: carried out when they are read. The table was made with the reference."""

import copy
import pickle

import pytest

import tl_core as tl
from tl_core import _C

np = pytest.importorskip("numpy", reason="the references are numpy's")


def given():
    x = tl.tensor([1 + 2j, 3 - 4j])
    c = x.conj()
    m = tl.tensor([[1 + 2j, 3j], [4.0, 5 - 1j]])
    return {"tl": tl, "x": x, "c": c, "n": c.imag, "m": m, "r": tl.tensor([1.0, 2.0]), "copy": copy}


def bits(t):
    return "conj" * t.is_conj() + "neg" * t.is_neg()


# An expression, its elements, and what is left to be done to those in memory.
READS = [
    ("c", [1 - 2j, 3 + 4j], "conj"),
    ("n", [-2.0, 4.0], "neg"),
    ("c.conj()", [1 + 2j, 3 - 4j], ""),
    ("c.real", [1.0, 3.0], ""),
    ("c.conj().imag", [2.0, -4.0], ""),
    ("tl._neg_view(x)", [-1 - 2j, -3 + 4j], "neg"),
    ("tl._neg_view(r)", [-1.0, -2.0], "neg"),
    ("tl._neg_view(tl._neg_view(r))", [1.0, 2.0], ""),
    ("tl._neg_view(c)", [-1 + 2j, -3 - 4j], "conjneg"),
    ("tl._neg_view(c).real", [-1.0, -3.0], "neg"),
    ("tl._neg_view(c).imag", [2.0, -4.0], ""),
    ("tl.view_as_real(tl._neg_view(x))", [[-1.0, -2.0], [-3.0, 4.0]], "neg"),
    ("tl.view_as_complex(tl._neg_view(tl.view_as_real(x)))", [-1 - 2j, -3 + 4j], "neg"),
    ("m.mH", [[1 - 2j, 4], [-3j, 5 + 1j]], "conj"),
    ("m.H", [[1 - 2j, 4], [-3j, 5 + 1j]], "conj"),
    ("m.adjoint()", [[1 - 2j, 4], [-3j, 5 + 1j]], "conj"),
    ("m.mH.mH", [[1 + 2j, 3j], [4, 5 - 1j]], ""),
    ("c[1]", 3 + 4j, "conj"),
    ("c[:1]", [1 - 2j], "conj"),
    ("c.view(2, 1)", [[1 - 2j], [3 + 4j]], "conj"),
    ("c.reshape(2, 1)", [[1 - 2j], [3 + 4j]], "conj"),
    ("c.unbind()[1]", 3 + 4j, "conj"),
    ("c.split(1)[1]", [3 + 4j], "conj"),
    ("c.chunk(2)[0]", [1 - 2j], "conj"),
    ("c.tensor_split(tl._neg_view(tl.tensor([-1])))[1]", [3 + 4j], "conj"),
    ("c.expand(2, 2)", [[1 - 2j, 3 + 4j]] * 2, "conj"),
    ("c.as_strided((1,), (1,), 1)", [3 + 4j], "conj"),
    ("c.unsqueeze_(0)", [[1 - 2j, 3 + 4j]], "conj"),
    ("c.t_()", [1 - 2j, 3 + 4j], "conj"),
    ("c.resize_(1)", [1 - 2j], "conj"),
    ("m.mH.diagonal()", [1 - 2j, 5 + 1j], "conj"),
    ("tl.atleast_2d(c)", [[1 - 2j, 3 + 4j]], "conj"),
    ("c.detach()", [1 - 2j, 3 + 4j], "conj"),
    ("c.data", [1 - 2j, 3 + 4j], "conj"),
    ("n.data", [-2.0, 4.0], "neg"),
    ("c.contiguous()", [1 - 2j, 3 + 4j], "conj"),
    ("c.to(tl.complex64)", [1 - 2j, 3 + 4j], "conj"),
    ("tl.as_tensor(c)", [1 - 2j, 3 + 4j], "conj"),
    ("copy.copy(c)", [1 - 2j, 3 + 4j], "conj"),
    ("c.set_(tl.tensor([1j, 2j]))", [-1j, -2j], "conj"),
    ("c.as_subclass(type('Sub', (tl.Tensor,), {}))", [1 - 2j, 3 + 4j], "conj"),
    # what makes memory of its own writes the elements out
    ("c.clone()", [1 - 2j, 3 + 4j], ""),
    ("n.clone()", [-2.0, 4.0], ""),
    ("copy.deepcopy(c)", [1 - 2j, 3 + 4j], ""),
    ("copy.deepcopy(n)", [-2.0, 4.0], ""),
    ("m.mH.contiguous()", [[1 - 2j, 4], [-3j, 5 + 1j]], ""),
    ("c.to(tl.complex128)", [1 - 2j, 3 + 4j], ""),
    ("n.double()", [-2.0, 4.0], ""),
    ("c.conj_physical()", [1 + 2j, 3 - 4j], ""),
    ("c.resolve_conj()", [1 - 2j, 3 + 4j], ""),
    ("n.resolve_neg()", [-2.0, 4.0], ""),
    ("tl._neg_view(c).resolve_conj()", [-1 + 2j, -3 - 4j], ""),
    ("tl.tensor(c)", [1 - 2j, 3 + 4j], ""),
    ("tl.tensor([c[0], 1j])", [1 - 2j, 1j], ""),
    ("tl.empty(0, dtype=tl.complex64).set_(c)", [1 + 2j, 3 - 4j], ""),
    ("tl.zeros_like(c)", [0, 0], ""),
    ("c.new_ones(1)", [1], ""),
    ("c[tl.tensor([1, 0])]", [3 + 4j, 1 - 2j], ""),
    ("c + 1", [2 - 2j, 4 + 4j], ""),
    ("c * c", [-3 - 4j, -7 + 24j], ""),
    ("-n", [2.0, -4.0], ""),
    ("c.to(tl.complex32).conj()", [1 + 2j, 3 - 4j], "conj"),
    ("c.abs() + n", [5**0.5 - 2, 9.0], ""),
    ("c.sum()", 4 + 2j, ""),
    ("n.max()", 4.0, ""),
    ("n.sort().values", [-2.0, 4.0], ""),
    ("m @ m.mH", [[14, 1 + 23j], [1 - 23j, 42]], ""),
    ("tl.dot(c, x)", 30, ""),
    ("tl.cat([c, x])", [1 - 2j, 3 + 4j, 1 + 2j, 3 - 4j], ""),
    ("tl.stack([n, r])", [[-2.0, 4.0], [1.0, 2.0]], ""),
    ("tl.where(tl.tensor([True, False]), c, x)", [1 - 2j, 3 - 4j], ""),
    ("tl.complex(n, r)", [-2 + 1j, 4 + 2j], ""),
    ("tl.einsum('i,i->', c, x)", 30, ""),
    ("tl._foreach_add([x, c], 1)[1]", [2 - 2j, 4 + 4j], ""),
    ("c.lerp(x, 0.5)", [1, 3], ""),
    ("m.mH.tril()", [[1 - 2j, 0], [-3j, 5 + 1j]], ""),
]  # fmt: skip

# What is written through a view, and the memory afterwards.
WRITES = [
    ("c.mul_(1j)", [2 - 1j, -4 - 3j]),
    ("c.__setitem__(0, 5 + 6j)", [5 - 6j, 3 - 4j]),
    ("n.mul_(3)", [1 + 6j, 3 - 12j]),
    ("n.__setitem__(0, 9)", [1 - 9j, 3 - 4j]),
    ("n.fill_(5)", [1 - 5j, 3 - 5j]),
    ("c.real.fill_(3)", [3 + 2j, 3 - 4j]),
    ("tl._neg_view(c).add_(1j)", [1 + 3j, 3 - 3j]),
    ("tl._neg_view(c).copy_(tl.tensor([1j, 2 + 1j]))", [1j, -2 + 1j]),
    ("c.copy_(tl.tensor([1j, 2j]))", [-1j, -2j]),
    ("c.copy_(x.clone())", [1 - 2j, 3 + 4j]),
    ("x.copy_(c)", [1 - 2j, 3 + 4j]),
    ("c.conj_physical_()", [1 - 2j, 3 + 4j]),
    ("c.zero_()", [0, 0]),
    ("c.fill_(1j)", [-1j, -1j]),
    ("c.index_put_((tl.tensor([0]),), tl.tensor(7j))", [-7j, 3 - 4j]),
    ("c.masked_fill_(tl.tensor([True, False]), 2j)", [-2j, 3 - 4j]),
    ("c.scatter_(0, tl.tensor([0]), tl.tensor([5j]))", [-5j, 3 - 4j]),
    ("c.index_add_(0, tl.tensor([0]), tl.tensor([1j]))", [1 + 1j, 3 - 4j]),
    ("c.addcmul_(x, x)", [-2 - 2j, -4 + 20j]),
    ("tl.add(x, 1, out=c)", [2 - 2j, 4 + 4j]),
    ("tl.add(c, 1, out=c)", [2 + 2j, 4 - 4j]),
    ("tl.add(r, 1, out=n)", [1 - 2j, 3 - 3j]),
    ("tl.conj_physical(x, out=c)", [1 + 2j, 3 - 4j]),
    ("tl._foreach_mul_([c], 2)", [2 + 4j, 6 - 8j]),
    ("tl._foreach_copy_([c], [tl.tensor([1j, 2j])])", [-1j, -2j]),
]

REFUSALS = [
    ("tl.view_as_real(c)", "unresolved conjugated"),
    ("c.view(tl.float32)", "conjugate view tensors"),
    ("n.view(tl.int32)", "negative bit"),
    ("c.numpy()", r"conjugate bit set. Use tensor.resolve_conj\(\).numpy"),
    ("n.numpy()", r"negative bit set. Use tensor.resolve_neg\(\).numpy"),
    ("c.__array__()", "conjugate bit set"),
    ("memoryview(n)", "negative bit set"),
    ("tl._conj(r)", "expected a complex tensor"),
    ("tl._neg_view(r == 1)", "bool"),
]


@pytest.mark.filterwarnings("ignore:To copy construct")
@pytest.mark.parametrize(("text", "elements", "expected"), READS, ids=[r[0] for r in READS])
def test_what_is_read(text, elements, expected):
    t = eval(text, given())
    assert bits(t) == expected
    assert t.shape == np.shape(elements) and np.allclose(t.tolist(), elements)
    if t.dtype != tl.complex32:  # numpy has no such type
        assert np.allclose(t.numpy(force=True), elements)


@pytest.mark.parametrize(("text", "memory"), WRITES, ids=[w[0] for w in WRITES])
def test_what_is_written(text, memory):
    names = given()
    before = names["x"]._version
    eval(text, names)
    assert np.allclose(names["x"].numpy(), memory)
    assert np.allclose(names["c"].resolve_conj().numpy(), np.conj(memory))
    assert names["x"]._version > before and names["c"]._version == names["x"]._version


@pytest.mark.parametrize(("text", "message"), REFUSALS, ids=[r[0] for r in REFUSALS])
def test_what_is_refused(text, message):
    with pytest.raises(RuntimeError, match=message):
        eval(text, given())


@pytest.mark.parametrize("text", ["c.__dlpack__()", "n.__dlpack__()"])
def test_marked_memory_is_not_exported(text):
    with pytest.raises(BufferError, match="bit set"):
        eval(text, given())


def test_views_share_memory_and_base():
    x = tl.tensor([[1 + 2j, 3 - 4j]])
    for view in (x.conj(), x.mH, x.conj().imag, x.conj().conj()):
        assert view._base is x and view.untyped_storage().data_ptr() == x.data_ptr()
    assert x.conj().data_ptr() == x.data_ptr() and x.conj().stride() == x.stride()


def test_real_tensors_come_back_as_they_are():
    r = tl.tensor([[1.0, 2.0]])
    assert r.conj() is r and tl.conj(r) is r and r.conj_physical() is r and r.resolve_conj() is r
    assert not r.mH.is_conj() and not tl.is_conj(r) and not tl.is_neg(r)


def test_comparisons_see_the_elements():
    names = given()
    x, c, n = names["x"], names["c"], names["n"]
    assert tl.equal(c, x.conj_physical()) and not tl.equal(c, x) and tl.equal(n, -x.imag)
    assert tl.allclose(c, x.conj_physical())
    assert c.is_set_to(c) and not c.is_set_to(x)


def test_numbers_and_texts():
    names = given()
    c, n = names["c"], names["n"]
    assert c[0].item() == 1 - 2j and complex(c[0]) == 1 - 2j and float(n[0]) == -2 and int(n[1]) == 4
    assert bool(c[0]) and [q.item() for q in c] == [1 - 2j, 3 + 4j]
    assert repr(c) == "tensor([1.-2.j, 3.+4.j])" and repr(n) == "tensor([-2.,  4.])"


def test_pickles_keep_the_bits():
    names = given()
    for t in (names["c"], names["n"], tl._neg_view(names["c"])):
        again = pickle.loads(pickle.dumps(t))
        assert bits(again) == bits(t) and again.tolist() == t.tolist()
    x, c = pickle.loads(pickle.dumps([names["x"], names["c"]]))
    assert x.tolist() == names["x"].tolist() and c.is_conj()


def test_other_processes_see_the_bits():
    from tl_core.multiprocessing.reductions import _reduce_tensor

    c = given()["c"]
    rebuild, arguments = _reduce_tensor(c)
    again = rebuild(*arguments)
    assert again.is_conj() and again.tolist() == c.tolist() and again.data_ptr() == c.data_ptr()


def test_data_is_exchanged_with_its_bits():
    x, c = tl.tensor([1j]), tl.tensor([2j]).conj()
    x.data = c
    assert x.is_conj() and x.tolist() == [-2j]
    x.data = tl.tensor([3j])
    assert not x.is_conj() and x.tolist() == [3j]


def test_the_meta_device_has_the_bits():
    t = tl.empty(2, 3, dtype=tl.complex64, device="meta")
    assert t.mH.is_conj() and t.mH.shape == (3, 2) and not (t.mH @ t).is_conj() and t.conj().imag.is_neg()


def test_data_counts_its_own_versions():
    x = tl.tensor([1j])
    data = x.conj().data
    data.mul_(2)
    assert x._version == 0 and data._version == 1 and x.tolist() == [2j]


def test_results_do_not_depend_on_the_bits():
    generator = tl.Generator().manual_seed(0)
    a = tl.randn(37, 29, dtype=tl.complex64, generator=generator)
    b = tl.randn(37, 29, dtype=tl.complex64, generator=generator)
    assert tl.equal(a.mH @ b, a.mH.resolve_conj() @ b)
    assert tl.equal((a.conj() * b).sum(), (a.conj_physical() * b).sum())


def test_bits_set_in_place():
    z = tl.tensor([1 + 2j])
    _C._set_conj(z, True)
    assert z.is_conj() and z.tolist() == [1 - 2j] and (z * 1j).tolist() == [2 + 1j]
    _C._set_conj(z, False)
    assert not z.is_conj() and z.tolist() == [1 + 2j]
    x = tl.tensor([3.0])
    _C._set_neg(x, True)
    assert x.is_neg() and x.tolist() == [-3.0] and (x + 1).tolist() == [-2.0]
    with pytest.raises(RuntimeError, match="expected a complex tensor"):
        _C._set_conj(x, True)
    with pytest.raises(RuntimeError, match="bool has no negative"):
        _C._set_neg(tl.tensor([True]), True)
