"""Schedules against their closed forms."""

import math
import pickle

import pytest

import tl_core as tl
from tl_nn import optim
from tl_nn.optim import lr_scheduler

LRS = (0.1, 0.3)
EPOCHS = 25


def optimizer():
    groups = [{"params": [tl.ones(1, requires_grad=True)], "lr": lr} for lr in LRS]
    return optim.SGD(groups)


def rates(scheduler, epochs=EPOCHS):
    records = []
    for _ in range(epochs):
        records.append([group["lr"] for group in scheduler.optimizer.param_groups])
        assert scheduler.get_last_lr() == records[-1]
        scheduler.optimizer.step()
        scheduler.step()
    return records


def warm(epoch):
    """Cosine with restarts after 3, 6, 12, ... epochs."""
    length = 3
    while epoch >= length:
        epoch, length = epoch - length, length * 2
    return 0.5 * (1 + math.cos(math.pi * epoch / length))


SCHEDULES = {
    "LambdaLR": (lambda o: lr_scheduler.LambdaLR(o, lambda e: 0.9**e), lambda e: 0.9**e),
    "MultiplicativeLR": (lambda o: lr_scheduler.MultiplicativeLR(o, lambda e: 0.9), lambda e: 0.9**e),
    "StepLR": (lambda o: lr_scheduler.StepLR(o, 3, 0.5), lambda e: 0.5 ** (e // 3)),
    "MultiStepLR": (
        lambda o: lr_scheduler.MultiStepLR(o, [2, 2, 7], 0.5),
        lambda e: 0.25 * 0.5 ** (e >= 7) if e >= 2 else 1.0,
    ),
    "ConstantLR": (lambda o: lr_scheduler.ConstantLR(o, 0.2, 4), lambda e: 0.2 if e < 4 else 1.0),
    "LinearLR": (lambda o: lr_scheduler.LinearLR(o, 0.2, 0.8, 4), lambda e: 0.2 + 0.6 * min(e, 4) / 4),
    "ExponentialLR": (lambda o: lr_scheduler.ExponentialLR(o, 0.9), lambda e: 0.9**e),
    "PolynomialLR": (lambda o: lr_scheduler.PolynomialLR(o, 7, 2.0), lambda e: (1 - min(e, 7) / 7) ** 2),
    "CosineAnnealingLR": (
        lambda o: lr_scheduler.CosineAnnealingLR(o, 4),
        lambda e: 0.5 * (1 + math.cos(math.pi * e / 4)),
    ),
    "CosineAnnealingWarmRestarts": (lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3, 2), warm),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_closed_forms(name):
    make, factor = SCHEDULES[name]
    records = rates(make(optimizer()))
    for epoch, row in enumerate(records):
        assert row == pytest.approx([lr * factor(epoch) for lr in LRS], rel=1e-9, abs=1e-12), epoch


@pytest.mark.parametrize("name", SCHEDULES)
def test_resuming(name):
    make, _ = SCHEDULES[name]
    full = rates(make(optimizer()))
    first = make(optimizer())
    rates(first, 5)
    second = make(optimizer())
    second.optimizer.load_state_dict(first.optimizer.state_dict())
    state = first.state_dict()
    second.load_state_dict(
        state if "Lambda" in name or "Multipl" in name else pickle.loads(pickle.dumps(state))
    )
    assert "optimizer" not in state
    for row, expected in zip(rates(second, EPOCHS - 5), full[5:], strict=True):
        assert row == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_cosine_with_a_floor():
    records = rates(lr_scheduler.CosineAnnealingLR(optimizer(), 4, eta_min=0.05))
    for epoch, row in enumerate(records):
        share = 0.5 * (1 + math.cos(math.pi * epoch / 4))
        assert row == pytest.approx([0.05 + (lr - 0.05) * share for lr in LRS], rel=1e-9)


def test_schedulers_chain():
    opt = optimizer()
    first, second = lr_scheduler.ExponentialLR(opt, 0.9), lr_scheduler.StepLR(opt, 2, 0.5)
    for epoch in range(5):
        assert opt.param_groups[0]["lr"] == pytest.approx(0.1 * 0.9**epoch * 0.5 ** (epoch // 2))
        opt.step()
        first.step()
        second.step()


def test_a_lambda_for_each_group():
    scheduler = lr_scheduler.LambdaLR(optimizer(), [lambda e: 1.0, lambda e: 0.5**e])
    assert rates(scheduler, 3)[2] == pytest.approx([0.1, 0.075])
    with pytest.raises(ValueError, match="Expected 2 lr_lambdas, but got 1"):
        lr_scheduler.LambdaLR(optimizer(), [lambda e: 1.0])


class Decay:
    """A callable object with state."""

    def __init__(self, base):
        self.base = base

    def __call__(self, epoch):
        return self.base**epoch


def test_callable_objects_are_saved():
    scheduler = lr_scheduler.LambdaLR(optimizer(), Decay(0.5))
    state = pickle.loads(pickle.dumps(scheduler.state_dict()))
    other = lr_scheduler.LambdaLR(optimizer(), Decay(0.1))
    other.load_state_dict(state)
    assert other.lr_lambdas[0].base == 0.5


def test_learning_rate_tensors_are_filled():
    lr = tl.tensor(0.5)
    opt = optim.SGD([tl.ones(1, requires_grad=True)], lr=lr)
    scheduler = lr_scheduler.ExponentialLR(opt, 0.5)
    opt.step()
    scheduler.step()
    assert opt.param_groups[0]["lr"] is lr and lr.item() == 0.25
    assert scheduler.base_lrs[0].item() == 0.5


def test_order_of_calls_is_watched():
    scheduler = lr_scheduler.ExponentialLR(optimizer(), 0.5)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        scheduler.step()


def test_faults():
    with pytest.raises(TypeError, match="int is not an Optimizer"):
        lr_scheduler.StepLR(3, 1)
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified in param_groups"):
        lr_scheduler.StepLR(optimizer(), 1, last_epoch=4)
    with pytest.raises(ValueError, match="between 0 and 1, got 2"):
        lr_scheduler.ConstantLR(optimizer(), 2.0)
    with pytest.raises(ValueError, match="greater than 0 and less or equal to 1, got 0"):
        lr_scheduler.LinearLR(optimizer(), 0.0)
    with pytest.raises(ValueError, match="Expected positive integer T_0, but got 0"):
        lr_scheduler.CosineAnnealingWarmRestarts(optimizer(), 0)
    with pytest.raises(ValueError, match=r"Expected integer T_mult >= 1, but got 0.5"):
        lr_scheduler.CosineAnnealingWarmRestarts(optimizer(), 1, 0.5)
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        lr_scheduler.StepLR(optimizer(), 1).get_lr()


def test_warm_restarts_take_fractions():
    scheduler = lr_scheduler.CosineAnnealingWarmRestarts(optimizer(), 3, 2)
    for epoch in (0.5, 2.0, 4.5, 10.25):
        scheduler.step(epoch)
        assert scheduler.get_last_lr() == pytest.approx([lr * warm(epoch) for lr in LRS])
    with pytest.raises(ValueError, match="Expected non-negative epoch"):
        scheduler.step(-1)


def test_both_names_of_the_base_class():
    class Old(lr_scheduler._LRScheduler):
        def get_lr(self):
            return [0.25 for _ in self.base_lrs]

    scheduler = Old(optimizer())
    assert isinstance(scheduler, lr_scheduler.LRScheduler) and scheduler.get_last_lr() == [0.25, 0.25]
