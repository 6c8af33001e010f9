"""Anomaly detection."""

import warnings

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd import anomaly_mode, func


class Broken(tl_autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        raise ValueError("broken")


def made_here(x):
    return Broken.apply(x)


def test_a_failure_shows_where_the_call_was_recorded():
    x = tl.ones(1, requires_grad=True)
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"), tl_autograd.detect_anomaly():
        y = made_here(x)
        with (
            pytest.warns(UserWarning, match=r"Error detected in BrokenBackward\..*(?s:.*)in made_here"),
            pytest.raises(ValueError, match="broken"),
        ):
            y.backward()
    assert "traceback_" not in made_here(x).grad_fn.metadata


def test_nan_is_found():
    x = tl.zeros(1, dtype=tl.float64, requires_grad=True)
    with tl_autograd.set_detect_anomaly(True):
        y = (x * 0.0).sqrt() * 0.0
        with (
            pytest.warns(UserWarning, match="Error detected in SqrtBackward0"),
            pytest.raises(
                RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"
            ),
        ):
            y.sum().backward()
    with tl_autograd.set_detect_anomaly(True, check_nan=False):
        (x.sqrt() * 0.0).sum().backward()


def test_without_a_recorded_stack():
    y = made_here(tl.ones(1, requires_grad=True))
    with (
        tl_autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="No forward pass information available"),
        pytest.raises(ValueError, match="broken"),
    ):
        y.backward()


def test_the_state_is_that_of_the_last_switch():
    assert (anomaly_mode.is_anomaly_enabled(), anomaly_mode.is_anomaly_check_nan_enabled()) == (False, True)
    with tl_autograd.set_detect_anomaly(True, check_nan=False):
        assert anomaly_mode.is_anomaly_enabled() and not anomaly_mode.is_anomaly_check_nan_enabled()
        anomaly_mode.set_anomaly_enabled(True)
        assert anomaly_mode.is_anomaly_check_nan_enabled()
        y = (tl.zeros(1, requires_grad=True) * 0.0).sqrt() * 0.0
        with (
            pytest.warns(UserWarning, match="SqrtBackward0"),
            pytest.raises(RuntimeError, match="nan values"),
        ):
            y.backward()
    assert not anomaly_mode.is_anomaly_enabled()


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: func.vmap(func.grad(f)),
        lambda f: func.vmap(func.hessian(f)),
        lambda f: func.jacrev(func.vmap(f)),
    ],
)
def test_nan_is_found_inside_of_batches(transform):
    """A batch of gradients has no one answer, and each example counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anomaly = tl_autograd.detect_anomaly()
    with anomaly, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert transform(lambda x: (x * x).sum())(tl.ones(3)).isfinite().all()
        with pytest.raises(RuntimeError, match="returned nan values in its 0th output"):
            transform(lambda x: x.sqrt().sum())(tl.tensor([1.0, -1.0, 4.0]))
