"""Gradients of single samples: against a loop over the batch."""

import pytest

import tl_core as tl
import tl_nn as nn
from tl_autograd import grad
from tl_nn import functional as F
from tl_nn.utils.expanded_weights import ExpandedWeight
from tl_nn.utils.per_sample_grad import call_for_per_sample_grads


def one_by_one(module, x, loss, batch_dim=0):
    """The gradients of each sample, one backward a sample."""
    rows = []
    for i in range(x.shape[batch_dim]):
        sample = x.narrow(batch_dim, i, 1)
        rows.append(grad(loss(module(sample), i), tuple(module.parameters())))
    return [tl.stack(column) for column in zip(*rows, strict=True)]


def close(a, b):
    assert a.shape == b.shape and a.dtype == b.dtype
    assert (a - b).abs().max().item() <= 1e-10 * max(1.0, b.abs().max().item())


def squared(y, i=None):
    return (y * y).sum()


CASES = {
    "linear": (lambda: nn.Linear(3, 4), (5, 3)),
    "linear, more dimensions": (lambda: nn.Linear(3, 4, bias=False), (5, 2, 6, 3)),
    "conv1d": (lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), (3, 4, 9)),
    "conv2d": (lambda: nn.Conv2d(2, 3, 3, dilation=2, padding="same"), (3, 2, 7, 6)),
    "conv3d": (lambda: nn.Conv3d(2, 3, 2), (2, 2, 4, 3, 3)),
    "group_norm": (lambda: nn.GroupNorm(2, 4), (3, 4, 5)),
    "layer_norm": (lambda: nn.LayerNorm((4, 2)), (3, 5, 4, 2)),
    "instance_norm": (lambda: nn.InstanceNorm2d(3, affine=True), (4, 3, 5, 2)),
}


@pytest.mark.parametrize("name", CASES)
def test_each_sample_has_its_gradient(name):
    make, shape = CASES[name]
    tl.manual_seed(3)
    module, x = make().double(), tl.randn(shape, dtype=tl.float64)
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    expected = one_by_one(module, x, squared)
    source = x.clone().requires_grad_()
    squared(call_for_per_sample_grads(module)(source)).backward()
    for parameter, rows in zip(module.parameters(), expected, strict=True):
        close(parameter.grad_sample, rows)
        assert parameter.grad is None
    again = x.clone().requires_grad_()
    squared(module(again)).backward()
    close(source.grad, again.grad)


def test_rows_of_a_table_and_a_mean():
    tl.manual_seed(0)
    module = nn.Sequential(
        nn.Embedding(7, 3, padding_idx=2, max_norm=0.5), nn.Flatten(), nn.Linear(12, 2)
    ).double()
    x, target = tl.randint(0, 7, (5, 4)), tl.tensor([0, 1, 1, 0, 1])
    y = call_for_per_sample_grads(module, loss_reduction="mean")(x)
    F.cross_entropy(y, target).backward()
    expected = one_by_one(module, x, lambda y, i: F.cross_entropy(y, target[i : i + 1]))
    for parameter, rows in zip(module.parameters(), expected, strict=True):
        close(parameter.grad_sample, rows)
    assert not module[0].weight.grad_sample[:, 2].any()


def test_samples_along_the_second_dimension():
    tl.manual_seed(0)
    module, x = nn.Linear(3, 2).double(), tl.randn(4, 5, 3, dtype=tl.float64)
    squared(call_for_per_sample_grads(module, batch_first=False)(x)).backward()
    for parameter, rows in zip(module.parameters(), one_by_one(module, x, squared, batch_dim=1), strict=True):
        close(parameter.grad_sample, rows)


def test_a_layer_that_is_called_twice_adds_up():
    module, x = nn.Linear(3, 2).double(), tl.randn(4, 3, dtype=tl.float64)
    twice = nn.Sequential(module)
    twice.forward = lambda x: module(x) + module(x)
    call_for_per_sample_grads(twice)(x).sum().backward()
    close(module.weight.grad_sample, 2 * x.unsqueeze(1).expand(4, 2, 3))


def test_running_statistics_are_written_once():
    module = nn.InstanceNorm1d(3, affine=True, track_running_stats=True)
    x = tl.randn(2, 3, 8)
    call_for_per_sample_grads(module)(x).sum().backward()
    expected = 0.1 * x.mean((0, 2))
    assert (module.running_mean - expected).abs().max() < 1e-6
    assert module.weight.grad_sample.shape == (2, 3)


def test_a_frozen_parameter_has_none():
    module = nn.Linear(2, 2)
    module.bias.requires_grad_(False)
    call_for_per_sample_grads(module)(tl.ones(3, 2)).sum().backward()
    assert module.weight.grad_sample.shape == (3, 2, 2)
    assert not hasattr(module.bias, "grad_sample")


def test_what_is_refused():
    weight = tl.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="cannot handle function add"):
        tl.add(ExpandedWeight(weight, 4, "sum"), 1)
    with pytest.raises(RuntimeError, match="batch size matching input"):
        F.linear(tl.ones(3, 3), ExpandedWeight(weight, 4, "sum"))
    with pytest.raises(RuntimeError, match="2 dimensions at least"):
        F.linear(tl.ones(3), ExpandedWeight(weight, 3, "sum"))
    with pytest.raises(RuntimeError, match="require_grad"):
        ExpandedWeight(weight.detach(), 3, "sum")
    with pytest.raises(RuntimeError, match="only make Expanded Weights of Tensors"):
        ExpandedWeight(3, 3, "sum")
    with pytest.raises(RuntimeError, match="cannot handle function batch_norm"):
        call_for_per_sample_grads(nn.BatchNorm1d(3))(tl.ones(2, 3))
