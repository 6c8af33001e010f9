"""What the operators of the language take on either side, and what functions take for integers and keywords."""

import operator
from decimal import Decimal
from fractions import Fraction

import pytest

import tl_core as tl
import tl_core.linalg
import tl_core.special

np = pytest.importorskip("numpy")
NUMBERS = [2, 2.5, True, 1j, Fraction(1, 2), Decimal(2), np.float32(2), np.int64(2), np.bool_(True)]
OTHERS = [None, "a", b"a", [1.0, 2.0, 3.0], (1, 2, 3), {}, slice(2), int, tl.float32, ...]
LAYOUTS = {
    "dense": lambda: tl.ones(3),
    "integers": lambda: tl.arange(3),
    "of no dimension": lambda: tl.tensor(2.0),
    "complex": lambda: tl.ones(3, dtype=tl.complex64).conj(),
    "half": lambda: tl.ones(3).bfloat16(),
    "meta": lambda: tl.ones(3, device="meta"),
    "sparse": lambda: tl.eye(3).to_sparse(),
    "compressed": lambda: tl.eye(3).to_sparse_csr(),
    "stored only": lambda: tl.ones(3).to(tl.float8_e4m3fn),
    "empty": lambda: tl.empty(0),
}


@pytest.mark.parametrize("other", [*NUMBERS, *OTHERS], ids=repr)
@pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)
def test_a_matrix_product_takes_tensors_only(make, other):
    x = make()
    for call in (
        lambda: x @ other,
        lambda: other @ x,
        lambda: operator.imatmul(x, other),
        lambda: tl.matmul(x, other),
        lambda: x.matmul(other),
    ):
        with pytest.raises(TypeError, match=r"unsupported operand|must be Tensor"):
            call()
    assert x.__matmul__(other) is NotImplemented and x.__rmatmul__(other) is NotImplemented


@pytest.mark.parametrize("other", OTHERS, ids=repr)
@pytest.mark.parametrize(
    "call",
    [operator.add, operator.sub, operator.truediv, operator.floordiv, operator.pow, operator.and_, operator.or_,
     operator.xor, operator.lshift, operator.rshift, operator.iadd, operator.ipow, operator.ilshift],
)  # fmt: skip
def test_what_is_no_number_is_refused(call, other):
    with pytest.raises(TypeError):
        call(tl.arange(3), other)


def test_a_power_has_no_modulus():
    for base, exponent in ((tl.arange(3), 2), (2, tl.arange(3))):
        with pytest.raises(TypeError, match="unsupported operand"):
            pow(base, exponent, 3)


X = tl.arange(24.0).reshape(2, 3, 4)
ONE = {"(1,)": tl.tensor([1]), "(1, 1)": tl.tensor([[1]]), "int32": tl.tensor([1], dtype=tl.int32)}
TAKES_ONE = {
    "a dimension in a list": lambda i: X.sum(dim=i).shape == (2, 4),
    "select": lambda i: X.select(0, i).shape == (3, 4),
    "narrow": lambda i: X.narrow(0, 0, i).shape == (1, 3, 4),
    "zeros": lambda i: tl.zeros(i, i).shape == (1, 1),
    "a list of sizes": lambda i: tl.zeros([i, 2]).shape == (1, 2),
    "view": lambda i: X.view(i, 24).shape == (1, 24),
    "expand": lambda i: X.expand(i, 2, 3, 4).shape == (1, 2, 3, 4),
    "permute": lambda i: X.permute(i, 0, 2).shape == (3, 2, 4),
    "split": lambda i: len(X.split(i)) == 2,
    "roll": lambda i: X.roll(i, 0).shape == X.shape,
    "repeat": lambda i: X.repeat(i, 1, 1).shape == X.shape,
    "topk": lambda i: X.topk(i)[0].shape == (2, 3, 1),
    "kthvalue": lambda i: X.kthvalue(i)[0].shape == (2, 3),
    "eye": lambda i: tl.eye(i).shape == (1, 1),
    "triu": lambda i: X[0].triu(i).shape == (3, 4),
    "as_strided": lambda i: X.as_strided((i,), (i,), i).shape == (1,),
    "range": lambda i: list(range(i)) == [0],
    "a list of Python": lambda i: [1, 2][i] == 2,
}


@pytest.mark.parametrize("one", ONE.values(), ids=ONE)
@pytest.mark.parametrize("takes", TAKES_ONE.values(), ids=TAKES_ONE)
def test_an_integer_of_one_element_is_a_size_or_an_index(takes, one):
    assert takes(one)


@pytest.mark.parametrize("one", ONE.values(), ids=ONE)
@pytest.mark.parametrize(
    "call",
    [lambda i: X.cumsum(i), lambda i: X.unsqueeze(i), lambda i: tl.cat([X, X], i), lambda i: X.transpose(0, i),
     lambda i: X.chunk(i), lambda i: tl.stack([X], i)],
)  # fmt: skip
def test_a_dimension_or_a_count_has_no_dimension(call, one):
    with pytest.raises(TypeError, match="must be int"):
        call(one)
    assert call(one.reshape(())) is not None


