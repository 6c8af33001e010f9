"""gradcheck finds wrong derivatives and passes right ones; random graphs against finite differences."""

import random
import warnings

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd import GradcheckError, gradcheck, gradgradcheck
from tl_autograd import gradcheck_forward as checks
from tl_autograd.gradcheck import get_analytical_jacobian, get_numerical_jacobian


def real(*shape):
    return (tl.rand(*shape, dtype=tl.float64) + 0.5).requires_grad_()


def cplx(*shape):
    return tl.view_as_complex(tl.rand(*shape, 2, dtype=tl.float64) + 0.5).requires_grad_()


class Wrong(tl_autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2.1


@pytest.mark.parametrize("fast", [False, True])
def test_right_and_wrong(fast):
    assert gradcheck(lambda x: x * 2, real(3), fast_mode=fast)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(Wrong.apply, real(3), fast_mode=fast)
    assert gradcheck(Wrong.apply, real(3), raise_exception=False, fast_mode=fast) is False


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        lambda z: z * z,
        lambda z: z.exp(),
        lambda z: z.abs(),
        lambda z: z * z.conj(),
        lambda z: (z * 2 + 1).sum(),
        lambda z: z / (z + 2),
    ],
)
def test_complex(function, fast):
    assert gradcheck(function, cplx(3), fast_mode=fast)
    assert gradgradcheck(function, cplx(2), fast_mode=fast)


def test_complex_with_real_input():
    w = cplx(3).detach()
    assert gradcheck(lambda x: x * w, real(3)) and gradcheck(lambda x: (x * w).abs(), real(3))


def test_one_tensor_as_two_results():
    x = tl.tensor([0.5, 2.0], dtype=tl.float64, requires_grad=True)
    assert gradcheck(lambda x: (x.sin(),) * 2, (x,))


def test_bad_requests():
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda x: x, tl.ones(2))
    with pytest.warns(UserWarning, match="double precision"):
        gradcheck(lambda x: x * 2, tl.ones(2, requires_grad=True), eps=1e-2, atol=1e-2)
    with pytest.raises(AssertionError, match="requires check_forward_ad"):
        gradcheck(lambda x: x, real(2), check_batched_forward_grad=True)


