"""Arithmetic of optimizers on lists of tensors, their checks and the rates of schedulers."""

import math

import pytest

import tl_core as tl
import tl_nn as nn
from tl_nn import optim
from tl_nn.optim import checks, hyperparameters, lists, optimizer, rule
from tl_nn.optim.lr_scheduler import base
from tl_nn.optim.muon import muon

PLAIN_OR_RECORDED = pytest.mark.parametrize("number", [float, lambda x: tl.tensor(x, requires_grad=True)])


def tensors(*rows):
    return [tl.tensor(row) for row in rows]


def values(each):
    return [t.tolist() for t in each]


@PLAIN_OR_RECORDED
def test_sums(number):
    x, y = tensors([1.0, 2.0], [3.0]), tensors([10.0, 20.0], [30.0])
    assert values(lists.add_scaled(x, y, number(0.5))) == [[6, 12], [18]]
    assert values(lists.add_to_each(x, number(0.5))) == [[1.5, 2.5], [3.5]]
    assert values(x) == [[1, 2], [3]]


@PLAIN_OR_RECORDED
def test_changes_in_place(number):
    with tl.no_grad():
        x, y = tensors([1.0, 2.0], [3.0]), tensors([10.0, 20.0], [30.0])
        lists.subtract_scaled(x, y, number(0.5))
        assert values(x) == [[-4, -8], [-12]]
        lists.scale_each(x, [number(2.0), number(0.5)])
        assert values(x) == [[-8, -16], [-6]]


@PLAIN_OR_RECORDED
def test_running_means(number):
    with tl.no_grad():
        means, squares, grads = tensors([4.0]), tensors([8.0]), tensors([2.0])
        lists.approach(means, grads, number(0.25))
        assert values(means) == [[3.5]]
        lists.add_squares(squares, grads, number(0.75))
        assert values(squares) == [[7]]
        lists.update_moments(means, squares, grads, number(0.5), number(0.5))
        assert values(means) == [[2.75]] and values(squares) == [[5.5]]


def test_directions():
    params, grads = tensors([2.0]), tensors([3.0])
    assert values(lists.directions(params, grads, True)) == [[-3]]
    assert values(lists.directions(params, grads, False, 0.5)) == [[4]]
    assert values(lists.with_decay(params, grads, 0.5, 0.5, False, True)) == [[-2]] and values(params) == [
        [2]
    ]
    assert values(lists.with_decay(params, grads, 0.5, 0.5, True, False)) == [[3]] and values(params) == [
        [1.5]
    ]


def test_steps():
    steps = tensors(0.0, 4.0)
    assert lists.count_steps(steps) == [1, 5] and values(steps) == [1, 5]


def test_copies():
    x = tensors([1.0])
    assert lists.clone_for_graph(x, False) is x
    copy = lists.clone_for_graph(x, True)
    assert values(copy) == [[1]] and copy[0] is not x[0]
    params, grads, state = lists.as_real(*([tl.tensor([1 + 2j])] for _ in range(3)))
    assert values(params) == values(grads) == values(state) == [[[1, 2]]]
    assert lists.as_real(x, x)[0] is x
    sparse = tl.tensor([0.0, 5.0]).to_sparse()
    assert lists.with_values(sparse, tl.tensor([7.0])).to_dense().tolist() == [0, 7]


def test_hyperparameters():
    recorded = tl.tensor([0.25], requires_grad=True)
    assert hyperparameters.as_number(0.25) == hyperparameters.as_number(tl.tensor([0.25])) == 0.25
    assert (
        hyperparameters.as_number(recorded).shape == () and hyperparameters.as_number(recorded).requires_grad
    )
    assert hyperparameters.has_effect(tl.zeros(())) and not hyperparameters.has_effect(0.0)
    assert hyperparameters.square_root(9.0) == hyperparameters.square_root(tl.tensor(9.0)).item() == 3

    @hyperparameters.takes_tensors
    def update(params, *, lr, differentiable=False, fused=False):
        log.append((lr, differentiable))

    log = []
    update([], lr=tl.tensor(0.5))
    update([], lr=tl.tensor(0.5, requires_grad=True))
    assert log == [(0.5, False), (0.5, True)]
    with pytest.raises(RuntimeError, match="differentiable"):
        update([], lr=tl.tensor(0.5, requires_grad=True), fused=True)


