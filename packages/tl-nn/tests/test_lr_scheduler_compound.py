"""Schedules that go up and down, wait for a metric, or are made of others."""

import math
import pickle

import pytest

import tl_core as tl
from tl_nn import optim
from tl_nn.optim import lr_scheduler


def optimizer(kind=optim.SGD, **options):
    groups = [{"params": [tl.ones(1, requires_grad=True)], "lr": lr} for lr in (0.1, 0.3)]
    if kind is optim.SGD:
        options = {"momentum": 0.9, **options}
    return kind(groups, **options)


def rates(scheduler, epochs):
    records = []
    for _ in range(epochs):
        records.append(float(scheduler.optimizer.param_groups[0]["lr"]))
        scheduler.optimizer.step()
        scheduler.step()
    return records


def triangle(step, up, down):
    position = step % (up + down)
    return position / up if position <= up else (up + down - position) / down


@pytest.mark.parametrize(
    ("mode", "gamma", "height"),
    [
        ("triangular", 1.0, lambda step: 1.0),
        ("triangular2", 1.0, lambda step: 0.5 ** (step // 5)),
        ("exp_range", 0.9, lambda step: 0.9**step),
    ],
)
def test_cyclic(mode, gamma, height):
    opt = optimizer()
    scheduler = lr_scheduler.CyclicLR(opt, 0.01, 0.1, 2, 3, mode=mode, gamma=gamma)
    for step in range(20):
        rise = triangle(step, 2, 3) * height(step)
        assert opt.param_groups[0]["lr"] == pytest.approx(0.01 + 0.09 * rise)
        assert opt.param_groups[1]["momentum"] == pytest.approx(0.9 - 0.1 * rise)
        opt.step()
        scheduler.step()


def test_cyclic_with_betas_and_own_heights():
    opt = optimizer(optim.Adam)
    scheduler = lr_scheduler.CyclicLR(opt, [0.0, 0.1], [1.0, 0.2], 2, scale_fn=Halves(2.0))
    records = []
    for _ in range(8):
        records.append((opt.param_groups[0]["lr"], opt.param_groups[0]["betas"]))
        opt.step()
        scheduler.step()
    assert [lr for lr, _ in records] == pytest.approx([0, 0.5, 1, 0.5, 0, 0.25, 0.5, 0.25])
    assert records[2][1] == pytest.approx((0.8, 0.999))
    state = pickle.loads(pickle.dumps(scheduler.state_dict()))
    other = lr_scheduler.CyclicLR(optimizer(optim.Adam), 0.0, 1.0, 2, scale_fn=Halves(9.0))
    other.load_state_dict(state)
    assert other.last_epoch == 8 and other.scale_fn(2) == 0.5


class Halves:
    def __init__(self, base):
        self.base = base

    def __call__(self, cycle):
        return 1 / self.base ** (cycle - 1)


def cosine(start, end, part):
    return end + (start - end) / 2 * (1 + math.cos(math.pi * part))


def test_one_cycle():
    opt = optimizer()
    records = rates(lr_scheduler.OneCycleLR(opt, 1.0, total_steps=11, pct_start=0.5), 11)
    peak, last = 4.5, 10
    for step, rate in enumerate(records):
        if step <= peak:
            expected = cosine(0.04, 1.0, step / peak)
        else:
            expected = cosine(1.0, 4e-6, (step - peak) / (last - peak))
        assert rate == pytest.approx(expected)
    assert opt.param_groups[0]["momentum"] == pytest.approx(0.95, abs=0.01)


def test_one_cycle_in_three_phases():
    records = rates(
        lr_scheduler.OneCycleLR(
            optimizer(),
            1.0,
            epochs=5,
            steps_per_epoch=4,
            pct_start=0.25,
            anneal_strategy="linear",
            three_phase=True,
        ),
        20,
    )
    assert records[0] == pytest.approx(0.04) and records[4] == pytest.approx(1.0)
    assert records[8] == pytest.approx(0.04) and records[19] == pytest.approx(4e-6)
    assert records[2] == pytest.approx(0.52) and records[6] == pytest.approx(0.52)


def test_one_cycle_ends():
    scheduler = lr_scheduler.OneCycleLR(optimizer(), 1.0, total_steps=3)
    rates(scheduler, 3)
    with pytest.raises(ValueError, match=r"Tried to step 4 times. The specified number of total steps is 3"):
        scheduler.step()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "You must define either total_steps"),
        ({"total_steps": -1}, "Expected positive integer total_steps, but got -1"),
        ({"epochs": 0, "steps_per_epoch": 3}, "Expected positive integer epochs, but got 0"),
        ({"total_steps": 5, "pct_start": 2}, "Expected float between 0 and 1 pct_start, but got 2"),
        ({"total_steps": 5, "anneal_strategy": "x"}, "anneal_strategy must be one of"),
    ],
)
def test_one_cycle_faults(options, message):
    with pytest.raises(ValueError, match=message):
        lr_scheduler.OneCycleLR(optimizer(), 1.0, **options)


