"""Losses, sizes of windows and small parts of layers, against numpy and closed forms."""

import math
import warnings

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
import tl_nn.functional as F
from tl_core.operators import packets
from tl_nn.functional import checks, elementwise_losses, helpers, numbered_reductions, window_sizes
from tl_nn.modules import batchnorm, error_notes, key_hints, nested_attention, recorded, rnn
from tl_nn.modules.linear import NonDynamicallyQuantizableLinear

X = np.array([[0.5, -1.0, 2.0], [3.0, 0.0, -2.5]])


def test_labels_of_classes():
    target = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    p = 1 / (1 + np.exp(-X))
    losses = -(target * np.log(p) + (1 - target) * np.log(1 - p))
    loss = F.multilabel_soft_margin_loss(tl.tensor(X), tl.tensor(target))
    assert loss.item() == pytest.approx(losses.mean())
    weight = np.array([1.0, 2.0, 0.5])
    each = F.multilabel_soft_margin_loss(tl.tensor(X), tl.tensor(target), tl.tensor(weight), reduction="none")
    assert each.tolist() == pytest.approx((losses * weight).mean(1).tolist())
    assert elementwise_losses.softplus_of_negative(tl.tensor(X)).numpy() == pytest.approx(
        np.log1p(np.exp(-X))
    )
    assert elementwise_losses.softplus_of_negative(tl.tensor(-800.0)).item() == 800


def test_linear_cross_entropy():
    weight, bias, target = (
        np.array([[1.0, 0.0, 2.0], [0.5, -1.0, 0.0]]),
        np.array([0.1, 0.2]),
        np.array([1, 0]),
    )
    scores = X @ weight.T + bias
    losses = np.log(np.exp(scores).sum(1)) - scores[[0, 1], target]
    arguments = [tl.tensor(v) for v in (X, weight, target)]
    loss = F.linear_cross_entropy(*arguments, linear_bias=tl.tensor(bias))
    assert loss.item() == pytest.approx(losses.mean())
    first = F.linear_cross_entropy(*arguments, linear_bias=tl.tensor(bias), ignore_index=0, reduction="sum")
    assert first.item() == pytest.approx(losses[0])


def test_ctc():
    """All paths of 5 steps over 4 labels have one probability, and 28 of them are the labels 1, 2 with blanks."""
    uniform = tl.full((5, 1, 4), 0.25, dtype=tl.float64).log()
    lengths = tl.tensor([5]), tl.tensor([2])
    paths = sum(shown(path) == [1, 2] for path in np.ndindex(4, 4, 4, 4, 4))
    loss = nn.CTCLoss(reduction="sum")(uniform, tl.tensor([[1, 2]]), *lengths)
    assert loss.item() == pytest.approx(-math.log(paths / 4**5))
    long = tl.tensor([[1, 1, 1]]), tl.tensor([2]), tl.tensor([3])
    assert nn.CTCLoss()(uniform, *long).item() == math.inf
    assert nn.CTCLoss(zero_infinity=True)(uniform, *long).item() == 0


def shown(path):
    return [label for before, label in zip((0, *path), path, strict=False) if label not in (0, before)]


def test_older_losses():
    with pytest.warns(FutureWarning, match="NLLLoss2d"):
        loss = nn.NLLLoss2d(reduction="sum")
    scores = tl.arange(8.0).view(1, 2, 2, 2)
    assert loss(scores, tl.tensor([[[0, 1], [1, 0]]])).item() == -(0 + 5 + 6 + 3)


def test_gradient_of_the_soft_margin():
    y, h = np.array([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]]), 1e-6

    def loss(x):
        return np.log1p(np.exp(-y * x))

    gradient = packets.aten.soft_margin_loss_backward(
        tl.ones((), dtype=tl.float64), tl.tensor(X), tl.tensor(y), 2
    )
    np.testing.assert_allclose(gradient.numpy(), (loss(X + h) - loss(X - h)) / (2 * h), rtol=1e-6)


def test_arguments():
    assert window_sizes.per_axis(3, 2) == window_sizes.per_axis([3], 2) == [3, 3]
    assert window_sizes.per_axis((3, 4), 2) == [3, 4]
    helpers.assert_int_or_pair((1, 2), "size", "{}")
    with pytest.raises(AssertionError, match="size must be a pair"):
        helpers.assert_int_or_pair((1, 2, 3), "size", "{} must be a pair")
    checks.check_tensor("f", tl.ones(1))
    with pytest.raises(TypeError, match=r"f\(\): argument 'input' must be Tensor, not list"):
        checks.check_tensor("f", [])
    batchnorm.refuse_dims(tl.ones(2, 3), (2, 3))
    with pytest.raises(ValueError, match=r"expected 2D or 3D input \(got 1D input\)"):
        batchnorm.refuse_dims(tl.ones(2), (2, 3))


