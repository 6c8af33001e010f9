"""The rules of the optimizers beside SGD and Adam, spelt out in numpy."""

import copy

import numpy as np
import pytest

import tl_core as tl
from tl_nn import optim

STEPS = 7
SHAPES = [(3, 4), (5,), ()]


def adadelta(w, grads, lr=1.0, rho=0.9, eps=1e-6):
    squares = deltas = np.zeros_like(w)
    for g in grads(w):
        squares = rho * squares + (1 - rho) * g * g
        step = np.sqrt(deltas + eps) / np.sqrt(squares + eps) * g
        deltas = rho * deltas + (1 - rho) * step * step
        w = grads.take(w - lr * step)
    return w


def adagrad(w, grads, lr=0.01, lr_decay=0.0, initial_accumulator_value=0.0, eps=1e-10):
    total = np.full_like(w, initial_accumulator_value)
    for count, g in enumerate(grads(w)):
        total = total + g * g
        w = grads.take(w - lr / (1 + count * lr_decay) * g / (np.sqrt(total) + eps))
    return w


def adamax(w, grads, lr=0.002, betas=(0.9, 0.999), eps=1e-8):
    mean = top = np.zeros_like(w)
    for count, g in enumerate(grads(w), 1):
        mean = betas[0] * mean + (1 - betas[0]) * g
        top = np.maximum(betas[1] * top, np.abs(g) + eps)
        w = grads.take(w - lr / (1 - betas[0] ** count) * mean / top)
    return w


def asgd(w, grads, lr=0.01, lambd=1e-4, alpha=0.75):
    eta = lr
    for count, g in enumerate(grads(w), 1):
        w = grads.take(w * (1 - lambd * eta) - eta * g)
        eta = lr / (1 + lambd * lr * count) ** alpha
    return w


def nadam(w, grads, lr=0.002, betas=(0.9, 0.999), eps=1e-8, momentum_decay=0.004):
    mean = square = np.zeros_like(w)
    product = 1.0
    for count, g in enumerate(grads(w), 1):
        now, soon = (betas[0] * (1 - 0.5 * 0.96 ** (c * momentum_decay)) for c in (count, count + 1))
        product *= now
        mean = betas[0] * mean + (1 - betas[0]) * g
        square = betas[1] * square + (1 - betas[1]) * g * g
        root = np.sqrt(square / (1 - betas[1] ** count)) + eps
        w = grads.take(w - lr * (g * (1 - now) / (1 - product) + mean * soon / (1 - product * soon)) / root)
    return w


def radam(w, grads, lr=0.001, betas=(0.9, 0.999), eps=1e-8):
    mean = square = np.zeros_like(w)
    most = 2 / (1 - betas[1]) - 1
    for count, g in enumerate(grads(w), 1):
        mean = betas[0] * mean + (1 - betas[0]) * g
        square = betas[1] * square + (1 - betas[1]) * g * g
        step = mean / (1 - betas[0] ** count)
        rest = 1 - betas[1] ** count
        length = most - 2 * count * betas[1] ** count / rest
        if length > 5:
            variance = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
            step = step * np.sqrt(variance * rest) / (np.sqrt(square) + eps)
        w = grads.take(w - lr * step)
    return w


def rmsprop(w, grads, lr=0.01, alpha=0.99, eps=1e-8, momentum=0.0, centered=False):
    square = mean = buffer = np.zeros_like(w)
    for g in grads(w):
        square = alpha * square + (1 - alpha) * g * g
        mean = alpha * mean + (1 - alpha) * g
        buffer = momentum * buffer + g / (np.sqrt(square - mean**2 if centered else square) + eps)
        w = grads.take(w - lr * buffer)
    return w


def rprop(w, grads, lr=0.01, etas=(0.5, 1.2), step_sizes=(1e-6, 50)):
    before, size = np.zeros_like(w), np.full_like(w, lr)
    for g in grads(w):
        size = size * np.where(g * before > 0, etas[1], np.where(g * before < 0, etas[0], 1))
        size = np.clip(size, *step_sizes)
        before = np.where(g * before < 0, 0, g)
        w = grads.take(w - np.sign(before) * size)
    return w


def adafactor(w, grads, lr=0.01, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0):
    rows, columns, variance = 0.0, 0.0, np.zeros_like(w)
    least = np.finfo(w.dtype).eps if eps[0] is None else eps[0]
    for count, g in enumerate(grads(w), 1):
        new = count**beta2_decay
        if w.ndim < 2:
            variance = estimate = (1 - new) * variance + new * g * g
        else:
            rows = (1 - new) * rows + new * (g * g).mean(-1, keepdims=True)
            columns = (1 - new) * columns + new * (g * g).mean(-2, keepdims=True)
            estimate = rows @ columns / np.maximum(rows.mean(-2, keepdims=True), least)
        step = g / np.sqrt(np.maximum(estimate, least**2))
        rate = max(eps[1], np.sqrt((w * w).mean())) * min(lr, count**-0.5)
        w = grads.take(w - rate * step / max(1.0, np.sqrt((step * step).mean()) / d))
    return w


