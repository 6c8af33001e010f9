"""Muon: its step has the singular vectors of the averaged gradient, and singular values near one."""

import pytest

import tl_autograd  # noqa: F401 - parameters require gradients
import tl_core as tl
import tl_core.testing
from tl_nn import optim


def step(shape, grads, **options):
    """The sum of the steps of a parameter that begins at zero."""
    weight = tl.zeros(shape, requires_grad=True)
    optimizer = optim.Muon([weight], **{"lr": 1.0, "weight_decay": 0.0, **options})
    for grad in grads:
        weight.grad = grad
        optimizer.step()
    return weight.detach()


@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6)])
@pytest.mark.parametrize("nesterov", [True, False])
def test_the_first_step_is_the_polar_factor(shape, nesterov):
    tl.manual_seed(0)
    u, _, v = tl.linalg.svd(tl.randn(shape), full_matrices=False)
    grad = (u * tl.linspace(1, 3, min(shape))) @ v
    result = -step(shape, [grad], nesterov=nesterov)
    values = (u.mT @ result @ v.mT) / max(1, shape[0] / shape[1]) ** 0.5
    diagonal = values.diag()
    assert ((diagonal > 0.65) & (diagonal < 1.25)).all()  # the polynomial leaves them near one
    assert (values - diagonal.diag()).abs().max() < 0.05  # bfloat16


def test_the_learning_rate_depends_on_the_sizes():
    grad = tl.eye(8, 2)
    original = step((8, 2), [grad])
    matched = step((8, 2), [grad], adjust_lr_fn="match_rms_adamw")
    tl.testing.assert_close(matched, original / 2 * 0.2 * 8**0.5)


def test_weight_decay_is_decoupled():
    weight = tl.full((2, 2), 3.0, requires_grad=True)
    optimizer = optim.Muon([weight], lr=0.1, weight_decay=0.5)
    weight.grad = tl.zeros(2, 2)
    optimizer.step()
    tl.testing.assert_close(weight.detach(), tl.full((2, 2), 2.85))


def test_the_running_mean_is_kept():
    weight = tl.zeros(2, 2, requires_grad=True)
    optimizer = optim.Muon([weight], momentum=0.75)
    for value in (1.0, 3.0):
        weight.grad = tl.full((2, 2), value)
        optimizer.step()
    assert optimizer.state_dict()["state"][0]["momentum_buffer"].tolist() == [[0.9375, 0.9375]] * 2


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"lr": -1.0}, "Learning rate should be >= 0 but is: -1.0"),
        ({"lr": tl.ones(2)}, "Tensor lr must be 1-element"),
        ({"momentum": -1.0}, "momentum should be >= 0"),
        ({"weight_decay": -1.0}, "weight decay should be >= 0"),
        ({"adjust_lr_fn": "other"}, "Adjust learning rate function other is not supported"),
    ],
)
def test_bad_options(options, text):
    with pytest.raises(ValueError, match=text):
        optim.Muon([tl.zeros(2, 2, requires_grad=True)], **options)


def test_only_matrices_are_taken():
    with pytest.raises(ValueError, match="Muon only supports 2D parameters"):
        optim.Muon([tl.zeros(2, requires_grad=True)])
