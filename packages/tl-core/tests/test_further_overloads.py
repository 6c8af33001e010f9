"""Overloads of aten beside rows: functions of numbers of Python, lists with tensors of factors, products in a dtype."""

import math
import pickle

import pytest

import tl_core as tl
from tl_core.operators import number_functions, tensor_overloads
from tl_core.operators.packets import aten

ROWS = [*number_functions.rows(), *tensor_overloads.rows()]


def operator_of(full):
    name, _, overload = full.partition(".")
    return getattr(getattr(aten, name), overload or "default")


def test_every_one_has_a_schema():
    for full in ROWS:
        op = operator_of(full)
        assert op.name() == f"aten::{full}" and str(op._schema).startswith(f"aten::{full}(")
        assert op._overloadname in op.overloadpacket.overloads() and pickle.loads(pickle.dumps(op)) is op


# Numbers recorded from PyTorch 2.13.
NUMBERS = [
    ("add.int", (1, 2), 3),
    ("add.float", (1, 2), 3.0),
    ("add.complex", (1, 2), 3 + 0j),
    ("add", (1, 2.5), 3.5),
    ("add.str", ("a", "b"), "ab"),
    ("mul", (2, 3.5), 7.0),
    ("sub", (2, 3), -1),
    ("sqrt.int", (-1,), math.nan),
    ("sqrt.complex", (-1,), 1j),
    ("sqrt.Scalar", (4,), 2.0),
    ("acos.int", (2,), math.nan),
    ("log.int", (0,), -math.inf),
    ("log.float", (-1.0,), math.nan),
    ("log.int_int", (8, 2), 3.0),
    ("exp.int", (1000,), math.inf),
    ("exp.Scalar", (2j,), -0.4161468365471424 + 0.9092974268256817j),
    ("ceil.float", (2.5,), 3),
    ("round.int", (3,), 3.0),
    ("round.Scalar", (2.5,), 2.0),
    ("angle.int", (-3,), math.pi),
    ("angle.float", (math.nan,), 0.0),
    ("angle.complex", (1j,), math.pi / 2),
    ("div.int", (1, 0), math.inf),
    ("div.int", (0, 0), math.nan),
    ("div.int", (7, 2), 3.5),
    ("div.float", (-1.0, 0.0), -math.inf),
    ("div.complex", (1j, 2), 0.5j),
    ("pow.int", (2, -3), 0.125),
    ("pow.float", (-8.0, 1 / 3), math.nan),
    ("pow.int_to_int", (2, 3), 8),
    ("remainder.int", (-7, 3), 2),
    ("remainder.float", (-7.0, 0.0), math.nan),
    ("remainder.int_float", (-7, 3.0), 2.0),
    ("fmod.int", (-7, 3), -1.0),
    ("fmod", (-7.5, 3), -1.5),
    ("copysign.int", (3, -1), -3.0),
    ("atan2.int", (1, 1), math.pi / 4),
    ("polar.int", (1, 2), -0.4161468365471424 + 0.9092974268256817j),
    ("gcd.int", (-12, 18), 6),
    ("ldexp", (1.5, 3), 12.0),
    ("frexp", (8.0,), (0.5, 4)),
    ("lgamma.int", (5,), 3.1780538303479458),
    ("lgamma.int", (0,), math.inf),
    ("erf.Scalar", (1,), 0.8427007929497149),
    ("isfinite.complex", (1j,), True),
    ("isinf.complex", (complex(0, math.inf),), True),
    ("all.float", ([],), True),
    ("any.str", (["", "a"],), True),
    ("sum.bool", ([True, True],), 2),
    ("eq.int_list", ([1], [1]), True),
    ("ne.str_list", (["a"], []), True),
    ("eq", (1, 1.0), True),
    ("lt.str", ("a", "b"), True),
    ("__and__.int", (6, 3), 2),
    ("__and__.bool", (True, False), False),
    ("__rshift__.int", (-8, 1), -4),
    ("index.str", ("hello", "l"), 2),
    ("index.list_int", ([1, 2], 2), 1),
    ("slice.str", ("hello", 1, 3, 1), "el"),
    ("split.str", ("a,b", ",", 1), ["a", "b"]),
]


@pytest.mark.parametrize("full, args, expected", NUMBERS)
def test_numbers(full, args, expected):
    result = operator_of(full)(*args)
    if isinstance(expected, (float, complex)) and not isinstance(expected, bool):
        assert type(result) is type(expected)
        assert result == pytest.approx(expected, nan_ok=True)
    else:
        assert result == expected and type(result) is type(expected)


