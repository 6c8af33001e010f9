"""Tangents against closed forms and against reverse mode; levels and what they refuse."""

import math

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd import forward_ad as fw
from tl_autograd import func, functional


def test_tangents_go_along():
    x, t = tl.tensor([0.5, 2.0], dtype=tl.float64), tl.tensor([1.0, -3.0], dtype=tl.float64)
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        y = (dual * dual).sin()
        primal, tangent = fw.unpack_dual(y)
        linear = fw.unpack_dual(dual * 3 + 1)
        both = fw.unpack_dual(
            dual.sum() * fw.make_dual(tl.tensor(2.0, dtype=tl.float64), tl.tensor(1.0, dtype=tl.float64))
        )
        unrelated = fw.unpack_dual(x * 2)
    assert primal.tolist() == pytest.approx([math.sin(0.25), math.sin(4.0)]) and not primal.requires_grad
    assert tangent.tolist() == pytest.approx([math.cos(0.25) * 1.0, math.cos(4.0) * 4 * -3])
    assert linear.tangent.tolist() == [3.0, -9.0]
    assert both.tangent.item() == pytest.approx(-2.0 * 2 + 2.5)
    assert unrelated.tangent is None
    assert fw.unpack_dual(x) == (x, None)


def test_a_hessian_by_forward_over_reverse():
    x = tl.tensor([1.0, 2.0], dtype=tl.float64, requires_grad=True)
    v = tl.tensor([1.0, 10.0], dtype=tl.float64)
    with fw.dual_level():
        tangent = fw.unpack_dual((fw.make_dual(x, v) ** 3).sum()).tangent
    tangent.backward()
    assert (
        x.grad.tolist() == functional.hvp(lambda x: (x**3).sum(), x.detach(), v)[1].tolist() == [6.0, 120.0]
    )


def test_what_levels_refuse():
    x = tl.ones(2)
    with pytest.raises(RuntimeError, match="no level exists"):
        fw.make_dual(x, x)
    with pytest.raises(RuntimeError, match="not the last one"):
        fw.exit_dual_level()
    with fw.dual_level():
        with pytest.raises(RuntimeError, match="Nested forward mode"):
            fw.enter_dual_level()
        with pytest.raises(ValueError, match=r"floating point or complex, but got: torch\.int64"):
            fw.make_dual(tl.tensor([1]), x)
        with pytest.raises(
            RuntimeError, match=r"size \[2\] while the given forward gradient is of size \[3\]"
        ):
            fw.make_dual(x, tl.ones(3))
        with tl.no_grad():
            assert fw.unpack_dual(fw.make_dual(x, x) * 2).tangent.tolist() == [2.0, 2.0]
    assert not fw._levels


def test_the_forward_jacobian_is_the_reverse_one():
    def f(x, y):
        return x[:, None] * y.exp(), (x * x).sum()

    x, y = tl.tensor([1.0, 2.0], dtype=tl.float64), tl.tensor([0.1, 0.2, 0.3], dtype=tl.float64)
    reverse = functional.jacobian(f, (x, y), vectorize=True)
    forward = functional.jacobian(f, (x, y), vectorize=True, strategy="forward-mode")
    for a, b in zip(reverse, forward, strict=True):
        for g, h in zip(a, b, strict=True):
            assert g.shape == h.shape and tl.allclose(g, h)
    with pytest.raises(NotImplementedError, match="vectorize=True"):
        functional.jacobian(f, (x, y), strategy="forward-mode")
    with pytest.raises(RuntimeError, match="not supported together"):
        functional.jacobian(f, (x, y), strict=True, vectorize=True)


def test_tangents_can_be_switched_off():
    def f(x):
        with fw._set_fwd_grad_enabled(False):
            shift = x * x
        return x * x - shift

    x = tl.tensor(3.0)
    with fw._set_fwd_grad_enabled(False):
        assert not fw._is_fwd_grad_enabled()
        assert func.jvp(f, (x,), (tl.ones(()),))[1].item() == 6
    assert fw._is_fwd_grad_enabled()


def test_what_has_no_derivative_has_no_tangent():
    x = tl.rand(3) + 0.5
    with (
        fw.dual_level(),
        pytest.raises(NotImplementedError, match=r"forward AD with igamma .*not implemented"),
    ):
        tl.igamma(fw.make_dual(x, x), x)