def test_cyclic_faults():
    with pytest.raises(ValueError, match="base_lr must have the same length"):
        lr_scheduler.CyclicLR(optimizer(), [0.1], 1.0)
    with pytest.raises(ValueError, match="mode is invalid and scale_fn is None"):
        lr_scheduler.CyclicLR(optimizer(), 0.1, 1.0, mode="square")
    with pytest.raises(TypeError, match="int is not an Optimizer"):
        lr_scheduler.CyclicLR(3, 0.1, 1.0)


def plateau(metrics, **options):
    opt = optimizer()
    scheduler = lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, **options)
    records = []
    for metric in metrics:
        scheduler.step(metric)
        records.append(round(opt.param_groups[0]["lr"] / 0.1, 6))
    return records


def test_plateau():
    assert plateau([5, 4, 4, 4, 4, 4], patience=1) == [1, 1, 1, 0.5, 0.5, 0.25]
    assert plateau([5, 5, 5, 5, 5], patience=0, cooldown=2) == [1, 0.5, 0.5, 0.5, 0.25]
    assert plateau([1, 2, 2, 3], mode="max", patience=0) == [1, 1, 0.5, 0.5]
    assert plateau([1.0, 0.95, 0.8], threshold=0.1, patience=0) == [1, 0.5, 0.5]
    assert plateau([1.0, 1.4, 1.6], mode="max", threshold=0.5, threshold_mode="abs", patience=0) == [
        1,
        0.5,
        0.5,
    ]
    assert plateau([1, 1, 1], patience=0, min_lr=0.07) == [1, 0.7, 0.7]
    assert plateau([1, 1], patience=0, eps=1.0) == [1, 1]
    assert plateau([tl.tensor(1.0), tl.tensor(1.0)], patience=0) == [1, 0.5]


def test_plateau_resumes():
    first = lr_scheduler.ReduceLROnPlateau(optimizer(), patience=3)
    first.step(1.0)
    first.step(2.0)
    second = lr_scheduler.ReduceLROnPlateau(optimizer(), patience=1)
    second.load_state_dict(pickle.loads(pickle.dumps(first.state_dict())))
    assert (second.best, second.num_bad_epochs, second.patience, second.last_epoch) == (1.0, 1, 3, 2)


def test_plateau_faults():
    for options, message in (
        ({"factor": 1.0}, "Factor should be < 1.0"),
        ({"mode": "up"}, "mode up is unknown!"),
        ({"threshold_mode": "x"}, "threshold mode x is unknown!"),
        ({"min_lr": [0.1]}, "expected 2 min_lrs, got 1"),
    ):
        with pytest.raises(ValueError, match=message):
            lr_scheduler.ReduceLROnPlateau(optimizer(), **options)


def test_sequential():
    opt = optimizer()
    parts = [
        lr_scheduler.ConstantLR(opt, 0.5, 20),
        lr_scheduler.ExponentialLR(opt, 0.5),
        lr_scheduler.LambdaLR(opt, lambda epoch: 3.0 + epoch),
    ]
    records = rates(lr_scheduler.SequentialLR(opt, parts, [2, 5]), 7)
    assert records == pytest.approx([0.05, 0.05, 0.1, 0.05, 0.025, 0.3, 0.4])


def test_sequential_resumes():
    def make(opt):
        parts = [lr_scheduler.LinearLR(opt, 0.5, 1.0, 3), lr_scheduler.CosineAnnealingLR(opt, 10)]
        return lr_scheduler.SequentialLR(opt, parts, [3])

    full = rates(make(optimizer()), 10)
    first = make(optimizer())
    rates(first, 5)
    second = make(optimizer())
    second.optimizer.load_state_dict(first.optimizer.state_dict())
    second.load_state_dict(pickle.loads(pickle.dumps(first.state_dict())))
    assert rates(second, 5) == pytest.approx(full[5:])


def test_chained():
    opt = optimizer()
    parts = [lr_scheduler.ConstantLR(opt, 0.5, 2), lr_scheduler.ExponentialLR(opt, 0.5)]
    scheduler = lr_scheduler.ChainedScheduler(parts)
    assert rates(scheduler, 4) == pytest.approx([0.05, 0.025, 0.025, 0.0125])
    scheduler.load_state_dict(pickle.loads(pickle.dumps(scheduler.state_dict())))
    assert scheduler.get_last_lr()[0] == opt.param_groups[0]["lr"]


