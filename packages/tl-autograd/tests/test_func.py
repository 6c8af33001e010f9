"""Function transforms against closed forms and loops: values, structures, nesting, what they refuse."""

import contextlib
import math

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd import _C, forward_ad, func
from tl_core.dispatch import autocast
from tl_core.operators.packets import aten
from tl_core.tensors.parameter import Parameter as tl_core_parameter


def data(*shape, seed=0):
    generator = tl.Generator()
    generator.manual_seed(seed)
    return tl.randn(*shape, dtype=tl.float64, generator=generator)


def same(a, b, tolerance=1e-12):
    assert a.shape == b.shape and tl.allclose(a, b, rtol=tolerance, atol=tolerance), (a, b)


@pytest.fixture(autouse=True)
def no_level_is_left():
    yield
    assert _C.top_level() is None


# ---- gradients -------------------------------------------------------------------------------------------------


def test_gradients_of_every_order():
    f, x = tl.sin, tl.tensor(0.7, dtype=tl.float64)
    expected = [math.cos(0.7), -math.sin(0.7), -math.cos(0.7), math.sin(0.7)]
    for value in expected:
        f = func.grad(f)
        assert f(x).item() == pytest.approx(value)


def test_gradients_of_structures_and_several_arguments():
    x, y = data(3), data(3, seed=1)
    g = func.grad(lambda p, s, k=1: ((p["w"] * s + p["b"][0]) * k).sum())({"w": x, "b": [y, y]}, y, k=2)
    (
        same(g["w"], 2 * y),
        same(g["b"][0], tl.full((3,), 2.0, dtype=tl.float64)),
        same(g["b"][1], tl.zeros_like(y)),
    )
    first, second = func.grad(lambda a, b: (a * b).sum(), argnums=(1, 0))(x, y)
    same(first, x), same(second, y)
    gradient, (value, aux) = func.grad_and_value(lambda a: ((a * a).sum(), {"a": a}), has_aux=True)(x)
    same(gradient, 2 * x), same(value, (x * x).sum()), same(aux["a"], x)


def test_writes_inside_of_a_gradient():
    def f(x):
        y = x.clone()
        y.mul_(x)
        y[0] = x[1] * 3
        y[1:].add_(x[:2])
        return (y * y).sum()

    x = tl.tensor([1.0, 2.0, 3.0], dtype=tl.float64)
    assert func.grad(f)(x).tolist() == [10.0, 98.0, 132.0]


def test_no_grad_and_detach_hold_inside_of_a_level_only():
    def f(x):
        with tl.no_grad():
            c = x.square()
        return (c * x).sum()

    x = data(3)
    same(func.grad(f)(x), x * x)
    with tl.no_grad():
        same(func.grad(lambda x: x.square().sum())(x), 2 * x)
    same(func.grad(lambda x: (x.detach() * x.sin()).sum())(x), x * x.cos())


def test_a_gradient_is_recorded_and_records():
    x = data(3).requires_grad_()
    y = func.grad(lambda v: (v**3).sum())(x)
    same(tl_autograd.grad(y.sum(), x)[0], 6 * x.detach())
    inner = func.grad(lambda v: tl_autograd.grad((v**3).sum(), v, create_graph=True)[0].sum())
    same(inner(x.detach()), 6 * x.detach())


def test_products_with_the_transposed_jacobian():
    x, y = data(2, 3), data(3, 4)
    _, back = func.vjp(lambda a, b: (a @ b).tanh(), x, y)
    many = data(5, 2, 4)
    batched = func.vmap(back)(many)
    for i in range(5):
        for full, one in zip(batched, back(many[i]), strict=True):
            same(full[i], one)


def test_results_hold_no_more_than_plain_tensors():
    x = data(3)
    for out in (
        func.grad(lambda v: (v * v).sum())(x),
        func.vmap(lambda v: v * 2)(x),
        func.jvp(tl.sin, (x,), (x,))[0],
    ):
        assert _C.wrapping(out) is None and not out.requires_grad


# ---- tangents --------------------------------------------------------------------------------------------------


def test_tangents_through_writes_views_and_levels():
    def f(x):
        y = x.clone()
        y.mul_(x)
        y[0] = x[1] * 3
        return y

    x, v = data(3), data(3, seed=1)
    value, tangent = func.jvp(f, (x,), (v,))
    expected = 2 * x * v
    expected[0] = 3 * v[1]
    same(value, f(x)), same(tangent, expected)
    w = data(3, seed=2)
    second = func.jvp(lambda y: func.jvp(lambda z: z.exp() * z, (y,), (v,))[1], (x,), (w,))[1]
    same(second, x.exp() * (x + 2) * v * w)
    same(func.jvp(func.grad(lambda y: (y**4).sum()), (x,), (v,))[1], 12 * x**2 * v)


