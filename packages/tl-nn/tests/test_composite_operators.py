"""Operators of aten that are functions of `tl_nn.functional`."""

import pytest

import tl_core as tl
import tl_nn.functional as F
from tl_core.operators import packets as ops
from tl_nn import composite_operators

aten = ops.aten
NONE, MEAN, SUM = range(3)
A, B, C = (tl.rand(4, 3, generator=tl.Generator().manual_seed(seed)) for seed in range(3))
CLASSES, SIGNS = tl.tensor([0, 2, 1, 2]), tl.tensor([1.0, -1.0, 1.0, -1.0])
WEIGHT = tl.tensor([1.0, 2.0, 3.0])
TARGET = tl.tensor([[0, 1, -1]] * 4)


@pytest.mark.parametrize("name", ["_weight_norm", "pad_sequence", "feature_dropout_"])
def test_they_can_be_had_by_name(name):
    assert getattr(composite_operators, name) is getattr(aten, name)


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("code, reduction", [(NONE, "none"), (MEAN, "mean"), (SUM, "sum")])
@pytest.mark.parametrize(
    "name, arguments, options, expected",
    [
        ("mse_loss", (A, B), (), lambda r: F.mse_loss(A, B, reduction=r)),
        ("l1_loss", (A, B), (), lambda r: F.l1_loss(A, B, reduction=r)),
        ("smooth_l1_loss", (A, B), (0.3,), lambda r: F.smooth_l1_loss(A, B, reduction=r, beta=0.3)),
        ("huber_loss", (A, B), (0.3,), lambda r: F.huber_loss(A, B, reduction=r, delta=0.3)),
        (
            "soft_margin_loss",
            (A[0], SIGNS[:3]),
            (),
            lambda r: F.soft_margin_loss(A[0], SIGNS[:3], reduction=r),
        ),
        (
            "multilabel_margin_loss",
            (A, TARGET),
            (),
            lambda r: F.multilabel_margin_loss(A, TARGET, reduction=r),
        ),
        ("binary_cross_entropy", (A, B, C), (), lambda r: F.binary_cross_entropy(A, B, C, reduction=r)),
        (
            "binary_cross_entropy_with_logits",
            (A, B, None, WEIGHT),
            (),
            lambda r: F.binary_cross_entropy_with_logits(A, B, pos_weight=WEIGHT, reduction=r),
        ),
        ("kl_div", (A, B), (), lambda r: F.kl_div(A, B, reduction=r)),
        (
            "nll_loss",
            (A, CLASSES, WEIGHT),
            (1,),
            lambda r: F.nll_loss(A, CLASSES, WEIGHT, None, 1, reduction=r),
        ),
        (
            "cross_entropy_loss",
            (A, CLASSES, WEIGHT),
            (1, 0.1),
            lambda r: F.cross_entropy(A, CLASSES, WEIGHT, ignore_index=1, label_smoothing=0.1, reduction=r),
        ),
        (
            "multi_margin_loss",
            (A, CLASSES, 2, 0.5, WEIGHT),
            (),
            lambda r: F.multi_margin_loss(A, CLASSES, 2, 0.5, WEIGHT, reduction=r),
        ),
        (
            "margin_ranking_loss",
            (A[:, 0], B[:, 0], SIGNS, 0.5),
            (),
            lambda r: F.margin_ranking_loss(A[:, 0], B[:, 0], SIGNS, 0.5, reduction=r),
        ),
        (
            "cosine_embedding_loss",
            (A, B, SIGNS, 0.1),
            (),
            lambda r: F.cosine_embedding_loss(A, B, SIGNS, 0.1, reduction=r),
        ),
        (
            "hinge_embedding_loss",
            (A[:, 0], SIGNS, 0.7),
            (),
            lambda r: F.hinge_embedding_loss(A[:, 0], SIGNS, 0.7, reduction=r),
        ),
        (
            "triplet_margin_loss",
            (A, B, C, 0.5, 1.0, 1e-5, True),
            (),
            lambda r: F.triplet_margin_loss(A, B, C, 0.5, 1.0, 1e-5, True, reduction=r),
        ),
        (
            "poisson_nll_loss",
            (A, B, True, True, 1e-6),
            (),
            lambda r: F.poisson_nll_loss(A, B, full=True, eps=1e-6, reduction=r),
        ),
    ],
)
def test_losses(name, arguments, options, expected, code, reduction):
    assert tl.equal(getattr(aten, name)(*arguments, code, *options), expected(reduction))


