"""Derivatives of steps with respect to hyperparameters that are tensors, against finite differences."""

import numpy as np
import pytest

import tl_core as tl
from tl_autograd import grad
from tl_nn import optim

# For each optimizer: its hyperparameters with values at which all have an effect, and other options.
RULES = {
    "SGD": ({"lr": 0.1, "weight_decay": 0.3, "momentum": 0.6, "dampening": 0.2}, [{}]),
    "SGD ": ({"lr": 0.1, "weight_decay": 0.3, "momentum": 0.6}, [{"nesterov": True}, {"maximize": True}]),
    "Adam": (
        {"lr": 0.1, "weight_decay": 0.3, "eps": 1e-2, "beta1": 0.7, "beta2": 0.8},
        [{}, {"amsgrad": True}, {"decoupled_weight_decay": True}, {"maximize": True}],
    ),
    "AdamW": (
        {"lr": 0.1, "weight_decay": 0.5, "eps": 1e-2, "beta1": 0.7, "beta2": 0.8},
        [{}, {"amsgrad": True}],
    ),
    "NAdam": (
        {"lr": 0.1, "weight_decay": 0.3, "eps": 1e-2, "beta1": 0.7, "beta2": 0.8, "momentum_decay": 0.2},
        [{}, {"decoupled_weight_decay": True}],
    ),
    "RAdam": (
        {"lr": 0.1, "weight_decay": 0.3, "eps": 1e-2, "beta1": 0.7, "beta2": 0.9},
        [{}, {"decoupled_weight_decay": True}],
    ),
    "Adamax": ({"lr": 0.1, "weight_decay": 0.3, "eps": 1e-2, "beta1": 0.7, "beta2": 0.8}, [{}]),
    "Adadelta": ({"lr": 0.7, "weight_decay": 0.3, "eps": 1e-2, "rho": 0.8}, [{}]),
    "Adagrad": (
        {"lr": 0.1, "weight_decay": 0.3, "eps": 1e-2, "lr_decay": 0.2, "initial_accumulator_value": 0.1},
        [{}],
    ),
    "RMSprop": (
        {"lr": 0.1, "weight_decay": 0.3, "eps": 1e-2, "alpha": 0.8, "momentum": 0.6},
        [{}, {"centered": True}, {"maximize": True}],
    ),
    "Rprop": ({"lr": 0.05, "etaminus": 0.6, "etaplus": 1.3}, [{}]),
    "ASGD": ({"lr": 0.1, "weight_decay": 0.3, "lambd": 0.2, "alpha": 0.7}, [{}]),
}
CASES = [
    (name.strip(), values, option, more)
    for name, (values, extras) in RULES.items()
    for more in extras
    for option in values
]
PAIRS = {"beta1": "betas", "beta2": "betas", "etaminus": "etas", "etaplus": "etas"}
GRADS = np.random.default_rng(0).normal(size=(6, 2, 3))
START = np.array([[1.0, -2.0, 0.5], [0.7, 1.5, -0.4]])


@pytest.fixture(autouse=True)
def _double_precision():
    tl.set_default_dtype(tl.float64)
    yield
    tl.set_default_dtype(tl.float32)


def built(name, params, values, more):
    options = dict(more)
    for option, value in values.items():
        if option in PAIRS:
            options[PAIRS[option]] = (*options.get(PAIRS[option], ()), value)
        else:
            options[option] = value
    return getattr(optim, name)(params, **options)


def loss_after(name, values, more, steps, differentiable):
    """The sum of squares of two parameters after some steps on fixed gradients."""
    leaves = [tl.tensor(row, requires_grad=differentiable) for row in START]
    params = [leaf.clone() if differentiable else leaf for leaf in leaves]
    optimizer = built(name, params, values, {**more, "differentiable": differentiable})
    for step in range(steps):
        for number, param in enumerate(params):
            param.grad = tl.tensor(GRADS[step, number])
        optimizer.step()
    return sum((param * param).sum() for param in params)