def test_a_tensor_written_with_a_dual_one_gets_its_tangent():
    with forward_ad.dual_level(), tl.no_grad():
        dual = forward_ad.make_dual(data(3), data(3, seed=1))
        y = tl.zeros(3, dtype=tl.float64)
        y.add_(dual)
        y[1:].mul_(dual[:2])
        x, v = forward_ad.unpack_dual(dual)
        tangent = forward_ad.unpack_dual(y).tangent
        expected = tl.cat([v[:1], v[1:] * x[:2] + x[1:] * v[:2]])
        same(tangent, expected), same(forward_ad.unpack_dual(y[1:]).tangent, expected[1:])


def test_linear_approximations():
    value, push = func.linearize(lambda x: x.sin() * x, data(4))
    x, v = data(4), data(4, seed=1)
    same(value, x.sin() * x), same(push(v), (x.cos() * x + x.sin()) * v)
    same(func.vmap(push)(data(3, 4)), func.vmap(lambda w: (x.cos() * x + x.sin()) * w)(data(3, 4)))


# ---- Jacobians -------------------------------------------------------------------------------------------------


def test_jacobians_and_hessians_agree():
    x, y = data(4), data(4, seed=1)
    f = lambda a, b: (a.sin() * b).sum(-1) + (a * a).sum() * b[0]  # noqa: E731
    for reverse, forward in zip(func.jacrev(f, (0, 1))(x, y), func.jacfwd(f, (0, 1))(x, y), strict=True):
        same(reverse, forward)
    g = lambda a: (a.tanh() @ a).square()  # noqa: E731
    orders = [
        outer(inner(g))(x) for outer in (func.jacfwd, func.jacrev) for inner in (func.jacfwd, func.jacrev)
    ]
    for h in orders:
        same(h, func.hessian(g)(x), 1e-10)
    for chunk in (1, 2, 7):
        same(func.jacrev(lambda a: (a[:, None] * a).sum(0), chunk_size=chunk)(x), func.jacrev(
            lambda a: (a[:, None] * a).sum(0))(x))  # fmt: skip


# ---- batches ---------------------------------------------------------------------------------------------------


def test_batches_of_structures():
    f = func.vmap(lambda d, c: d["x"] * d["y"] + c[0] - c[1], in_dims=({"x": 0, "y": None}, (1, 0)))
    x, y, a, b = data(4, 3), data(3), data(3, 4), data(4)
    same(f({"x": x, "y": y}, (a, b)), x * y + a.T - b[:, None])
    out = func.vmap(lambda v: {"a": v.sum(), "b": [v, (v * 2,)]}, out_dims={"a": 0, "b": [1, (-1,)]})(x)
    same(out["a"], x.sum(1)), same(out["b"][0], x.T), same(out["b"][1][0], 2 * x.T)
    for size in (1, 3, 10):
        same(func.vmap(lambda v, w: v * w, in_dims=(0, None), chunk_size=size)(x, y), x * y)
    same(func.vmap(lambda v: v.sin())(data(0, 3)), data(0, 3))


def test_batches_nest():
    x, y = data(2, 3, 4), data(2, 5, 4)
    f = func.vmap(func.vmap(func.vmap(tl.dot, (None, 0)), (0, None)), (0, 0))
    same(f(x, y), tl.einsum("bik,bjk->bij", x, y))


def test_writes_in_a_batch():
    def f(x):
        y = x.clone()
        y[0] = y[1] * 2
        y[1:].mul_(x[:-1])
        y.transpose(0, 1).add_(1)
        return y

    x = data(4, 3, 3)
    same(func.vmap(f)(x), tl.stack([f(v) for v in x]))
    z = data(4, 3)
    before = z.clone()
    same(func.vmap(lambda v: v.mul_(2))(z), 2 * before)
    same(z, 2 * before)


def test_gradients_of_single_samples():
    w, x, y = data(3, 2), data(5, 3), data(5, 2)
    loss = lambda w, x, y: ((x @ w).tanh() - y).square().sum()  # noqa: E731
    batched = func.vmap(func.grad(loss), in_dims=(None, 0, 0))(w, x, y)
    same(batched, tl.stack([func.grad(loss)(w, a, b) for a, b in zip(x, y, strict=True)]))


