"""Random programs under random nests of transforms, against plain autograd and loops; errors in the middle of them.

`TL_PROGRAMS` says how many programs; `nox -s programs` runs many under the sanitizers.
"""

import gc
import os
import random
import resource

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd import _C, func
from tl_core.operators.packets import aten

PROGRAMS = int(os.environ.get("TL_PROGRAMS", "120"))
SIZE = 3
MATRIX = tl.tensor([[0.3, -0.2, 0.5], [0.1, 0.4, -0.3], [-0.6, 0.2, 0.1]], dtype=tl.float64)
MASK = tl.tensor([True, False, True])
ORDER = tl.tensor([2, 0, 1])
ROWS = tl.tensor([[1.0, 0.5, -0.3], [-0.7, 0.9, 0.2]], dtype=tl.float64)

CROSS_ENTROPY = getattr(aten, "_cross_entropy")  # noqa: B009


@pytest.fixture(autouse=True)
def no_level_is_left():
    yield
    assert _C.top_level() is None


# ---- programs: steps that take what there is so far and a constant ------------------------------------------------


def _write(x, c):
    y = x.clone()
    y[0] = x[1] * c
    y[1:].add_(x[:2])
    return y


def _through_a_view(x, c):
    y = (x * c).clone()
    y.view(1, SIZE).t()[1:].mul_(0.5)
    return y


def _split(x, c):
    a, b = x.split([1, 2])
    return tl.cat([b * c, a])


def _fill(x, c):
    return tl.zeros_like(x).scatter_add(0, ORDER, x * c)


STEPS = {
    "sin": lambda x, c: (x * c).sin(),
    "tanh": lambda x, c: (x + c).tanh(),
    "sigmoid": lambda x, c: x.sigmoid() * c,
    "square": lambda x, c: x * x * 0.3 + c,
    "softmax": lambda x, c: (x * c).softmax(0),
    "logsumexp": lambda x, c: x - x.logsumexp(0) * c,
    "cumsum": lambda x, c: x.cumsum(0) * 0.4,
    "mv": lambda x, c: MATRIX.mv(x) + c,
    "outer": lambda x, c: (x.unsqueeze(1) * x.unsqueeze(0)).sum(0) * 0.2,
    "mm": lambda x, c: (x.reshape(1, SIZE) @ MATRIX).squeeze(0),
    "where": lambda x, c: tl.where(MASK, x.cos(), x * c),
    "index": lambda x, c: x[ORDER] + c,
    "select": lambda x, c: x.index_select(0, ORDER) * x[0],
    "scatter": _fill,
    "masked": lambda x, c: x.masked_fill(MASK, c) + x,
    "flip": lambda x, c: x.flip(0) * 0.7,
    "roll": lambda x, c: x.roll(1, 0) + x.mean(),
    "pad": lambda x, c: tl.constant_pad_nd(x, [1, 1], c)[1:-1] * c,
    "split": _split,
    "stack": lambda x, c: tl.stack([x, x * c]).prod(0) * 0.5,
    "norm": lambda x, c: x / (x.norm() + 1.5),
    "layer_norm": lambda x, c: tl.layer_norm(x, (SIZE,), (x * c).cos()) * c,
    "group_norm": lambda x, c: tl.group_norm(tl.stack([x, x * c]).unsqueeze(0), 1, x[:2])[0, 0] * c,
    "cross entropy": lambda x, c: x * CROSS_ENTROPY(tl.stack([x, x * c]), ORDER[1:], None, 1, -100)[0],
    "written": _write,
    "view": _through_a_view,
    "in place": lambda x, c: x.clone().mul_(c).add_(0.1).cos_(),
    "complex": lambda x, c: tl.view_as_real(tl.complex(x, x * c).exp() * 0.1).sum(-1),
}


def program(rng):
    steps = [(rng.choice(list(STEPS)), rng.uniform(-1, 1)) for _ in range(rng.randint(1, 5))]

    def run(x):
        for name, c in steps:
            x = STEPS[name](x, c)
        return x

    return run, [name for name, _ in steps]


# ---- transforms of R³ → R³, and the same without them --------------------------------------------------------------


def _grad(f):
    return func.grad(lambda x: (f(x) * ROWS[0]).sum())


def _pull(y, x, v):
    """The gradient by plain autograd; zeros where it is constant."""
    if not y.requires_grad:
        return tl.zeros_like(x)
    return tl_autograd.grad(y, x, v, create_graph=True, materialize_grads=True)[0]


def _plain_grad(f):
    return lambda x: _pull((f(x) * ROWS[0]).sum(), x, None)


def _jvp(f):
    return lambda x: func.jvp(f, (x,), (ROWS[1],))[1]


def _linear(f):
    return lambda x: func.linearize(f, x)[1](ROWS[1])