def test_numbers_of_another_type():
    for full, args in (
        ("add.int", (1.5, 2)),
        ("add.str", (1, "b")),
        ("sum.int", ([1.5],)),
        ("sqrt.float", (1j,)),
    ):
        with pytest.raises(RuntimeError, match="Expected a value of type"):
            operator_of(full)(*args)
    with pytest.raises(RuntimeError, match="negative power"):
        aten.pow.int(0, -1)
    with pytest.raises(RuntimeError, match="is not in list"):
        aten.index.list_int([1], 2)


# ---- tensors
X = tl.tensor([[1.0, 2.0], [3.0, 4.0]])


def test_products_in_a_dtype():
    half = X.bfloat16()
    assert tl.equal(aten.mm.dtype(half, half, tl.float32), X @ X)
    assert tl.equal(aten.bmm.dtype(half[None], half[None], tl.float32)[0], X @ X)
    assert tl.equal(aten.addmm.dtype(half, half, half, tl.float32, beta=2), 2 * X + X @ X)
    out = tl.empty(0)
    assert aten.mm.dtype_out(half, half, tl.float32, out=out) is out and tl.equal(out, X @ X)
    with pytest.raises(RuntimeError, match="out_dtype must be"):
        aten.mm.dtype(X, X, tl.float64)


def test_factors_in_a_tensor():
    lists = [X, X[0]], [X, X[0]], [X, X[0]]
    results = aten._foreach_addcmul.Tensor(*lists, tl.tensor([2.0, 3.0]))
    assert tl.equal(results[0], X + 2 * X * X) and tl.equal(results[1], X[0] + 3 * X[0] * X[0])
    for factors in (tl.tensor(2.0), tl.tensor([2.0])):
        with pytest.raises(RuntimeError, match="Expected"):
            aten._foreach_addcdiv.Tensor(*lists, factors)


def test_steps_whose_rate_is_a_tensor():
    options = {"weight_decay": 0.0, "momentum": 0.0, "dampening": 0.0, "nesterov": False, "maximize": False}
    x = X.clone()
    aten._fused_sgd_.tensor_lr([x], [X.clone()], [], lr=tl.tensor(0.5), is_first_step=True, **options)
    assert tl.equal(x, X - 0.5 * X)
    scaled = {"grad_scale": tl.tensor(2.0), "found_inf": tl.tensor(0.0)}
    x, grad = X.clone(), X.clone()
    aten._fused_sgd_.tensor_lr([x], [grad], [], lr=tl.tensor(0.5), is_first_step=True, **options, **scaled)
    assert tl.equal(x, X - 0.25 * X) and tl.equal(grad, X / 2)
    scaled["found_inf"].fill_(1)
    aten._fused_sgd_.tensor_lr([x], [grad], [], lr=tl.tensor(0.5), is_first_step=True, **options, **scaled)
    assert tl.equal(x, X - 0.25 * X)


def test_conversions_and_second_names():
    assert aten.to.prim_dtype(X, 7).dtype is tl.float64 and aten.to.prim_other(X).dtype is tl.float32
    assert aten.to.prim_Device(X, None) is X
    assert tl.equal(aten.copy_.int(tl.zeros(2), 3), tl.full((2,), 3.0))
    assert tl.equal(aten.mT.a(X), X.mT) and tl.equal(
        aten.index.Tensor_hacked_twin(X, [tl.tensor([1])]), X[1:]
    )
    assert aten.size.int(X, 0) == 2 and aten.stride.int(X, 0) == 2
    assert [t.tolist() for t in aten.split.default(tl.arange(4), [1, 3])] == [[0], [1, 2, 3]]
    assert aten.sparse_coo_tensor.size([2, 3], dtype=tl.float32).shape == (2, 3)
    assert tl.equal(
        aten.stft.default(tl.ones(8), 4, 2, 4, tl.ones(4), False, True, True)[0].real, 4 * tl.ones(3)
    )
    assert aten.linalg_matrix_rank.atol_rtol_tensor(X, atol=tl.tensor(0.1)).item() == 2
    assert tl.allclose(aten.linalg_pinv.rcond_tensor(tl.eye(2), tl.tensor(0.1)), tl.eye(2))
    assert tl.equal(aten.normal.out(X, 1.0, 0.0, out=tl.empty(0)), tl.ones(2, 2))
    assert aten.bernoulli.Tensor(X, tl.ones(2, 2)).sum() == 4
    assert tl.equal(aten.dequantize.any([X])[0], X)
