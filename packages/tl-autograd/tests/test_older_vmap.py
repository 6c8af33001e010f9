"""The older vmap; what batches refuse: geometry outside of an example, products of wrong ranks, memory formats."""

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd import forward_ad
from tl_autograd.func import older_vmap, vmap


@pytest.mark.parametrize("transform", [vmap, older_vmap.vmap])
def test_a_geometry_may_not_leave_its_example(transform):
    x = tl.arange(24.0).reshape(2, 3, 4)
    diagonal = transform(lambda t: t.as_strided((3,), (5,), t.storage_offset()))
    assert diagonal(x).tolist() == [[0, 5, 10], [12, 17, 22]]
    nested = transform(transform(lambda t: t.as_strided((2, 2), (2, 1))), in_dims=1)
    assert nested(x)[2, 1].tolist() == [[20, 21], [22, 23]]
    for message, y, arguments in (
        ("same length", x, ((1, 1), (1,))),
        ("memory outside of `tensor`", x, ((4, 4), (4, 1), 0)),
        ("memory outside of `tensor`", x[:, 1:], ((2,), (1,), 3)),
        ("not supported inside of vmap", tl.ones(2, 0, 3), ((3,), (1,))),
    ):
        with pytest.raises(RuntimeError, match=message):
            transform(lambda t, a=arguments: t.as_strided(*a))(y)


def test_a_geometry_of_examples_that_lie_between_each_other():
    x = tl.arange(6.0).reshape(2, 3)
    for size, stride in (((2,), (3,)), ((2,), (1,)), ((), ())):
        want = [x[:, i].as_strided(size, stride, 0 + i).tolist() for i in range(3)]
        assert vmap(lambda t, s=size, d=stride: t.as_strided(s, d), in_dims=1)(x).tolist() == want
    with pytest.raises(RuntimeError, match="at the front of the tensor"):
        older_vmap.vmap(lambda t: t.as_strided((2,), (1,)), in_dims=1)(x)


@pytest.mark.parametrize(
    "product, shapes",
    [
        (tl.mm, [(2, 3), (3,)]),
        (tl.mv, [(2, 2, 2), (2,)]),
        (tl.dot, [(2, 2), (2,)]),
        (tl.bmm, [(2, 2), (2, 2, 2)]),
    ],
)
def test_products_count_the_dimensions_of_examples(product, shapes):
    with pytest.raises(RuntimeError, match=f"Shape mismatch: vmap over {product.__name__}"):
        vmap(product)(*(tl.ones(5, *shape) for shape in shapes))


def test_memory_that_is_made_for_each_example():
    result = vmap(lambda t: t.new_empty_strided((0, 1, 4), (12, 4, 1)))(tl.ones(3))
    assert result.shape == (3, 0, 1, 4) and result.stride() == (0, 12, 4, 1)
    with pytest.raises(RuntimeError, match="must have one or more dimensions"):
        vmap(tl.view_as_complex)(tl.ones(2))
    with pytest.raises(RuntimeError, match=r"preserve_format or torch.contiguous_format"):
        vmap(lambda t: t.clone(memory_format=tl.channels_last))(tl.ones(2, 1, 2, 3, 4))


def test_nothing_is_differentiated_inside_of_the_older_vmap():
    x, y = tl.ones(3, requires_grad=True), tl.ones(5)
    with pytest.raises(RuntimeError, match=r"backward\(\) called inside torch.vmap"):
        older_vmap.vmap(lambda _: x.sum().backward())(y)
    with pytest.raises(
        RuntimeError, match=r"autograd.grad.* called inside torch.vmap with a batch among the inputs"
    ):
        older_vmap.vmap(lambda t: tl_autograd.grad(x.sum(), t)[0])(tl.ones(3, requires_grad=True))
    with pytest.raises(RuntimeError, match="among the outputs"):
        older_vmap.vmap(lambda t: tl_autograd.grad((x * t).sum(), x)[0])(y)
    z = (x * x).sum()
    batch = older_vmap.vmap(lambda v: tl_autograd.grad(z, x, v, retain_graph=True)[0])(tl.tensor([1.0, 2.0]))
    assert batch.tolist() == [[2, 2, 2], [4, 4, 4]]
    with pytest.raises(RuntimeError, match="do not yet support calling random operations inside of vmap"):
        older_vmap.vmap(tl.randn_like)(y)


class Product(tl_autograd.Function):
    """x y, of the older style: `forward` takes the context."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.saved = x, y
        ctx.set_materialize_grads(False)
        return x * y

    @staticmethod
    def backward(ctx, g):
        return (None, None) if g is None else (g * ctx.saved[1], g * ctx.saved[0])

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved
        return (0 if dx is None else dx * y) + (0 if dy is None else x * dy)


def test_functions_without_a_rule_run_on_the_batch():
    x, y = tl.tensor([2.0, 3.0]), tl.tensor([5.0, 7.0])
    assert older_vmap.vmap(Product.apply)(x, y).tolist() == [10, 21]
    with pytest.raises(RuntimeError, match="must override the setup_context"):
        vmap(Product.apply)(x, y)

    def tangent(v):
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(Product.apply(forward_ad.make_dual(x, v), y)).tangent

    assert older_vmap.vmap(tangent)(tl.eye(2)).tolist() == [[5, 0], [0, 7]]


def test_checks_of_missing_and_batched_tangents():
    x, y = (tl.rand(2, dtype=tl.float64, requires_grad=True) for _ in range(2))
    options = {"check_forward_ad": True, "check_batched_forward_grad": True}
    assert tl_autograd.gradcheck(Product.apply, (x, y), **options)

    class Half(Product):
        @staticmethod
        def jvp(ctx, dx, dy):
            return Product.jvp(ctx, dx, dy) * (1 if dy is not None else 2)

    with pytest.raises(tl_autograd.GradcheckError, match="Expected missing tangents to be treated as zeros"):
        tl_autograd.gradcheck(Half.apply, (x, y), **options)