def test_chained_in_sequential():
    """A constant factor of 0.1 for five epochs times a line from 0.1 to 1, as PyTorch's test has it."""
    opt = optimizer()
    both = lr_scheduler.ChainedScheduler(
        [lr_scheduler.LinearLR(opt, 0.1, total_iters=5), lr_scheduler.ConstantLR(opt, 0.1, 5)]
    )
    half = lr_scheduler.ConstantLR(opt, 0.5, 5)
    first = [0.1 * 0.1 * (0.1 + 0.18 * epoch) for epoch in range(5)]
    assert rates(lr_scheduler.SequentialLR(opt, [both, half], [5]), 8) == pytest.approx([*first, *[0.05] * 3])
    opt = optimizer()
    both = lr_scheduler.ChainedScheduler(
        [lr_scheduler.LinearLR(opt, 0.1, total_iters=5), lr_scheduler.ConstantLR(opt, 0.1, 5)]
    )
    half = lr_scheduler.ConstantLR(opt, 0.5, 5)
    assert rates(lr_scheduler.SequentialLR(opt, [half, both], [2]), 6) == pytest.approx(
        [0.05, 0.05, *first[:4]]
    )


def test_a_factor_goes_on_from_the_rate_at_its_milestone():
    opt = optimizer()
    parts = [
        lr_scheduler.LinearLR(opt, 0.1, total_iters=4),
        lr_scheduler.MultiplicativeLR(opt, lambda epoch: 0.9),
    ]
    expected = [0.01, 0.0325, 0.0325 * 0.9, 0.0325 * 0.81]
    assert rates(lr_scheduler.SequentialLR(opt, parts, [2]), 4) == pytest.approx(expected)


def test_sequential_begins_at_the_first_rates_of_the_groups():
    opt = optimizer()
    parts = [
        lr_scheduler.LinearLR(opt, 0.1, total_iters=4),
        lr_scheduler.OneCycleLR(opt, 0.4, total_steps=20),
    ]
    assert rates(lr_scheduler.SequentialLR(opt, parts, [2]), 2) == pytest.approx([0.0016, 0.0052])


@pytest.mark.parametrize("kind", ["cyclic", "one cycle", "average"])
def test_bounds_are_copies_of_tensors(kind):
    """A program that changes its tensor later changes no schedule."""
    high, low, most, least = (tl.tensor(value, dtype=tl.float64) for value in (0.2, 0.1, 0.9, 0.8))
    momenta = {"base_momentum": least, "max_momentum": most}
    make = {
        "cyclic": lambda opt: lr_scheduler.CyclicLR(opt, low, high, 4, **momenta),
        "one cycle": lambda opt: lr_scheduler.OneCycleLR(opt, high, 10, **momenta),
        "average": lambda opt: optim.swa_utils.SWALR(opt, high),
    }[kind]
    numbers = {
        "cyclic": lambda opt: lr_scheduler.CyclicLR(opt, 0.1, 0.2, 4, base_momentum=0.8, max_momentum=0.9),
        "one cycle": lambda opt: lr_scheduler.OneCycleLR(opt, 0.2, 10, base_momentum=0.8, max_momentum=0.9),
        "average": lambda opt: optim.swa_utils.SWALR(opt, 0.2),
    }[kind]
    scheduler = make(optimizer())
    for tensor in (high, low, most, least):
        tensor.mul_(0.5)
    expected = rates(numbers(optimizer()), 5)
    assert rates(scheduler, 5) == pytest.approx(expected)
    if kind != "average":
        group = scheduler.optimizer.param_groups[0]
        assert float(group["max_momentum"]) == 0.9 and float(group["base_momentum"]) == 0.8


@pytest.mark.parametrize("kind", [lr_scheduler.SequentialLR, lr_scheduler.ChainedScheduler])
def test_compound_faults(kind):
    def make(opt, schedulers):
        if kind is lr_scheduler.SequentialLR:
            return kind(opt, schedulers, [1] * (len(schedulers) - 1))
        return kind(schedulers, opt)

    opt, other = optimizer(), optimizer()
    with pytest.raises(ValueError, match="at least one scheduler"):
        make(opt, [])
    with pytest.raises(ValueError, match="to belong to the same optimizer"):
        make(opt, [lr_scheduler.ExponentialLR(other, 0.5)])
    with pytest.raises(ValueError, match="does not support `ReduceLROnPlateau`"):
        make(opt, [lr_scheduler.ReduceLROnPlateau(opt)])
    with pytest.raises(
        ValueError, match="number of schedulers 1 and the number of milestones to be equal to 2"
    ):
        lr_scheduler.SequentialLR(opt, [lr_scheduler.ExponentialLR(opt, 0.5)], [1, 2])