def test_losses_of_sequences():
    scores, targets = tl.rand(5, 1, 3).log_softmax(-1), tl.tensor([[1, 2]])
    expected = F.ctc_loss(scores, targets, (5,), (2,), 0, "sum")
    assert tl.equal(aten.ctc_loss(scores, targets, [5], [2], 0, SUM), expected)
    assert tl.equal(aten.ctc_loss.Tensor(scores, targets, tl.tensor([5]), tl.tensor([2]), 0, SUM), expected)


def test_distances_and_their_like():
    assert tl.equal(aten.cosine_similarity(A, B), F.cosine_similarity(A, B))
    assert tl.equal(aten.pairwise_distance(A, B, keepdim=True), F.pairwise_distance(A, B, keepdim=True))
    assert tl.equal(aten.pdist(A, 1.0), F.pdist(A, 1.0))
    assert tl.equal(aten.one_hot(CLASSES), F.one_hot(CLASSES))
    assert tl.equal(aten.bilinear(A, B, tl.ones(2, 3, 3)), F.bilinear(A, B, tl.ones(2, 3, 3)))
    x = A * 20 - 10
    assert tl.equal(aten.relu6(x), F.relu6(x)) and aten.relu6_(x) is x and x.max() <= 6
    padded = aten.pad_sequence([tl.ones(1), tl.ones(2)], True, 7.0, "left")
    assert padded.tolist() == [[7.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("name", ["feature_dropout", "feature_alpha_dropout"])
def test_whole_channels_are_dropped(name):
    x = tl.rand(8, 16, 2, 3, 2) + 1
    tl.manual_seed(0)
    out = getattr(aten, name)(x, 0.5, True)
    flat = out.reshape(8 * 16, -1)
    constant = (flat == flat[:, :1]).all(1)
    assert 0 < constant.sum().item() < 8 * 16
    assert tl.equal(getattr(aten, name)(x, 0.5, False), x)
    tl.manual_seed(0)
    y = x.clone()
    assert getattr(aten, f"{name}_")(y, 0.5, True) is y and tl.equal(y, out)


def test_alpha_dropout():
    tl.manual_seed(0)
    out = aten.alpha_dropout(A, 0.5, True)
    tl.manual_seed(0)
    assert tl.equal(out, F.alpha_dropout(A, 0.5, True)) and tl.equal(aten.alpha_dropout(A, 0.5, False), A)
    x = A.clone()
    assert aten.alpha_dropout_(x, 0.5, True) is x and not tl.equal(x, A)


def test_gradients_are_those_of_what_they_are_made_of():
    x = A.clone().requires_grad_()
    aten.mse_loss(x, B, SUM).backward()
    assert tl.equal(x.grad, 2 * (A - B))


@pytest.mark.parametrize("dim", [-1, 0, 1, 2])
def test_weight_norm(dim):
    v = tl.arange(1.0, 25.0, dtype=tl.float64).view(2, 3, 4)
    norm = aten.norm_except_dim.default(v, 2, dim)
    rest = [d for d in range(3) if d != dim]
    expected = v.square().sum(rest, keepdim=dim >= 0).sqrt()
    tl.testing.assert_close(norm, expected)
    g = tl.full_like(norm, 3.0)
    tl.testing.assert_close(aten._weight_norm.default(v, g, dim), v * 3 / expected)