S = X[0, :, :3] @ X[0, :, :3].t() + 9 * tl.eye(3)
KEYWORDS = {
    "split": lambda: tl.split(tensor=X, split_size_or_sections=2)[0],
    "split in sizes": lambda: tl.split(X, split_size_or_sections=[1, 2], dim=1)[1],
    "tensor_split": lambda: tl.tensor_split(X, indices_or_sections=2)[0],
    "hsplit": lambda: tl.hsplit(X, indices_or_sections=3)[0],
    "broadcast_to": lambda: tl.broadcast_to(X, shape=(1, 2, 3, 4)),
    "eigvalsh": lambda: tl.linalg.eigvalsh(input=S),
    "eigh": lambda: tl.linalg.eigh(input=S)[0],
    "cond": lambda: tl.linalg.cond(input=S),
    "matrix_norm": lambda: tl.linalg.matrix_norm(input=S),
    "matrix_rank": lambda: tl.linalg.matrix_rank(input=S),
    "norm": lambda: tl.linalg.norm(input=S),
    "pinv": lambda: tl.linalg.pinv(input=S),
    "bessel": lambda: tl.special.modified_bessel_k0(input=S),
    "type_as": lambda: X.type_as(other=S),
    "copy_": lambda: X.clone().copy_(other=X),
    "narrow_copy": lambda: X.narrow_copy(dim=0, start=0, length=1),
    "smm": lambda: tl.smm(S.to_sparse(), mat2=S).to_dense(),
}


@pytest.mark.parametrize("call", KEYWORDS.values(), ids=KEYWORDS)
def test_keywords_of_pytorch(call):
    assert call().numel() > 0


SEVERAL = {
    "slogdet": lambda out: tl.linalg.slogdet(S, out=out),
    "eigh": lambda out: tl.linalg.eigh(S, out=out),
    "inv_ex": lambda out: tl.linalg.inv_ex(S, out=out),
    "geqrf": lambda out: tl.geqrf(S, out=out),
    "frexp": lambda out: tl.frexp(S, out=out),
    "sort": lambda out: tl.sort(S, out=out),
    "topk": lambda out: tl.topk(S, 1, out=out),
    "aminmax": lambda out: tl.aminmax(S, out=out),
}


@pytest.mark.parametrize("call", SEVERAL.values(), ids=SEVERAL)
def test_out_of_several_results_is_a_tuple(call):
    """What is iterable has rows or items that live no longer than the iteration."""
    for out in (tl.empty(2, 3), (tl.empty(0) for _ in range(2)), {"a": 1, "b": 2}, "ab", range(2)):
        with pytest.raises(TypeError, match=r"must be (a )?tuple of Tensors"):
            call(out)
    with pytest.raises(TypeError, match=r"out|Tensor"):
        call((tl.empty(0), 1))


@pytest.mark.parametrize(
    "call",
    [lambda x: list(x), lambda x: x.unbind(), lambda x: x.split(1), lambda x: x.chunk(2**40),
     lambda x: x[:0].chunk(2**40), lambda x: x.tensor_split(2**40), lambda x: max(x)],
)  # fmt: skip
def test_more_pieces_than_a_list_holds(call):
    with pytest.raises(RuntimeError, match=r"cannot split into \d+ pieces"):
        call(tl.empty(2**40, device="meta"))


BOOL_DIFFERENCES = [
    "t - 1",
    "1 - t",
    "t - 1.0",
    "tl.sub(t, 1)",
    "tl.rsub(t, 1)",
    "t - tl.tensor([1])",
    "tl.tensor([1.0]) - t",
    "tl.tensor([1]) - True",
    "tl.tensor([1]).sub_(t)",
    "tl.sub(tl.tensor([1]), t, alpha=2)",
]


@pytest.mark.parametrize("text", BOOL_DIFFERENCES)
def test_a_difference_takes_no_bool_whatever_the_other_operand_is(text):
    with pytest.raises(
        RuntimeError, match="Subtraction, the `-` operator, with a bool tensor is not supported"
    ):
        eval(text, {"tl": tl, "t": tl.tensor([True])})


@pytest.mark.parametrize("dtype", [tl.bool, tl.int8, tl.float16, tl.float64, tl.complex64])
def test_copy_takes_a_number(dtype):
    x = tl.zeros(2, 3, dtype=dtype)
    assert x.copy_(True) is x and x.tolist() == tl.ones(2, 3, dtype=dtype).tolist()
    assert tl.zeros((), dtype=dtype).copy_(2.5).item() == tl.tensor(2.5).to(dtype).item()


def test_nextafter_promotes_its_operands():
    one = tl.ones(2)
    assert tl.nextafter(one, tl.full((2,), 2.0, dtype=tl.float64)).dtype == tl.float64
    assert tl.nextafter(one, tl.tensor(2.0, dtype=tl.float64)).dtype == tl.float32
    assert tl.nextafter(one.half(), tl.full((2,), 2)).dtype == tl.float16


def test_masks_are_compared_within_tolerances():
    mask, inverse = tl.tensor([True, False]), tl.tensor([False, False])
    assert tl.allclose(mask, mask) and tl.isclose(mask, inverse).tolist() == [False, True]
