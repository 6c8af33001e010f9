"""Losses against closed forms."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax, xlogy

import tl_core as tl
import tl_nn as nn
import tl_nn.functional as F

CLASSES = 4
WEIGHT = np.array([0.1, 0.7, 0.3, 2.0])


def tensor(values, requires_grad=False):
    values = np.asarray(values)
    flat = tl.tensor(values.ravel().tolist(), dtype=tl.float64)
    return flat.reshape(values.shape).requires_grad_(requires_grad)


def scores(*shape):
    return np.random.default_rng(0).normal(size=shape) * 3


def reduce(losses, reduction, total=None):
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / (losses.size if total is None else total)


def expected_cross_entropy(x, target, weight, reduction, ignore_index, smoothing):
    """The definition, sample by sample."""
    logs = np.moveaxis(log_softmax(x, 1), 1, -1).reshape(-1, CLASSES)
    flat = target.reshape(-1)
    losses, total = [], 0.0
    for row, label in zip(logs, flat, strict=True):
        if label == ignore_index:
            losses.append(0.0)
            continue
        losses.append(
            -(1 - smoothing) * weight[label] * row[label] - smoothing / CLASSES * (weight * row).sum()
        )
        total += weight[label]
    return reduce(np.array(losses).reshape(target.shape), reduction, total)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("ignore_index", [-100, 2])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("shape", [(5, 4), (3, 4, 2), (2, 4, 2, 3)])
def test_cross_entropy_of_classes(reduction, weighted, ignore_index, smoothing, shape):
    x = scores(*shape)
    target = np.random.default_rng(1).integers(0, CLASSES, size=(shape[0], *shape[2:]))
    target.flat[0] = ignore_index
    weight = WEIGHT if weighted else np.ones(CLASSES)
    loss = nn.CrossEntropyLoss(
        tensor(WEIGHT) if weighted else None,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=smoothing,
    )
    expected = expected_cross_entropy(x, target, weight, reduction, ignore_index, smoothing)
    np.testing.assert_allclose(loss(tensor(x), tl.tensor(target.tolist())).tolist(), expected, rtol=1e-10)


def test_cross_entropy_gradient():
    x = scores(3, 4)
    target = np.array([1, 3, 0])
    leaf = tensor(x, requires_grad=True)
    F.cross_entropy(leaf, tl.tensor(target.tolist())).backward()
    expected = (np.exp(log_softmax(x, 1)) - np.eye(4)[target]) / 3
    np.testing.assert_allclose(leaf.grad.tolist(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 3)])
def test_cross_entropy_of_probabilities(reduction, shape):
    x = scores(*shape)
    target = np.random.default_rng(1).dirichlet(np.ones(4), size=(shape[0], *shape[2:]))
    target = np.moveaxis(target, -1, 1)
    weight = WEIGHT.reshape(-1, *(1,) * (len(shape) - 2))
    smooth = target * 0.8 + 0.2 / 4
    losses = -(weight * smooth * log_softmax(x, 1)).sum(1)
    result = F.cross_entropy(
        tensor(x), tensor(target), tensor(WEIGHT), reduction=reduction, label_smoothing=0.2
    )
    np.testing.assert_allclose(result.tolist(), reduce(losses, reduction), rtol=1e-10)


def test_one_sample_without_batch():
    x = scores(4)
    expected = -log_softmax(x)[2]
    assert F.cross_entropy(tensor(x), tl.tensor(2)).item() == pytest.approx(expected)
    assert F.cross_entropy(tensor(x), tensor([0.0, 0.0, 1.0, 0.0])).item() == pytest.approx(expected)


def test_nothing_to_count():
    ignored = F.cross_entropy(tensor(scores(2, 4)), tl.tensor([-100, -100]))
    assert np.isnan(ignored.item())
    empty = F.cross_entropy(tl.zeros(0, 4), tl.zeros(0, dtype=tl.int64))
    assert np.isnan(empty.item())
    assert F.cross_entropy(tl.zeros(0, 4), tl.zeros(0, dtype=tl.int64), reduction="sum").item() == 0.0


def test_ignored_samples_get_no_gradient():
    leaf = tensor(scores(2, 4), requires_grad=True)
    F.cross_entropy(leaf, tl.tensor([-100, 1])).backward()
    assert leaf.grad[0].tolist() == [0.0] * 4


def test_nll_loss():
    logs = log_softmax(scores(3, 4), 1)
    target = [3, 1, 0]
    losses = -WEIGHT[target] * logs[range(3), target]
    loss = nn.NLLLoss(tensor(WEIGHT))
    expected = losses.sum() / WEIGHT[target].sum()
    assert loss(tensor(logs), tl.tensor(target)).item() == pytest.approx(expected)
    assert F.nll_loss(
        tensor(logs), tl.tensor(target, dtype=tl.uint8), reduction="sum"
    ).item() == pytest.approx(-logs[range(3), target].sum())


@pytest.mark.parametrize(
    ("target", "options", "kind", "message"),
    [
        ([1, 2], {}, ValueError, r"input batch_size \(3\) to match target batch_size \(2\)"),
        ([1, 9, 2], {}, IndexError, "Target 9 is out of bounds"),
        ([1, -1, 2], {}, IndexError, "Target -1 is out of bounds"),
        ([1, 9, 2], {"ignore_index": 1}, IndexError, "Target 9 is out of bounds"),
        ([1.0, 2.0, 3.0], {}, RuntimeError, "expected target dtype to be Long or Byte"),
        ([[1], [1], [1]], {}, RuntimeError, "0D or 1D target tensor expected"),
        ([1, 2, 3], {"weight": [1.0]}, RuntimeError, "for all 4 classes or no classes"),
        ([1, 2, 3], {"reduction": "average"}, ValueError, "average is not a valid value for reduction"),
        ([1, 2, 3], {"label_smoothing": 2.0}, RuntimeError, "must be between 0.0 and 1.0. Got: 2.0"),
        ([[1] * 4] * 3, {}, RuntimeError, "Expected floating point type for target with class probabilities"),
        ([[0.5] * 4] * 3, {"ignore_index": 1}, RuntimeError, "ignore_index is not supported"),
        ([[0.5] * 4] * 3, {"weight": [1.0]}, RuntimeError, "for all 4 classes or no classes"),
    ],
)
def test_cross_entropy_faults(target, options, kind, message):
    if "weight" in options:
        options = {**options, "weight": tensor(options["weight"])}
    with pytest.raises(kind, match=message):
        F.cross_entropy(tensor(scores(3, 4)), tl.tensor(target), **options)


def test_wrong_size_of_positions():
    with pytest.raises(RuntimeError, match=r"Expected target size \[2, 3\], got \[2, 5\]"):
        F.nll_loss(tensor(scores(2, 4, 3)), tl.zeros(2, 5, dtype=tl.int64))
    with pytest.raises(ValueError, match=r"Expected 1 or more dimensions \(got 0\)"):
        F.nll_loss(tensor(1.0), tl.tensor(1))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_mse_and_l1(reduction):
    x, y = scores(3, 4), scores(4, 3).T
    for kind, losses in ((nn.MSELoss, (x - y) ** 2), (nn.L1Loss, np.abs(x - y))):
        result = kind(reduction=reduction)(tensor(x), tensor(y))
        np.testing.assert_allclose(result.tolist(), reduce(losses, reduction))


def test_mse_gradient_and_weight():
    x, y, weight = scores(3), scores(4)[1:], np.array([1.0, 2.0, 3.0])
    leaf = tensor(x, requires_grad=True)
    F.mse_loss(leaf, tensor(y)).backward()
    np.testing.assert_allclose(leaf.grad.tolist(), 2 * (x - y) / 3)
    weighted = F.mse_loss(tensor(x), tensor(y), weight=tensor(weight)).item()
    assert weighted == pytest.approx((weight * (x - y) ** 2).sum() / weight.sum())
    with pytest.raises(ValueError, match="must have the same size"):
        F.l1_loss(tensor(x), tensor(y), weight=tensor([1.0]))


def test_broadcast_targets_warn():
    with pytest.warns(UserWarning, match="Using a target size"):
        assert F.mse_loss(tl.ones(2, 3), tl.zeros(3)).item() == 1.0


def test_old_switches_choose_the_reduction():
    with pytest.warns(UserWarning, match="please use reduction='sum'"):
        assert nn.L1Loss(size_average=False).reduction == "sum"
    with pytest.warns(UserWarning, match="please use reduction='none'"):
        assert F.mse_loss(tl.ones(2), tl.zeros(2), reduce=False).tolist() == [1.0, 1.0]
    with pytest.warns(UserWarning, match="please use reduction='none'"):  # by truth, not only of bools
        assert F.mse_loss(tl.ones(2), tl.zeros(2), reduce=0).tolist() == [1.0, 1.0]
    with pytest.warns(UserWarning, match="please use reduction='sum'"):
        assert F.mse_loss(tl.ones(2), tl.zeros(2), size_average=0).item() == 2.0


def test_class_weights_are_a_buffer():
    loss = nn.CrossEntropyLoss(tl.ones(3))
    assert [name for name, _ in loss.named_buffers()] == ["weight"]
    assert loss.double().weight.dtype == tl.float64
    assert isinstance(loss, nn.modules.loss._Loss)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_of_elements(reduction):
    x, y = scores(3, 4), scores(4, 3).T
    size = np.abs(x - y)
    cases = [
        (nn.SmoothL1Loss(reduction=reduction, beta=2.0), np.where(size < 2, size**2 / 4, size - 1)),
        (nn.SmoothL1Loss(reduction=reduction, beta=0.0), size),
        (nn.HuberLoss(reduction, 2.0), np.where(size <= 2, size**2 / 2, 2 * (size - 1))),
    ]
    for loss, losses in cases:
        np.testing.assert_allclose(loss(tensor(x), tensor(y)).tolist(), reduce(losses, reduction))


def test_bent_losses_refuse_their_options():
    with pytest.raises(RuntimeError, match="negative values for beta, got -1"):
        F.smooth_l1_loss(tl.ones(1), tl.ones(1), beta=-1)
    with pytest.raises(RuntimeError, match="non-positive values for delta, got 0"):
        F.huber_loss(tl.ones(1), tl.ones(1), delta=0)


@pytest.mark.parametrize("reduction", ["batchmean", "sum", "none"])
def test_kl_divergence(reduction):
    logs, target = log_softmax(scores(3, 4), 1), np.random.default_rng(1).dirichlet(np.ones(4), size=3)
    target[0] = [0.0, 1.0, 0.0, 0.0]
    losses = xlogy(target, target) - target * logs
    expected = losses.sum() / 3 if reduction == "batchmean" else reduce(losses, reduction)
    np.testing.assert_allclose(
        nn.KLDivLoss(reduction=reduction)(tensor(logs), tensor(target)).tolist(), expected
    )
    losses = np.exp(logs[::-1]) * (logs[::-1] - logs)
    expected = losses.sum() / 3 if reduction == "batchmean" else reduce(losses, reduction)
    both = nn.KLDivLoss(reduction=reduction, log_target=True)(tensor(logs), tensor(logs[::-1]))
    np.testing.assert_allclose(both.tolist(), expected)


def test_kl_divergence_warns_of_the_mean():
    with pytest.warns(UserWarning, match="'batchmean' divides only by the batch size"):
        F.kl_div(tensor(scores(2, 3)), tensor(scores(2, 3) ** 2))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_binary_cross_entropy(reduction):
    x = scores(5, 3)
    p, t = expit(x), np.random.default_rng(1).uniform(size=(5, 3))
    weight = np.array([1.0, 2.0, 3.0])
    losses = -weight * (t * np.log(p) + (1 - t) * np.log1p(-p))
    result = nn.BCELoss(tensor(weight), reduction=reduction)(tensor(p), tensor(t))
    np.testing.assert_allclose(result.tolist(), reduce(losses, reduction))
    result = nn.BCEWithLogitsLoss(tensor(weight), reduction=reduction)(tensor(x), tensor(t))
    np.testing.assert_allclose(result.tolist(), reduce(losses, reduction))
    losses = -(weight * t * np.log(p) + (1 - t) * np.log1p(-p))
    result = nn.BCEWithLogitsLoss(pos_weight=tensor(weight), reduction=reduction)(tensor(x), tensor(t))
    np.testing.assert_allclose(result.tolist(), reduce(losses, reduction))


def test_binary_cross_entropy_gradients():
    p, t = np.array([0.2, 0.5, 0.9]), np.array([1.0, 0.25, 0.0])
    leaf = tensor(p, requires_grad=True)
    F.binary_cross_entropy(leaf, tensor(t), reduction="sum").backward()
    np.testing.assert_allclose(leaf.grad.tolist(), (p - t) / (p * (1 - p)))
    leaf = tensor([-1000.0, 0.0, 1000.0], requires_grad=True)
    F.binary_cross_entropy_with_logits(leaf, tensor(t), reduction="sum").backward()
    np.testing.assert_allclose(leaf.grad.tolist(), [-1.0, 0.25, 1.0])


def test_certain_probabilities_stay_finite():
    leaf = tensor([0.0, 1.0], requires_grad=True)
    losses = F.binary_cross_entropy(leaf, tensor([1.0, 0.0]), reduction="none")
    assert losses.tolist() == [100.0, 100.0]
    losses.sum().backward()
    assert np.isfinite(leaf.grad.tolist()).all()


def test_binary_cross_entropy_faults():
    with pytest.raises(ValueError, match="Using a target size"):
        F.binary_cross_entropy(tl.ones(2), tl.ones(3))
    with pytest.raises(ValueError, match="must be the same as input size"):
        F.binary_cross_entropy_with_logits(tl.ones(2), tl.ones(3))
    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
        F.binary_cross_entropy(tl.ones(2) * 2, tl.ones(2))


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_a_broadcast_operand_without_dimensions_counts_as_the_other_does(name, reduction):
    loss = getattr(F, name)
    for input, target in (
        (tl.ones(2), tl.zeros((), dtype=tl.float64)),
        (tl.ones((), dtype=tl.float64), tl.zeros(2)),
    ):
        with pytest.warns(UserWarning, match="different to the input size"):
            result = loss(input, target, reduction=reduction)
        assert result.dtype is tl.float64 and result.shape == ((2,) if reduction == "none" else ())