def test_gradients_for_a_batch_of_vectors():
    x = data(3).requires_grad_()
    y = (x[:, None] * x).sin().sum(0)
    vectors = data(5, 3)
    (many,) = tl_autograd.grad(y, x, vectors, retain_graph=True, is_grads_batched=True)
    same(many, tl.stack([tl_autograd.grad(y, x, v, retain_graph=True)[0] for v in vectors]))


def test_numbers_in_a_batch_have_no_say_in_types():
    assert func.vmap(tl.mul)(tl.ones(3, dtype=tl.float64), tl.ones(3, 2)).dtype is tl.float32
    assert func.vmap(lambda v: v * 1.5)(tl.arange(3)).dtype is tl.float32


TYPES = [
    tl.bool,
    tl.uint8,
    tl.int8,
    tl.int64,
    tl.uint16,
    tl.float16,
    tl.bfloat16,
    tl.float32,
    tl.float64,
    tl.complex64,
]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("sizes", [(), (2,)], ids=["number", "vector"])
def test_batches_of_numbers_promote_as_numbers(dtype, sizes):
    for other in TYPES:
        number, operand = tl.ones((), dtype=dtype), tl.ones(sizes, dtype=other)
        batch, operands = tl.ones(3, dtype=dtype), tl.ones((3, *sizes), dtype=other)
        for f in (tl.add, tl.mul, tl.maximum) if not {dtype, other} & {tl.complex64} else (tl.add, tl.mul):
            assert func.vmap(f, (0, None))(batch, operand).dtype == f(number, operand).dtype, (f, other)
            assert func.vmap(f)(batch, operands).dtype == f(number, operand).dtype, (f, other)


def test_a_batch_of_numbers_keeps_the_digits_of_the_widest_operand():
    low, high = tl.ones(2, dtype=tl.float16), tl.ones(2, dtype=tl.float32)
    weights = tl.tensor([1 / 3, 1 / 7], dtype=tl.float64)
    batch = func.vmap(lambda w: tl.addcmul(low, high, w))(weights)
    same(batch, tl.stack([tl.addcmul(low, high, w) for w in weights]), tolerance=0)


def test_random_numbers_in_a_batch():
    draw = lambda x: x + tl.rand(3)  # noqa: E731
    with pytest.raises(RuntimeError, match="randomness"):
        func.vmap(draw)(tl.zeros(4))
    same_for_all = func.vmap(draw, randomness="same")(tl.zeros(4))
    assert (same_for_all == same_for_all[0]).all()
    different = func.vmap(draw, randomness="different")(tl.zeros(4))
    assert not (different[0] == different[1]).any()


# ---- functions of one's own --------------------------------------------------------------------------------------


class Cube(tl_autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0] ** 2 * g

    @staticmethod
    def jvp(ctx, v):
        return 3 * ctx.saved_tensors[0] ** 2 * v


def test_functions_of_ones_own():
    x, v = data(3), data(3, seed=1)
    same(func.grad(lambda y: Cube.apply(y).sum())(x), 3 * x**2)
    same(func.jvp(Cube.apply, (x,), (v,))[1], 3 * x**2 * v)
    same(func.vmap(Cube.apply)(data(4, 3)), data(4, 3) ** 3)
    same(func.vmap(func.grad(lambda y: Cube.apply(y).sum()))(data(4, 3)), 3 * data(4, 3) ** 2)
    same(func.jacrev(Cube.apply)(x), tl.diag(3 * x**2))
    same(func.jacfwd(Cube.apply)(x), tl.diag(3 * x**2))


