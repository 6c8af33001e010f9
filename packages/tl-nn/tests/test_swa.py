"""Averages of a model's parameters."""

import numpy as np
import pytest

import tl_core as tl
from tl_nn import Linear
from tl_nn.optim import SGD, swa_utils


def set_all(model, value):
    with tl.no_grad():
        for parameter in model.parameters():
            parameter.fill_(value)


def averaged_over(values, **options):
    model = Linear(2, 1)
    averaged = swa_utils.AveragedModel(model, **options)
    for value in values:
        set_all(model, value)
        averaged.update_parameters(model)
    return averaged


def test_equal_weights():
    averaged = averaged_over([1.0, 2.0, 6.0])
    np.testing.assert_allclose(averaged.module.weight.tolist(), [[3.0, 3.0]], rtol=1e-6)
    assert averaged.n_averaged.item() == 3
    assert averaged(tl.ones(1, 2)).item() == pytest.approx(9.0)


@pytest.mark.parametrize(
    "options",
    [
        {"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.75)},
        {"avg_fn": swa_utils.get_ema_avg_fn(0.75)},
        {"avg_fn": lambda average, value, count: 0.75 * average + 0.25 * value},
    ],
)
def test_moving_average(options):
    averaged = averaged_over([1.0, 2.0, 6.0], **options)
    np.testing.assert_allclose(averaged.module.bias.tolist(), [0.75 * 1.25 + 1.5], rtol=1e-6)


def test_two_spellings_of_equal_weights():
    for options in (
        {"avg_fn": swa_utils.get_swa_avg_fn()},
        {"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()},
    ):
        averaged = averaged_over([1.0, 2.0, 6.0], **options)
        np.testing.assert_allclose(averaged.module.bias.tolist(), [3.0], rtol=1e-6)


def test_buffers_are_copied_or_averaged():
    for use_buffers, expected in ((False, 4.0), (True, 2.0)):
        model = Linear(1, 1)
        model.register_buffer("count", tl.tensor(0.0))
        averaged = swa_utils.AveragedModel(model, use_buffers=use_buffers)
        for value in (0.0, 4.0):
            model.count.fill_(value)
            averaged.update_parameters(model)
        assert averaged.module.count.item() == expected


def test_state_dict():
    averaged = averaged_over([1.0, 3.0])
    assert list(averaged.state_dict()) == ["n_averaged", "module.weight", "module.bias"]


def test_faults():
    with pytest.raises(AssertionError, match="Only one of"):
        swa_utils.AveragedModel(Linear(1, 1), avg_fn=max, multi_avg_fn=max)
    with pytest.raises(ValueError, match=r"Invalid decay value 1\.5"):
        swa_utils.get_ema_multi_avg_fn(1.5)


@pytest.mark.parametrize("strategy", ["cos", "linear"])
def test_rates_move_to_a_fixed_value(strategy):
    optimizer = SGD([tl.ones(1, requires_grad=True)], lr=1.0)
    scheduler = swa_utils.SWALR(optimizer, swa_lr=0.2, anneal_epochs=4, anneal_strategy=strategy)
    share = np.minimum(np.arange(7) / 4, 1)
    if strategy == "cos":
        share = (1 - np.cos(np.pi * share)) / 2
    for part in share:
        assert scheduler.get_last_lr()[0] == pytest.approx(1.0 + part * (0.2 - 1.0))
        optimizer.step()
        scheduler.step()


def test_rate_faults():
    optimizer = SGD([tl.ones(1, requires_grad=True)], lr=1.0)
    with pytest.raises(ValueError, match="one of 'cos' or 'linear'"):
        swa_utils.SWALR(optimizer, 0.1, anneal_strategy="square")
    with pytest.raises(ValueError, match=r"same length as optimizer.param_groups"):
        swa_utils.SWALR(optimizer, [0.1, 0.2])
    with pytest.raises(ValueError, match="equal or greater than 0, got -1"):
        swa_utils.SWALR(optimizer, 0.1, anneal_epochs=-1)