def test_a_tangent_in_another_layout_is_copied():
    x = tl.arange(6.0).reshape(2, 3)
    tangents = {
        "strides": tl.ones(3, 2).t(),
        "gaps": tl.ones(2, 6)[:, ::2],
        "expanded": tl.ones(1).expand(2, 3),
    }
    with fw.dual_level():
        same = tl.ones(2, 3)
        assert fw.unpack_dual(fw.make_dual(x, same)).tangent is same
        for name, t in tangents.items():
            value = fw.unpack_dual(fw.make_dual(x, t)).tangent
            assert value is not t and value.stride() == x.stride() and tl.equal(value, t), name
            value.mul_(2)
            assert tl.equal(t, tl.ones(2, 3)), name
        for t in (
            tl.arange(7.0)[1:].view(2, 3),
            tl.arange(1.0, 8.0)[:6].view(2, 3),
        ):  # an offset, more memory
            part = fw.make_dual(x, t).as_strided((3,), (2,), 1)
            assert fw.unpack_dual(part).tangent.tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("bit", [tl.Tensor.conj, tl.Tensor._neg_view])
def test_a_tangent_takes_the_lazy_bits_of_its_tensor(bit):
    x, t = tl.rand(3, dtype=tl.complex128), tl.rand(3, dtype=tl.complex128)
    with fw.dual_level():
        value = fw.unpack_dual(fw.make_dual(bit(x), t)).tangent
        assert (value.is_conj(), value.is_neg()) == (bit(x).is_conj(), bit(x).is_neg())
        assert tl.equal(value.resolve_conj().resolve_neg(), t)
        assert tl.equal(fw.unpack_dual(tl.real(fw.make_dual(bit(x), t))).tangent, tl.real(t))


def test_tangents_are_shown():
    x = tl.ones(2)
    with fw.dual_level():
        dual = fw.make_dual(x, tl.tensor([3.0, 4.0]))
        assert str(dual) == "tensor([1., 1.], tangent=tensor([3., 4.]))"
        assert "tangent" not in str(x)
    assert "tangent" not in str(dual)


def test_an_unpacked_primal_has_no_tangent():
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    with fw.dual_level():
        y = fw.make_dual(x, tl.ones(2)) * 3
        primal = fw.unpack_dual(y).primal
        assert "tangent" not in str(primal) and fw.unpack_dual(primal).tangent is None
        assert fw.unpack_dual(primal * 2).tangent is None and fw.unpack_dual(primal[:1]).tangent is None
        assert fw.unpack_dual(y).tangent.tolist() == [3.0, 3.0] and fw.unpack_dual(
            y[1:]
        ).tangent.tolist() == [3.0]
        again = fw.unpack_dual(fw.make_dual(primal, tl.tensor([5.0, 7.0])) * 2)
        assert again.tangent.tolist() == [10.0, 14.0]
        assert tl_autograd.grad(primal.sum(), x)[0].tolist() == [3.0, 3.0]


def test_detaching_in_place_drops_the_tangent():
    x = tl.ones(2, requires_grad=True)
    with fw.dual_level():
        dual = fw.make_dual(x, tl.ones(2)).clone()
        dual.detach_()
        assert fw.unpack_dual(dual * 2).tangent is None


@pytest.mark.parametrize("in_place", [True, False])
def test_tangents_of_what_a_function_wrote(in_place):
    import tl_autograd

    class Twice(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x.mul_(2))
            return x

        @staticmethod
        def jvp(ctx, t):
            return t.mul_(2) if in_place else t

    with fw.dual_level():
        tangent = tl.ones(1)
        dual = fw.make_dual(tl.ones(1), tangent)
        if not in_place:
            with pytest.raises(RuntimeError, match="must modify the corresponding gradient inplace"):
                Twice.apply(dual)
            return
        assert Twice.apply(dual) is dual and fw.unpack_dual(dual).tangent is tangent and tangent.item() == 2


def test_a_tensor_and_its_tangent_are_a_named_pair():
    with fw.dual_level():
        pair = fw.unpack_dual(fw.make_dual(tl.tensor([1.0]), tl.tensor([5.0])) * 2)
        assert isinstance(pair, fw.UnpackedDualTensor) and pair._fields == ("primal", "tangent")
        assert pair.primal.tolist() == [2.0] and pair.tangent.tolist() == [10.0]