class WrongTangent(tl_autograd.Function):
    """A square whose tangent is twice what it should be."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g

    @staticmethod
    def jvp(ctx, v):
        return 4 * ctx.saved_tensors[0] * v


def test_forward_mode_and_batches_are_checked_too():
    for fast in (False, True):
        assert gradcheck(
            lambda x, y: (x * y).exp().sum(1),
            (real(2, 3), real(3)),
            check_forward_ad=True,
            check_batched_grad=True,
            check_batched_forward_grad=True,
            fast_mode=fast,
        )
        with pytest.raises(GradcheckError, match="forward mode mismatch"):
            gradcheck(WrongTangent.apply, real(3), check_forward_ad=True, fast_mode=fast)
    assert gradcheck(WrongTangent.apply, real(3), check_batched_grad=True)
    assert gradgradcheck(lambda x: x.sin() * x, real(3), check_fwd_over_rev=True)


UNARY = [
    lambda a: a.exp(),
    lambda a: a.sin(),
    lambda a: a.tanh(),
    lambda a: a * a,
    lambda a: -a,
    lambda a: a.t(),
    lambda a: a[1:].sum(0),
    lambda a: a.sum(1, keepdim=True),
    lambda a: a.mean(),
    lambda a: a.reshape(-1)[:3],
    lambda a: a.clone().mul_(2),
    lambda a: a.unsqueeze(0),
    lambda a: a / (a * a + 1),
]
BINARY = [
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: a - 2 * b,
    lambda a, b: a / (b * b + 1),
    lambda a, b: tl.where(a > b, a, b),
]


def random_program(seed):
    """A function of two 3x3 matrices made of random operators; shapes that do not fit are summed to a
    number."""

    def program(x, y):
        rng = random.Random(seed)
        pool = [x, y]
        for _ in range(12):
            if rng.random() < 0.5:
                a = rng.choice(pool)
                try:
                    pool.append(rng.choice(UNARY)(a))
                except (RuntimeError, IndexError):
                    pool.append(a * 0.5)
            else:
                a, b = rng.choice(pool), rng.choice(pool)
                try:
                    pool.append(rng.choice(BINARY)(a, b))
                except RuntimeError:
                    pool.append(a.sum() + b.sum())
        return sum(p.tanh().sum() for p in pool[-4:])

    return program


@pytest.mark.parametrize("seed", range(25))
def test_random_programs(seed):
    assert gradcheck(random_program(seed), (real(3, 3), real(3, 3)))


@pytest.mark.parametrize("seed", range(25, 33))
def test_random_programs_twice(seed):
    assert gradgradcheck(random_program(seed), (real(2, 2), real(2, 2)))


def test_what_changes_with_its_input_is_told():
    x = tl.ones(1, dtype=tl.float64, requires_grad=True)
    with pytest.raises(AssertionError, match="same shape when inputs are perturbed"):
        tl_autograd.gradcheck(lambda x: tl.cat([x, x]) if x.item() >= 1 else x, x)
    with pytest.raises(tl_autograd.GradcheckError, match="expected to be zero"):
        tl_autograd.gradcheck(lambda x: tl.tensor([x.item()], dtype=tl.float64), x)
    assert tl_autograd.gradcheck(lambda x: (), (x,))


def test_the_forward_check_makes_every_input_dual_and_none_recorded():
    records = []

    class Twice(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            if tl_autograd.forward_ad._current_level >= 0:
                records.append(x.requires_grad or y.requires_grad)
            return x * 2, y.clone()

        @staticmethod
        def jvp(ctx, a, b):
            return a * 2, b.clone()

    x, y = (tl.rand(2, dtype=tl.float64, requires_grad=True) for _ in range(2))
    assert tl_autograd.gradcheck(Twice.apply, (x, y), check_forward_ad=True, check_backward_ad=False)
    assert records and not any(records)
    assert tl_autograd.gradgradcheck(lambda a, b: (a * b).sin(), (x, y), check_fwd_over_rev=True)


@pytest.mark.parametrize("fast", [False, True])
def test_gradients_that_never_arrive(fast):
    def refusing(x):
        def hook(g):
            if g is None:
                raise RuntimeError("no gradient")

        y = x.clone()
        y.register_hook(hook)
        return y

    class Constant(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return tl.ones(2, dtype=tl.float64) if g is None else g

    x = tl.ones(2, dtype=tl.float64, requires_grad=True)
    for function, message in (
        (refusing, "it raised: .*no gradient"),
        (Constant.apply, "that of input 0 is not"),
    ):
        with warnings.catch_warnings(), pytest.raises(GradcheckError, match=f"(?s)undefined.*{message}"):
            warnings.simplefilter("ignore")
            gradcheck(function, x, fast_mode=fast)
        assert gradcheck(function, x, fast_mode=fast, check_undefined_grad=False)


def test_a_product_of_two_zeros_has_no_second_derivative():
    x, src = tl.ones(1, dtype=tl.float64), tl.zeros(2, dtype=tl.float64)
    inputs = x.requires_grad_(), src.requires_grad_()
    f = lambda x, src: tl.scatter_reduce(x, 0, tl.tensor([0, 0]), src, "prod")  # noqa: E731
    assert gradcheck(f, inputs)
    with pytest.raises(RuntimeError, match="Double backward is unsupported"):
        gradgradcheck(f, inputs)


def squares_summed(x):
    return (x**2).cumsum(0)


JACOBIAN = [[2.0, 2.0], [0.0, 4.0]]  # transposed: an input element a row


def test_jacobians_by_their_older_names():
    x = tl.tensor([1.0, 2.0], dtype=tl.float64, requires_grad=True)
    with pytest.warns(FutureWarning, match="get_numerical_jacobian"):
        (numerical,) = get_numerical_jacobian(lambda xs: squares_summed(xs[0]), (x,))
    assert tl.allclose(numerical, tl.tensor(JACOBIAN, dtype=tl.float64))
    with pytest.warns(FutureWarning, match="get_analytical_jacobian"):
        (analytical,), *agree = get_analytical_jacobian((x,), squares_summed(x))
    assert analytical.tolist() == JACOBIAN and agree == [True, True, True]
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match=r"grad_out to be 1.0"):
        get_numerical_jacobian(lambda xs: xs[0], (x,), grad_out=2.0)


def test_directions_of_one_input():
    x, y = (tl.tensor(v, dtype=tl.float64, requires_grad=True) for v in ([1.0, 2.0], [3.0, 5.0]))
    direction = tl.tensor([1.0, -1.0], dtype=tl.float64)
    product, constant = checks.push_direction(
        lambda a, b: (a * b, b.floor().long(), b * 1), (x, y), x, direction
    )
    assert product.tolist() == [3.0, -5.0] and constant.tolist() == [0.0, 0.0]


class UnequalBatches(tl_autograd.Function):
    """The double, whose rules of batches are wrong."""

    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return WrongInBatches.apply(g)

    @staticmethod
    def jvp(ctx, t):
        return t * 2 if t.abs().sum() > 0 else t + 7


class WrongInBatches(tl_autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def vmap(info, in_dims, x):
        return x * 3, in_dims[0]


def test_mismatches_of_batches_and_missing_tangents():
    x, y = (tl.tensor(v, dtype=tl.float64, requires_grad=True) for v in ([1.0, 2.0], [3.0, 5.0]))
    near = (1e-9, 1e-9)
    assert checks.batched_gradient_mismatch(x.sin() * y, [x, y], *near) is None
    wrong = checks.batched_gradient_mismatch(UnequalBatches.apply(x) + y, [y, x], *near)
    assert wrong == "the batched gradient with respect to input 1 differs from those of single vectors"
    assert checks.batched_tangent_mismatch(lambda a, b: (a * b, b.sin()), (x, y), y, *near) is None
    assert checks.missing_tangent_mismatch(lambda a, b: a * b, (x, y), x, *near) is None
    different = checks.missing_tangent_mismatch(lambda a, b: (a, UnequalBatches.apply(b)), (x, y), x, *near)
    assert different == "the tangent of output 1 differs where tangents of inputs are missing instead of zero"


class TangentOfNumbers(tl_autograd.Function):
    """The identity, whose tangent is computed from a number in Python."""

    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def jvp(ctx, t):
        return t * (1.0 if t.sum().item() > -1e9 else 2.0)


def test_tangents_without_a_batch():
    x = tl.ones(2, dtype=tl.float64, requires_grad=True)
    wrong = checks.batched_tangent_mismatch(TangentOfNumbers.apply, (x,), x, 1e-9, 1e-9)
    assert wrong is not None and wrong.startswith("While considering batched tangents")