class Sine(tl_autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        return Cosine.apply(ctx.saved_tensors[0]) * g


class Cosine(Sine):
    @staticmethod
    def forward(x):
        return x.cos()

    @staticmethod
    def backward(ctx, g):
        return -Sine.apply(ctx.saved_tensors[0]) * g


def test_a_backward_of_a_function_may_run_after_its_level_has_ended():
    x = data(3)
    same(func.jacrev(func.jacrev(lambda x: Sine.apply(x).sum()))(x), tl.diag(-x.sin()))
    leaf = x.clone().requires_grad_()
    _, pull = func.vjp(Sine.apply, leaf)
    same(tl_autograd.grad(pull(tl.ones_like(x))[0].sum(), leaf)[0], -x.sin())


# ---- what is refused ---------------------------------------------------------------------------------------------

X = data(2, 3)
REFUSED = {
    "same size in the mapped dimension": (ValueError, lambda: func.vmap(tl.mul)(data(3, 2), data(4, 2))),
    "not compatible with the structure of `inputs`": (
        ValueError,
        lambda: func.vmap(tl.mul, in_dims=(0,))(X, X),
    ),
    "in_dim=2 for": (ValueError, lambda: func.vmap(tl.sin, in_dims=2)(X)),
    "no inputs": (ValueError, lambda: func.vmap(lambda: X)()),
    r"\.item\(\)": (RuntimeError, lambda: func.vmap(lambda x: x * x.sum().item())(X)),
    "data-dependent control flow": (RuntimeError, lambda: func.vmap(lambda x: x if x.sum() > 0 else -x)(X)),
    "dynamic": (RuntimeError, lambda: func.vmap(lambda x: x.nonzero())(X)),
    "inplace": (RuntimeError, lambda: func.vmap(lambda x: tl.zeros(3, dtype=tl.float64).copy_(x))(X)),
    "Dimension out of range": (IndexError, lambda: func.vmap(lambda x: x.sum(1))(X)),
    "scalar tensor": (RuntimeError, lambda: func.grad(lambda x: x * 2)(X)),
    "to return a Tensor": (RuntimeError, lambda: func.grad(lambda x: 3.0)(X)),
    "floating point": (RuntimeError, lambda: func.grad(lambda x: x.sum())(tl.arange(3))),
    "only 1 positional": (RuntimeError, lambda: func.grad(lambda x: x.sum(), argnums=1)(X)),
    "captured": (RuntimeError, lambda: func.grad(lambda x: X.add_(x).sum())(data(2, 3))),
    r"requires_grad_\(\)": (RuntimeError, lambda: func.grad(lambda x: x.requires_grad_().sum())(X)),
    "same python structure": (RuntimeError, lambda: func.jvp(tl.mul, (X, X), (X,))),
    "same size as its primal": (RuntimeError, lambda: func.jvp(tl.sin, (X,), (data(4),))),
    "pytree structure": (RuntimeError, lambda: func.vjp(lambda x: (x, x), X)[1](X)),
}


@pytest.mark.parametrize("words", REFUSED)
def test_wrong_uses_say_what_is_wrong(words):
    kind, call = REFUSED[words]
    with pytest.raises(kind, match=words):
        call()


def test_a_batch_that_left_its_vmap_says_so():
    values = []
    func.vmap(lambda x: (values.append(x), x)[1])(X)
    with pytest.raises(RuntimeError, match="a vmap that has ended"):
        values[0] + 1


def test_an_error_in_the_middle_of_three_levels_leaves_none():
    def broken(x):
        raise KeyError("here")

    for _ in range(50):
        with pytest.raises(KeyError):
            func.vmap(func.grad(lambda x: func.jvp(broken, (x,), (x,))))(X)
    assert _C.top_level() is None


# ---- linear approximations ---------------------------------------------------------------------------------------


def test_a_linear_approximation_runs_the_function_once():
    calls = []

    def f(x, y):
        calls.append(1)
        z = x.sin()
        z[0] = y[1] * x[2]
        z.mul_(y)
        return {"a": z.cumsum(0), "b": z.t().sum()}, x

    x, y = data(3), data(3, seed=1)
    _, push = func.linearize(f, x, y)
    for seed in (2, 3):
        v, w = data(3, seed=seed), data(3, seed=seed + 10)
        expected = func.jvp(f, (x, y), (v, w))[1]
        result = push(v, w)
        (
            same(result[0]["a"], expected[0]["a"]),
            same(result[0]["b"], expected[0]["b"]),
            same(result[1], expected[1]),
        )
    assert len(calls) == 3  # two of them jvp's own
    columns = func.vmap(lambda v: push(v, tl.zeros_like(v))[0]["a"])(tl.eye(3, dtype=tl.float64))
    same(columns.T, func.jacfwd(lambda x: f(x, y)[0]["a"])(x))


def test_a_linear_approximation_inside_of_gradients():
    x, v = data(3), data(3, seed=1)

    def f(x):
        return (x.sin() * x).cumsum(0)

    result = func.grad(lambda x: func.linearize(f, x)[1](v).sum())(x)
    same(result, func.grad(lambda x: func.jvp(f, (x,), (v,))[1].sum())(x))


def test_a_linear_approximation_through_a_function_with_a_rule_of_its_own():
    class Cube(tl_autograd.Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(*inputs)

        @staticmethod
        def jvp(ctx, t):
            return 3 * ctx.saved_tensors[0] ** 2 * t

    x, v = data(3), data(3, seed=1)
    value, push = func.linearize(lambda x: Cube.apply(x.sin()), x)
    same(value, x.sin() ** 3), same(push(v), 3 * x.sin() ** 2 * x.cos() * v)
    with pytest.raises(RuntimeError, match="same argspec"):
        push(v, v)
    with pytest.raises(RuntimeError, match="shape"):
        push(data(2))


# ---- regions of autocast -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def lower_precision():
    before = autocast.is_autocast_enabled("cpu")
    autocast.set_autocast_enabled("cpu", True)
    try:
        yield
    finally:
        autocast.set_autocast_enabled("cpu", before)
        autocast.clear_autocast_cache()


def test_levels_see_operators_in_the_types_they_run_in():
    """A rule that is made of several operators works in the type of the one it stands for."""
    x, w, b = (t.to(tl.float32) for t in (data(3, 4, 5), data(6, 5), data(3, 6)))
    with lower_precision():
        each = [aten.linear(x[i], w, b[i]) for i in range(3)]
        full = func.vmap(aten.linear, in_dims=(0, None, 0))(x, w, b)
        assert full.dtype is tl.bfloat16
        same(full, tl.stack(each), 2e-2)
        product = func.vmap(tl.addmm, in_dims=(0, 0, None))(b, x, w.T)
        assert product.dtype is tl.bfloat16
        value, tangent = func.jvp(lambda w: x[0] @ w.T, (w,), (w,))
        assert value.dtype is tangent.dtype is tl.bfloat16 and tl.equal(value, tangent)


def test_gradients_in_regions_of_autocast_are_those_of_backward():
    x, w = data(4, 5).to(tl.float32), data(6, 5).to(tl.float32)

    def loss(w):
        return (aten.linear(x, w) ** 2).sum()

    with lower_precision():
        leaf = w.clone().requires_grad_()
        loss(leaf).backward()
        assert tl.equal(func.grad(loss)(w), leaf.grad)
        rows = func.vmap(func.grad(lambda w, x: (aten.linear(x, w) ** 2).sum()), in_dims=(None, 0))(w, x)
    assert rows.dtype is tl.float32
    same(rows.sum(0), leaf.grad, 2e-2 * float(leaf.grad.abs().max()))


def test_a_conversion_of_a_parameter_is_kept_outside_of_levels_only():
    weight = tl_core_parameter(data(2, 2).to(tl.float32))
    with lower_precision():
        autocast.autocast_increment_nesting()
        g = func.grad(lambda x: (x @ weight).sum())(tl.ones(2, 2))
        y = tl.ones(2, 2) @ weight
        autocast.autocast_decrement_nesting()
    assert g.shape == (2, 2) and y.requires_grad and _C.wrapping(y) is None


def test_a_function_that_saves_an_output_has_second_gradients():
    class Cube(tl_autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x**3, 3 * x**2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0], output[1])

        @staticmethod
        def backward(ctx, g, g_derivative):
            x, derivative = ctx.saved_tensors
            return g * derivative + g_derivative * 6 * x

    x = tl.tensor(1.3, dtype=tl.float64)
    first = func.grad(lambda x: Cube.apply(x)[0])
    (
        same(first(x), 3 * x * x),
        same(func.grad(first)(x), 6 * x),
        same(func.grad(func.grad(first))(x), 0 * x + 6),
    )
    same(func.vmap(func.grad(first))(tl.stack([x, 2 * x])), tl.stack([6 * x, 12 * x]))


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x, out: tl.logsumexp(x, [0], out=out), (3,)),
        (lambda x, out: tl.linalg.vector_norm(x, out=out), ()),
        (lambda x, out: tl.sum(x, 0, out=out), (3,)),
        (lambda x, out: tl.matmul(x, x, out=out), (3, 3)),
        (lambda x, out: tl.add(x, 1, out=out), (3, 3)),
        (lambda x, out: tl.cummax(x, 0, out=(out, tl.zeros_like(out, dtype=tl.int64)))[0], (3, 3)),
    ],
)
def test_vmap_writes_outputs(function, shape):
    x = tl.arange(18.0, dtype=tl.float64).reshape(2, 3, 3)
    outputs = tl.zeros(2, *shape, dtype=tl.float64)
    results = func.vmap(function)(x, outputs)
    for i in range(2):
        expected = function(x[i], tl.zeros(shape, dtype=tl.float64))
        assert tl.equal(outputs[i], expected) and tl.equal(results[i], expected)


def test_vmap_refuses_outputs_that_are_no_batch():
    with pytest.raises(RuntimeError, match="not being vmapped over"):
        func.vmap(lambda x: tl.logsumexp(x, [0], out=tl.zeros(3)))(tl.ones(2, 3, 3))
    with pytest.raises(RuntimeError, match="another shape"):
        func.vmap(lambda x, out: tl.sum(x, 0, out=out))(tl.ones(2, 3, 3), tl.zeros(2, 5))