class Gradients:
    """The gradients of `sum((w - goal)**2)` at the weights handed in, with weight decay and direction."""

    def __init__(self, goal, weight_decay=0.0, maximize=False):
        self.goal, self.weight_decay, self.maximize = goal, weight_decay, maximize

    def take(self, weight):
        self.weight = weight
        return weight

    def __call__(self, weight):
        self.weight = weight
        for _ in range(STEPS):
            grad = 2 * (self.weight - self.goal)
            yield (-grad if self.maximize else grad) + self.weight_decay * self.weight


RULES = [
    (optim.Adadelta, adadelta, [{}, {"lr": 3.0, "rho": 0.5, "eps": 1e-3}]),
    (optim.Adagrad, adagrad, [{}, {"lr": 0.1, "lr_decay": 0.5, "initial_accumulator_value": 0.3}]),
    (optim.Adamax, adamax, [{}, {"lr": 0.1, "betas": (0.5, 0.6)}]),
    (optim.ASGD, asgd, [{}, {"lr": 0.1, "lambd": 0.2, "alpha": 0.5}]),
    (optim.NAdam, nadam, [{}, {"lr": 0.1, "momentum_decay": 0.3}]),
    (optim.RAdam, radam, [{}, {"lr": 0.1, "betas": (0.8, 0.9)}]),
    (optim.RMSprop, rmsprop, [{}, {"centered": True}, {"momentum": 0.9, "alpha": 0.5, "centered": True}]),
    (optim.Rprop, rprop, [{}, {"lr": 0.3, "etas": (0.3, 2.0), "step_sizes": (0.2, 0.5)}]),
    (optim.Adafactor, adafactor, [{}, {"lr": 0.5, "d": 2.0, "eps": (1e-3, 0.1), "beta2_decay": -0.5}]),
]
CASES = [(kind, rule, options) for kind, rule, several in RULES for options in several]
SHARED = [{}, {"maximize": True}, {"weight_decay": 0.1}]
KINDS = [kind for kind, _, _ in RULES]


def tensor(values, **options):
    return tl.tensor(np.asarray(values).tolist(), dtype=tl.float64, **options)


def walk(optimizer, params, goals, steps=STEPS):
    for _ in range(steps):
        optimizer.zero_grad()
        for param, goal in zip(params, goals, strict=True):
            (param - tensor(goal)).square().sum().backward()
        optimizer.step()


@pytest.mark.parametrize("shared", SHARED, ids=str)
@pytest.mark.parametrize(("kind", "rule", "options"), CASES)
def test_rules(kind, rule, options, shared):
    decay = shared.get("weight_decay")
    if decay and kind in (optim.Rprop, optim.Adafactor):
        pytest.skip("has none of this form")
    rng = np.random.default_rng(3)
    weights, goals = ([rng.normal(size=shape) for shape in SHAPES] for _ in range(2))
    params = [tensor(weight, requires_grad=True) for weight in weights]
    walk(kind(params, **options, **shared), params, goals)
    for param, weight, goal in zip(params, weights, goals, strict=True):
        expected = rule(weight, Gradients(goal, **shared), **options)
        rounded = kind in (optim.ASGD, optim.NAdam)  # they keep numbers in float32
        np.testing.assert_allclose(param.tolist(), expected, rtol=1e-5 if rounded else 1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", [optim.NAdam, optim.RAdam])
def test_decoupled_weight_decay_shrinks_the_parameter(kind):
    (plain,), (decayed,) = ([tensor([2.0, -1.0], requires_grad=True)] for _ in range(2))
    for param in (plain, decayed):
        param.grad = tensor([1.0, 1.0])
    kind([plain], lr=0.1).step()
    kind([decayed], lr=0.1, weight_decay=0.5, decoupled_weight_decay=True).step()
    np.testing.assert_allclose(decayed.tolist(), np.asarray(plain.tolist()) - 0.05 * np.asarray([2.0, -1.0]))


def test_adafactor_shrinks_the_parameter():
    plain, decayed = (tensor([2.0, -1.0], requires_grad=True) for _ in range(2))
    for param, decay in ((plain, 0.0), (decayed, 0.5)):
        param.grad = tensor([1.0, 1.0])
        optim.Adafactor([param], lr=0.1, weight_decay=decay).step()
    np.testing.assert_allclose(decayed.tolist(), np.asarray(plain.tolist()) - 0.05 * np.asarray([2.0, -1.0]))


def test_asgd_averages_from_a_step_on():
    weight = tensor([1.0], requires_grad=True)
    optimizer, records = optim.ASGD([weight], lr=0.1, t0=2), []
    for _ in range(6):
        weight.grad = tensor([1.0])
        optimizer.step()
        records.append(weight.item())
    # mu is 1 up to the third step, then 1/2, 1/3: the mean of what came from step 4 on
    np.testing.assert_allclose(optimizer.state[weight]["ax"].item(), np.mean(records[3:]))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not optim.Adafactor])
