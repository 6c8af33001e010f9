"""Anomaly detection."""

import pytest

import tl_autograd
import tl_core as tl


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
