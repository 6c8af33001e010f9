"""A leaf without dimensions where a layer's function takes a number is refused, or its gradient is right."""

import math

import pytest

import tl_core as tl
from tl_nn import functional as F

X = tl.tensor([[0.3, 1.2, -0.8], [0.5, -0.1, 0.9]], dtype=tl.float64)
Y = tl.tensor([[0.1, 0.4, -0.2], [1.5, -0.7, 0.6]], dtype=tl.float64)
CLASS = tl.tensor([0, 2])
SIGN = tl.tensor([1.0, -1.0], dtype=tl.float64)
IMAGE = tl.linspace(0.1, 2.0, 32, dtype=tl.float64).reshape(1, 2, 4, 4)
WEIGHT = tl.tensor([0.5, 1.0, 2.0], dtype=tl.float64)

CALLS = {
    "leaky_relu": lambda s: F.leaky_relu(X, s),
    "elu": lambda s: F.elu(X, s),
    "celu": lambda s: F.celu(X, s),
    "threshold": lambda s: F.threshold(X, s, 0.0),
    "threshold value": lambda s: F.threshold(X, 0.0, s),
    "hardtanh": lambda s: F.hardtanh(X, -1.0, s),
    "hardshrink": lambda s: F.hardshrink(X, s),
    "softshrink": lambda s: F.softshrink(X, s),
    "softplus": lambda s: F.softplus(X, s),
    "softplus threshold": lambda s: F.softplus(X, 1.0, s),
    "rrelu": lambda s: F.rrelu(X, s, s),
    "gumbel_softmax": lambda s: F.gumbel_softmax(X, s),
    "normalize": lambda s: F.normalize(X, s),
    "normalize eps": lambda s: F.normalize(X, eps=s),
    "layer_norm": lambda s: F.layer_norm(X, (3,), eps=s),
    "rms_norm": lambda s: F.rms_norm(X, (3,), eps=s),
    "group_norm": lambda s: F.group_norm(IMAGE, 2, eps=s),
    "batch_norm": lambda s: F.batch_norm(IMAGE, None, None, training=True, eps=s),
    "instance_norm": lambda s: F.instance_norm(IMAGE, eps=s),
    "local_response_norm": lambda s: F.local_response_norm(IMAGE, 2, s),
    "local_response_norm beta": lambda s: F.local_response_norm(IMAGE, 2, 1.0, s),
    "local_response_norm k": lambda s: F.local_response_norm(IMAGE, 2, 1.0, 0.75, s),
    "lp_pool1d": lambda s: F.lp_pool1d(IMAGE[0], s, 2),
    "lp_pool2d": lambda s: F.lp_pool2d(IMAGE, s, 2),
    "pad": lambda s: F.pad(X, (1, 1), value=s),
    "huber_loss": lambda s: F.huber_loss(X, Y, delta=s),
    "huber_loss weight": lambda s: F.huber_loss(X, Y, delta=s, weight=WEIGHT.expand(2, 3)),
    "smooth_l1_loss": lambda s: F.smooth_l1_loss(X, Y, beta=s),
    "poisson_nll_loss": lambda s: F.poisson_nll_loss(X.abs(), Y.abs(), False, eps=s),
    "gaussian_nll_loss": lambda s: F.gaussian_nll_loss(X, Y, Y.abs() + 1, eps=s),
    "gaussian_nll_loss var": lambda s: F.gaussian_nll_loss(X, Y, s.expand(2, 1)),
    "margin_ranking_loss": lambda s: F.margin_ranking_loss(X[:, 0], Y[:, 0], SIGN, margin=s),
    "hinge_embedding_loss": lambda s: F.hinge_embedding_loss(X[:, 0], SIGN, margin=s),
    "cosine_embedding_loss": lambda s: F.cosine_embedding_loss(X, Y, SIGN, margin=s),
    "triplet_margin_loss": lambda s: F.triplet_margin_loss(X, Y, X.flip(0), margin=s),
    "triplet_margin_loss p": lambda s: F.triplet_margin_loss(X, Y, X.flip(0), p=s),
    "triplet_margin_loss eps": lambda s: F.triplet_margin_loss(X, Y, X.flip(0), eps=s),
    "triplet_margin_with_distance_loss": lambda s: F.triplet_margin_with_distance_loss(
        X, Y, X.flip(0), margin=s
    ),
    "multi_margin_loss": lambda s: F.multi_margin_loss(X, CLASS, margin=s),
    "cross_entropy": lambda s: F.cross_entropy(X, CLASS, label_smoothing=s),
    "cross_entropy of probabilities": lambda s: F.cross_entropy(X, Y.softmax(1), label_smoothing=s),
    "pairwise_distance": lambda s: F.pairwise_distance(X, Y, s),
    "pairwise_distance eps": lambda s: F.pairwise_distance(X, Y, 2.0, s),
    "cosine_similarity": lambda s: F.cosine_similarity(X, Y, eps=s),
    "scaled_dot_product_attention": lambda s: F.scaled_dot_product_attention(X[None], Y[None], Y[None], scale=s),
    "dropout": lambda s: F.dropout(X, s),
    "alpha_dropout": lambda s: F.alpha_dropout(X, s, True),
    "feature_dropout": lambda s: F.dropout2d(IMAGE, s),
    "embedding": lambda s: F.embedding(CLASS, X.clone(), max_norm=s),
    "embedding_bag": lambda s: F.embedding_bag(CLASS[None], X.clone(), max_norm=s),
    "interpolate": lambda s: F.interpolate(IMAGE, scale_factor=s),
    "logsigmoid": lambda s: F.logsigmoid(s),
    "prelu": lambda s: F.prelu(X, s),
    "glu": lambda s: F.silu(s),
}  # fmt: skip
RANDOM = {"rrelu", "gumbel_softmax", "dropout", "alpha_dropout", "feature_dropout"}


def total(result):
    weights = tl.arange(1.0, result.numel() + 1, dtype=tl.float64).reshape(result.shape).cos()
    return (result * weights).sum()


def value(call, number):
    tl.manual_seed(0)
    return total(call(tl.tensor(number, dtype=tl.float64)))


@pytest.mark.parametrize("name", CALLS)
def test_leaf_for_a_number(name):
    call, number, step = CALLS[name], 0.6, 1e-6
    leaf = tl.tensor(number, dtype=tl.float64, requires_grad=True)
    tl.manual_seed(0)
    try:
        result = total(call(leaf))
    except (TypeError, NotImplementedError) as error:
        assert name not in ("prelu", "logsigmoid", "glu", "gaussian_nll_loss var"), error
        return
    assert result.requires_grad, "the leaf was taken for a plain number"
    result.backward()
    want = (float(value(call, number + step)) - float(value(call, number - step))) / (2 * step)
    assert leaf.grad is not None and math.isclose(float(leaf.grad), want, rel_tol=1e-4, abs_tol=1e-6)