def tensors(values, option, shape=()):
    """The options, one as a leaf; Adam's betas are both numbers or both tensors."""
    result = {option: tl.tensor(values[option]).reshape(shape).requires_grad_()}
    twin = {"beta1": "beta2", "beta2": "beta1"}.get(option)
    if twin:
        result[twin] = tl.tensor(values[twin])
    return {**values, **result}, result[option]


@pytest.mark.parametrize("steps", [1, 2, 6])
@pytest.mark.parametrize(("name", "values", "option", "more"), CASES)
def test_derivatives_of_hyperparameters(name, values, option, more, steps):
    source, leaf = tensors(values, option)
    loss = loss_after(name, source, more, steps, True)
    width = 1e-6
    ends = [
        float(loss_after(name, {**values, option: values[option] + side * width}, more, steps, False))
        for side in (1, -1)
    ]
    expected = (ends[0] - ends[1]) / (2 * width)
    if not loss.requires_grad:  # the first steps don't depend on it
        assert abs(expected) < 1e-7
        return
    (result,) = grad(loss, leaf, allow_unused=True)
    assert float(0 if result is None else result) == pytest.approx(expected, rel=2e-4, abs=1e-6)


@pytest.mark.parametrize("shape", [(), (1,)])
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("foreach", [None, True, False])
@pytest.mark.parametrize(("name", "values", "option", "more"), CASES)
def test_tensors_are_numbers_where_nothing_is_recorded(name, values, option, more, foreach, recorded, shape):
    if name.startswith("Adam") and foreach and name != "Adamax" and option in ("lr", "beta1", "beta2"):
        with pytest.raises(ValueError, match="foreach=True"):
            built(name, [tl.ones(2, requires_grad=True)], tensors(values, option)[0], {"foreach": True})
        return
    source, leaf = tensors(values, option, shape)
    leaf.requires_grad_(recorded)
    results = []
    for options in (source, values):
        params = [tl.tensor(row, requires_grad=True) for row in START]
        optimizer = built(name, params, options, {**more, "foreach": foreach})
        for step in range(3):
            for param in params:
                param.grad = param.detach() * (-1.0) ** step
            optimizer.step()
        assert not any(param.grad_fn for param in params)
        results.append(tl.stack(params).detach().numpy())
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("name", ["sgd", "adam", "adamw", "adagrad"])
def test_functions_record_where_gradients_are_enabled(name):
    rate = tl.tensor(0.1, requires_grad=True)
    param, grad = tl.tensor([1.0, 2.0]), tl.tensor([0.5, 0.3])
    zeros = [tl.zeros(2)]
    if name == "sgd":
        more = {"weight_decay": 0.5, "momentum": 0, "dampening": 0, "nesterov": False}
        optim.sgd.sgd([param], [grad], [None], lr=rate, maximize=False, **more)
        expected = -(grad + 0.5 * tl.tensor([1.0, 2.0])).sum()
    elif name == "adagrad":
        more = {"weight_decay": 0, "lr_decay": 0, "eps": 0}
        optim.adagrad.adagrad([param], [grad], zeros, [tl.tensor(0.0)], lr=rate, maximize=False, **more)
        expected = tl.tensor(-2.0)
    else:
        module = getattr(optim, name)
        more = {"beta1": 0.9, "beta2": 0.99, "weight_decay": 0.5 if name == "adamw" else 0, "eps": 0}
        state = (zeros, [tl.zeros(2)], [], [tl.tensor(0.0)])
        getattr(module, name)([param], [grad], *state, lr=rate, amsgrad=False, maximize=False, **more)
        expected = tl.tensor(-3.5 if name == "adamw" else -2.0)
    param.sum().backward()
    assert float(rate.grad) == pytest.approx(float(expected))


def test_a_fused_step_is_not_recorded():
    rate = tl.tensor(0.1, requires_grad=True)
    more = {"weight_decay": 0, "momentum": 0, "dampening": 0, "nesterov": False, "maximize": False}
    with pytest.raises(RuntimeError, match="fused"):
        optim.sgd.sgd([tl.ones(2)], [tl.ones(2)], [None], fused=True, lr=rate, **more)