def test_complex_parameters_are_pairs_of_real_ones(kind):
    single = tl.tensor([1 + 2j, -1j], dtype=tl.complex128, requires_grad=True)
    pair = tensor([[1.0, 2.0], [0.0, -1.0]], requires_grad=True)
    for param in (single, pair):
        optimizer = kind([param], lr=0.1)
        for step in range(3):
            grad = tensor([[1.0, -step], [0.5, 1.0]])
            param.grad = grad if param is pair else tl.view_as_complex(grad)
            optimizer.step()
    np.testing.assert_allclose(tl.view_as_real(single.detach()).tolist(), pair.tolist(), rtol=1e-12)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in (optim.Adafactor, optim.Rprop)])
def test_differentiable_steps(kind):
    """The derivative of the last parameters by the first ones, against finite differences."""

    def run(start):
        param = start.clone()
        optimizer = kind([param], lr=0.1, differentiable=True)
        for _ in range(3):
            param.grad = param.clone().square() + 0.3
            optimizer.step()
        return param

    weight = tensor([0.5, -0.7], requires_grad=True)
    run(weight).sum().backward()
    step = 1e-6
    for index in range(2):
        shift = tensor(np.eye(2)[index] * step)
        ends = [run(weight.detach() + sign * shift).detach().sum().item() for sign in (1, -1)]
        np.testing.assert_allclose(weight.grad[index].item(), (ends[0] - ends[1]) / (2 * step), rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_training_goes_on_from_a_state_dict(kind):
    params, twins = ([tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True)] for _ in range(2))
    optimizer, twin = kind(params), kind(twins)
    goal = [np.zeros((2, 2))]
    walk(optimizer, params, goal, 2)
    saved = copy.deepcopy(optimizer.state_dict())
    for value in saved["state"].values():
        value["step"] = value["step"].item()  # as older versions saved it
    twins[0].data.copy_(params[0].data)
    twin.load_state_dict(saved)
    walk(optimizer, params, goal, 2)
    walk(twin, twins, goal, 2)
    np.testing.assert_allclose(params[0].tolist(), twins[0].tolist(), rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (optim.Adadelta, {"rho": 1.5}, "Invalid rho value: 1.5"),
        (optim.Adagrad, {"lr_decay": -1}, "Invalid lr_decay value: -1"),
        (optim.Adagrad, {"initial_accumulator_value": -1}, "Invalid initial_accumulator_value value: -1"),
        (optim.Adamax, {"betas": (0.5, 1.0)}, "Invalid beta parameter at index 1: 1.0"),
        (optim.ASGD, {"weight_decay": -1}, "Invalid weight_decay value: -1"),
        (optim.NAdam, {"momentum_decay": -1}, "Invalid momentum_decay value: -1"),
        (optim.RMSprop, {"alpha": -1}, "Invalid alpha value: -1"),
        (optim.RMSprop, {"momentum": -1}, "Invalid momentum value: -1"),
        (optim.Rprop, {"etas": (1.5, 1.2)}, "Invalid eta values: 1.5, 1.2"),
        (optim.Adafactor, {"lr": -1}, "Learning rate should be >= 0 but is: -1"),
        (optim.Adafactor, {"beta2_decay": 1}, "beta2_decay should be <= 0 but is: 1"),
        (optim.Adafactor, {"eps": (-1, 0)}, "epsilon1 should be either None or >= 0 but is: -1"),
        (optim.Adafactor, {"d": 0.5}, "Clipping threshold d should be >= 1 but is: 0.5"),
        (optim.SparseAdam, {"lr": 0.0}, "Invalid learning rate: 0.0"),
        (optim.LBFGS, {"lr": -1.0}, "Invalid learning rate: -1.0"),
    ],
)
def test_faults(kind, options, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        kind([tensor([1.0], requires_grad=True)], **options)


def test_adafactor_refuses_complex_parameters():
    with pytest.raises(RuntimeError, match="does not support complex"):
        optim.Adafactor([tl.ones(2, dtype=tl.complex64, requires_grad=True)])


def test_sparse_adam_refuses_dense_gradients():
    weight = tensor([1.0], requires_grad=True)
    optimizer = optim.SparseAdam([weight])
    assert optimizer.step(lambda: 5) == 5
    weight.grad = tensor([1.0])
    with pytest.raises(RuntimeError, match="does not support dense gradients"):
        optimizer.step()


# L-BFGS


def rosenbrock(point):
    x, y = point.unbind()
    return (1 - x) ** 2 + 100 * (y - x * x) ** 2


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_finds_the_minimum(search):
    point = tensor([-0.5, 1.5], requires_grad=True)
    rate = 1.0 if search else 0.3
    optimizer = optim.LBFGS([point], lr=rate, max_iter=100, line_search_fn=search, history_size=5)

    def closure():
        optimizer.zero_grad()
        loss = rosenbrock(point)
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(6)]
    assert losses[0] == pytest.approx(rosenbrock(tensor([-0.5, 1.5])).item())
    np.testing.assert_allclose(point.tolist(), [1.0, 1.0], atol=1e-5)
    state = optimizer.state[point]
    assert state["func_evals"] >= state["n_iter"] and len(state["old_dirs"]) <= 5