def test_refusals():
    checks.check_lr(tl.tensor([0.1]))
    for lr in (-1.0, math.nan, tl.tensor([1.0, 2.0])):
        with pytest.raises(ValueError, match=r"lr|learning rate"):
            checks.check_lr(lr)
    checks.check_options({"lr": 0.1, "eps": 1e-8, "betas": (0.9, 0.99)})
    for options in {"eps": -1.0}, {"betas": (1.0, 0.9)}, {"weight_decay": -1.0}, {"lr": -1.0}:
        with pytest.raises(ValueError, match="Invalid"):
            checks.check_options(options)
    checks.check_unscaled("Adam", None, None)
    with pytest.raises(NotImplementedError, match="Adam: grad_scale"):
        checks.check_unscaled("Adam", tl.ones(()), None)
    checks.check_capturable(False, [tl.ones(1)])
    with pytest.raises(AssertionError, match="capturable"):
        checks.check_capturable(True, [tl.ones(1)])


def test_fused_lists():
    assert optimizer.fusable(tensors([1.0], [2.0]))
    for params in [], tensors([1]), [tl.ones(1), tl.ones(1).double()], [tl.eye(2).to_sparse()]:
        assert not optimizer.fusable(params)


def test_closures():
    with tl.no_grad():
        assert optimizer.evaluate(tl.is_grad_enabled) is True and optimizer.evaluate(None) is None


def test_rules():
    def update(params, grads, *, lr, beta1, beta2):
        for param, grad in zip(params, grads, strict=True):
            param.sub_(grad * lr)

    simple = rule.Rule(update, ())
    group = {"params": [], "lr": 0.5, "betas": (0.9, 0.99), "eps": 1.0}
    assert simple.options(group) == {"lr": 0.5, "beta1": 0.9, "beta2": 0.99}
    assert rule.options_of({"self": 1, "params": 2, "lr": 3}) == {"lr": 3}
    state = rule.initial_state(tl.ones(2), ("step", "mean"))
    assert state["step"].item() == 0 and state["mean"].tolist() == [0, 0]

    class Simple(rule.RuleOptimizer):
        _rule = simple

        def __init__(self, params):
            super().__init__(
                params, {"lr": 0.5, "betas": (0.9, 0.99), "differentiable": False, "maximize": False}
            )

    weight = nn.Parameter(tl.tensor([4.0]))
    weight.grad = tl.tensor([2.0])
    assert Simple([weight]).step(lambda: "loss") == "loss" and weight.tolist() == [3]


def test_rates():
    weight = nn.Parameter(tl.zeros(1))
    sgd = optim.SGD([{"params": [weight]}, {"params": [], "lr": tl.tensor(0.5)}], lr=0.25)
    scheduler = optim.lr_scheduler.StepLR(sgd, 10)
    shared = sgd.param_groups[1]["lr"]
    assert base.present_rates(scheduler, 2.0) == [0.5, 1.0]
    base.set_rates(scheduler, [1.0, 4.0])
    assert sgd.param_groups[0]["lr"] == 1.0 and shared.item() == 4 and scheduler.get_last_lr() == [1, 4]
    base.set_option(sgd.param_groups[0], "momentum", 0.5)
    assert sgd.param_groups[0]["momentum"] == 0.5
    with pytest.warns(UserWarning, match="get_last_lr"):
        base.warn_outside_step(scheduler)
    with pytest.warns(UserWarning, match="epoch parameter"):
        base.warn_of_epoch()


def test_muon():
    """One step of (1.5, -0.5, 0) on a multiple of the unit matrix is a closed form: x (1.5 - 0.5 x x)."""
    param, grad, momentum = [tl.eye(2)], [tl.eye(2) * 2], [tl.zeros(2, 2)]
    settings = {"weight_decay": 0.5, "momentum": 0.5, "nesterov": False, "eps": 1e-7, "adjust_lr_fn": None}
    muon(param, grad, momentum, lr=0.1, ns_coefficients=(1.5, -0.5, 0.0), ns_steps=1, **settings)
    x = 1 / math.sqrt(2)
    expected = (1 - 0.1 * 0.5) - 0.1 * x * (1.5 - 0.5 * x * x)
    assert tl.allclose(param[0], tl.eye(2) * expected, atol=4e-3) and momentum[0].tolist() == [[1, 0], [0, 1]]