def test_batches_of_a_norm():
    norm = nn.BatchNorm1d(2, momentum=None)
    assert [batchnorm.count_batch(norm) for _ in range(4)] == [1, 1 / 2, 1 / 3, 1 / 4]
    assert batchnorm.count_batch(nn.BatchNorm1d(2, momentum=0.3).eval()) == 0.3


def test_dropout_of_channels_in_place():
    tl.manual_seed(0)
    x = tl.ones(3, 20, 4)
    assert numbered_reductions.feature_alpha_dropout_(x, 0.5, True) is x
    assert x.amax(-1).equal(x.amin(-1)) and len(set(x.flatten().tolist())) == 2
    assert numbered_reductions.feature_alpha_dropout_(tl.ones(2, 2), 0.5, False).tolist() == [[1, 1]] * 2


def test_notes_on_errors():
    inner, outer, error = nn.Linear(2, 3), nn.Sequential(), RuntimeError("shapes")
    outer.append(inner)
    error_notes.add_error_notes(inner, error, (tl.ones(1, 5),), {})
    assert str(error).startswith("shapes") and "Linear" in str(error) and "5" in str(error)
    error_notes.add_error_notes(outer, error, (), {})
    assert "in 0: Linear" in str(error)
    lines = key_hints.key_hints(["a.weight"], ["module.a.weight"], 0, 1)
    assert lines[0] == "Loaded 0 of 1 name(s)." and '"module." in front' in lines[1]
    assert 'lack "module." in front' in key_hints.key_hints(["module.a.b"], ["a.b"], 0, 1)[1]
    assert '"weight" ~ "weigth"' in key_hints.key_hints(["weight"], ["weigth"], 3, 4)[1]


def test_addresses_of_parameters():
    weight = nn.Parameter(tl.ones(2))
    assert list(recorded.describe_parameters([weight])) == [
        (weight.untyped_storage().data_ptr(), "PARAMETER")
    ]
    weight.grad = tl.zeros(2)
    kinds = dict(recorded.describe_parameters([weight]))
    assert kinds[weight.grad.untyped_storage().data_ptr()] == "GRADIENT"


def test_recurrent_cells():
    cell = rnn.RNNCellBase(3, 5, bias=True, num_chunks=4)
    assert (cell.weight_ih.shape, cell.weight_hh.shape, cell.bias_ih.shape) == ((20, 3), (20, 5), (20,))
    assert cell.weight_ih.abs().max().item() <= 1 / math.sqrt(5)
    assert rnn.RNNCellBase(3, 5, bias=False, num_chunks=1).bias_hh is None


def test_padded_batches():
    x, padding = tl.arange(12.0).view(2, 3, 2), tl.tensor([[False, False, True], [False, False, False]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nested = nested_attention.as_nested_batch(x, padding, True)
        assert [part.tolist() for part in nested.unbind()] == [x[0, :2].tolist(), x[1].tolist()]
        again = nested_attention.padded_again(nested, x.shape)
    assert again.tolist() == x.masked_fill(padding[..., None], 0).tolist()
    assert nested_attention.as_nested_batch(x, padding.flip(1), True) is None
    assert nested_attention.as_nested_batch(x, None, True) is None


def test_projections_of_attention():
    assert type(nn.MultiheadAttention(4, 2).out_proj) is NonDynamicallyQuantizableLinear


def test_parts_of_a_batch():
    layer, x = nn.Linear(2, 1), tl.arange(8.0).view(4, 2)
    assert nn.parallel.data_parallel(layer, x, ["cpu", "cpu"]).tolist() == layer(x).tolist()
    assert nn.parallel.data_parallel(layer, (x,)).tolist() == layer(x).tolist()


@pytest.mark.parametrize("value", [float("nan"), -0.1, 1.1])
def test_binary_cross_entropy_refuses_what_is_no_probability(value):
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        F.binary_cross_entropy(tl.tensor([0.5, value]), tl.ones(2))


def test_multilabel_soft_margin_loss_divides_by_the_classes_of_the_input():
    with pytest.raises(IndexError):
        F.multilabel_soft_margin_loss(tl.tensor(0.5), tl.ones(3))
    x, y = tl.tensor([[0.5]]), tl.ones(1, 3)
    loss = F.multilabel_soft_margin_loss(x, y)
    assert loss.item() == pytest.approx(3 * float(np.log1p(np.exp(-0.5))))


def test_bilinear_takes_an_empty_batch_and_checks_its_bias():
    x, y, w = tl.rand(3, 2), tl.rand(3, 4), tl.rand(5, 2, 4)
    assert F.bilinear(x[:0], y[:0], w, tl.rand(5)).shape == (0, 5)
    assert F.bilinear(tl.rand(3, 0), y, w[:, :0]).tolist() == [[0.0] * 5] * 3
    for bias in (tl.rand(1), tl.rand(3, 1), tl.rand(1, 5)):
        with pytest.raises(RuntimeError, match="bias size does not match weight size"):
            F.bilinear(x, y, w, bias)