def _barrier(point):
    return -(tl.tensor([1.0, 2.0, 0.5]) * point.log()).sum() + 3 * point.sum()


def _root(point):
    return (point.sqrt() - 0.5).square().sum() + point.sum()


def _reciprocal(point):
    return (1 / point).where(point > 0, tl.inf).sum() + point.sum()


def _negative_infinity(point):
    return (point - 1).square().where(point > 0, -tl.inf).sum()


@pytest.mark.parametrize("loss", [_barrier, _root, _reciprocal, _negative_infinity])
@pytest.mark.parametrize("rate", [1.0, 10.0, 1e3])
@pytest.mark.parametrize("start", [0.3, 1.0, 20.0])
def test_lbfgs_stays_in_the_domain_of_the_loss(loss, rate, start):
    point = tl.full((3,), start, dtype=tl.float64, requires_grad=True)
    optimizer = optim.LBFGS([point], lr=rate, max_iter=60, line_search_fn="strong_wolfe")
    losses = []

    def closure():
        optimizer.zero_grad()
        value = loss(point)
        value.backward()
        return value

    for _ in range(6):
        losses.append(float(optimizer.step(closure)))
        assert bool((point > 0).all()) and np.isfinite(float(loss(point)))
    assert losses == sorted(losses, reverse=True)
    if loss is _barrier:
        np.testing.assert_allclose(point.detach().numpy(), np.array([1.0, 2.0, 0.5]) / 3, rtol=1e-4)


def test_lbfgs_goes_on_from_a_state_dict():
    def make(point):
        optimizer = optim.LBFGS([point], max_iter=3, line_search_fn="strong_wolfe")

        def closure():
            optimizer.zero_grad()
            loss = rosenbrock(point)
            loss.backward()
            return loss

        return optimizer, closure

    first, second = (tensor([-0.5, 1.5], requires_grad=True) for _ in range(2))
    (one, closure), (other, other_closure) = make(first), make(second)
    one.step(closure)
    second.data.copy_(first.data)
    other.load_state_dict(one.state_dict())
    one.step(closure)
    other.step(other_closure)
    assert first.tolist() == second.tolist()


def test_lbfgs_faults():
    points = [tensor([1.0], requires_grad=True) for _ in range(2)]
    with pytest.raises(ValueError, match="doesn't support per-parameter options"):
        optim.LBFGS([{"params": [point]} for point in points])
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optim.LBFGS(points, line_search_fn="armijo").step(lambda: tl.tensor(0.0))


@pytest.mark.parametrize("limit", [1, 2, 3, 6])
def test_lbfgs_limits_the_calls_of_a_line_search(limit):
    point = tensor([-0.5, 1.5], requires_grad=True)
    optimizer = optim.LBFGS([point], lr=1e-4, max_iter=5, max_eval=limit, line_search_fn="strong_wolfe")
    calls = 0

    def closure():
        nonlocal calls
        calls += 1
        optimizer.zero_grad()
        loss = rosenbrock(point)
        loss.backward()
        return loss

    optimizer.step(closure)
    assert calls == optimizer.state[point]["func_evals"] <= limit + 1


def test_lbfgs_refuses_a_step_with_two_groups():
    optimizer = optim.LBFGS([tl.ones(2, requires_grad=True)])
    optimizer.add_param_group({"params": [tl.ones(2, requires_grad=True)]})
    with pytest.raises(AssertionError, match="Expected exactly one param_group, but got 2"):
        optimizer.step(lambda: tl.tensor(0.0))