def _plain_jvp(f):
    def g(x):
        y = f(x)
        u = tl.zeros_like(y).requires_grad_()
        return _pull(_pull(y, x, u), u, ROWS[1])

    return g


def _vmap(f):
    return lambda x: func.vmap(lambda row: f(x * row))(ROWS).sum(0)


def _vmap_of_columns(f):
    return lambda x: func.vmap(lambda row, x: f(x * row), in_dims=(1, None), out_dims=1)(ROWS.T, x).sum(1)


def _plain_vmap(f):
    return lambda x: f(x * ROWS[0]) + f(x * ROWS[1])


def _jacobian(f):
    return lambda x: func.jacrev(f)(x).sum(0)


def _plain_jacobian(f):
    return lambda x: _pull(f(x).sum(), x, None)


TRANSFORMS = {
    "grad": (_grad, _plain_grad),
    "jvp": (_jvp, _plain_jvp),
    "linearize": (_linear, _plain_jvp),
    "vmap": (_vmap, _plain_vmap),
    "vmap of columns": (_vmap_of_columns, _plain_vmap),
    "jacrev": (_jacobian, _plain_jacobian),
    "functionalize": (func.functionalize, lambda f: f),
    "functionalize views": (lambda f: func.functionalize(f, remove="mutations_and_views"), lambda f: f),
}


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_a_program_under_nested_transforms(seed):
    rng = random.Random(seed)
    f, steps = program(rng)
    plain, nest = f, []
    for _ in range(rng.randint(1, 3)):
        name = rng.choice(list(TRANSFORMS))
        nest.append(name)
        f, plain = TRANSFORMS[name][0](f), TRANSFORMS[name][1](plain)
    x = tl.tensor([rng.uniform(-1, 1) for _ in range(SIZE)], dtype=tl.float64)
    below = [x.clone().requires_grad_() for _ in range(2)]
    expected = plain(below[0])
    close(f(x), expected, steps, nest)
    # Recorded below all transforms, what they compute has a derivative as well.
    result = f(below[1])
    close(result, expected, steps, nest)
    close(
        _pull(result.sum(), below[1], None),
        _pull(expected.sum(), below[0], None),
        steps,
        [*nest, "backward"],
    )


def close(got, expected, steps, nest):
    assert tl.allclose(got, expected, rtol=1e-6, atol=1e-8, equal_nan=True), (steps, nest, got, expected)


# ---- errors ---------------------------------------------------------------------------------------------------------


def _fail(x):
    raise KeyError("in the middle")


def _asks_for_values(x):
    return x if x.sum() > 0 else -x


MISTAKES = {
    "an exception": lambda: func.vmap(func.grad(lambda x: func.jvp(_fail, (x,), (x,))[1].sum()))(ROWS),
    "a value": lambda: func.grad(lambda x: func.vmap(_asks_for_values)(x).sum())(ROWS),
    "in_dims": lambda: func.vmap(tl.sin, in_dims=3)(ROWS),
    "sizes": lambda: func.vmap(tl.add)(ROWS, MATRIX),
    "no scalar": lambda: func.vmap(func.grad(tl.sin))(ROWS),
    "integers": lambda: func.grad(lambda x: x.sum())(ORDER),
    "shapes": lambda: func.vmap(lambda x: x @ MATRIX[:2])(ROWS),
    "an unbatched write": lambda: func.vmap(lambda x: tl.zeros(SIZE, dtype=tl.float64).add_(x))(ROWS),
    "random numbers": lambda: func.vmap(lambda x: x + tl.rand(SIZE))(ROWS),
    "a captured write": lambda: func.functionalize(lambda x: ROWS.add_(x))(MATRIX[0]),
    "a tangent's shape": lambda: func.jvp(tl.sin, (ROWS,), (MATRIX,)),
}
ERRORS = (RuntimeError, ValueError, KeyError, IndexError, TypeError)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_leaves_the_stack_as_it_was(mistake):
    for _ in range(3):
        with pytest.raises(ERRORS):
            MISTAKES[mistake]()
        assert _C.top_level() is None and tl.is_grad_enabled()

    def inside(x):
        before = _C.top_level()
        with pytest.raises(ERRORS):
            MISTAKES[mistake]()
        assert _C.top_level() == before
        return x * 2

    assert tl.equal(func.vmap(inside)(ROWS), 2 * ROWS)


def test_ten_thousand_errors_leave_no_level_and_no_memory():
    mistakes = list(MISTAKES.values())

    def raised(n):
        for i in range(n):
            try:
                mistakes[i % len(mistakes)]()
            except ERRORS:
                continue
            raise AssertionError("nothing was raised")
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = raised(2000)
    after = raised(10_000)
    assert _C.top_level() is None
    if "TL_SANITIZED" not in os.environ:  # a sanitizer keeps freed memory aside
        assert after - before < 4096, f"{after - before} KiB more after 10,000 errors"
