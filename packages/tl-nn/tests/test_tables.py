"""Lookup tables, distances, and softmax over clusters of classes."""

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn


def array(tensor):
    return np.array(tensor.tolist())


def test_embedding():
    layer = nn.Embedding(5, 3, padding_idx=-1)
    assert layer.padding_idx == 4 and layer.weight[4].tolist() == [0.0] * 3
    index = tl.tensor([[1, 4], [0, 1]])
    np.testing.assert_array_equal(array(layer(index)), array(layer.weight)[array(index)])
    layer(index).sum().backward()
    assert layer.weight.grad.tolist() == [[1.0] * 3, [2.0] * 3, [0.0] * 3, [0.0] * 3, [0.0] * 3]
    assert repr(layer) == "Embedding(5, 3, padding_idx=4)"


def test_given_tables():
    table = tl.arange(6.0).reshape(3, 2)
    layer = nn.Embedding.from_pretrained(table)
    assert not layer.weight.requires_grad and layer(tl.tensor(2)).tolist() == [4.0, 5.0]
    bags = nn.EmbeddingBag.from_pretrained(table, freeze=False, mode="max")
    assert bags.weight.requires_grad and bags(tl.tensor([[0, 2]])).tolist() == [[4.0, 5.0]]
    with pytest.raises(AssertionError, match="expected to be 2-dimensional"):
        nn.Embedding.from_pretrained(tl.zeros(3))
    with pytest.raises(AssertionError, match="Shape of weight does not match"):
        nn.Embedding(4, 2, _weight=table)
    with pytest.raises(AssertionError, match="padding_idx must be within num_embeddings"):
        nn.Embedding(4, 2, padding_idx=4)


@pytest.mark.parametrize(("mode", "reduce"), [("sum", np.sum), ("mean", np.mean), ("max", np.max)])
def test_bags(mode, reduce):
    layer = nn.EmbeddingBag(6, 3, mode=mode)
    index, offsets = [1, 2, 4, 5, 4], [0, 2]
    table = array(layer.weight)
    expected = [reduce(table[index[:2]], 0), reduce(table[index[2:]], 0)]
    np.testing.assert_allclose(array(layer(tl.tensor(index), tl.tensor(offsets))), expected, rtol=1e-6)
    pairs = tl.tensor([[1, 2], [4, 5]])
    np.testing.assert_allclose(array(layer(pairs)), reduce(table[array(pairs)], 1), rtol=1e-6)
    assert repr(layer) == f"EmbeddingBag(6, 3, mode='{mode}')"


def test_what_is_shown():
    """In the reference's order; only an `Embedding` shows `sparse`."""
    options = {
        "padding_idx": 1,
        "max_norm": 2.0,
        "norm_type": 1.0,
        "scale_grad_by_freq": True,
        "sparse": True,
    }
    shown = "max_norm=2.0, norm_type=1.0, scale_grad_by_freq=True"
    assert repr(nn.Embedding(3, 2, **options)) == f"Embedding(3, 2, padding_idx=1, {shown}, sparse=True)"
    assert (
        repr(nn.EmbeddingBag(3, 2, **options)) == f"EmbeddingBag(3, 2, {shown}, mode='mean', padding_idx=1)"
    )


def test_distances():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 4, 3))
    x, y = tl.tensor(a.tolist()), tl.tensor(b.tolist())
    expected = np.linalg.norm(a - b + 1e-6, axis=1)
    np.testing.assert_allclose(array(nn.PairwiseDistance()(x, y)), expected, rtol=1e-5)
    assert tuple(nn.PairwiseDistance(p=1, keepdim=True)(x, y).shape) == (4, 1)
    cosines = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    np.testing.assert_allclose(array(nn.CosineSimilarity()(x, y)), cosines, rtol=1e-5)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("with_end", [False, True])
@pytest.mark.parametrize("padding", [None, 1, -1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(3, 2), (1, 4), (2, 0), (0, 3), (0, 0)])
@pytest.mark.parametrize("dtype", [tl.int64, tl.int32])
def test_a_matrix_has_a_bag_in_each_row(mode, with_end, padding, weighted, shape, dtype):
    if weighted and mode != "sum":
        return
    rng = np.random.default_rng(0)
    table, indices, factors = rng.normal(size=(6, 2)), rng.integers(0, 6, shape), rng.normal(size=shape)
    weight = tl.tensor(table, requires_grad=True)
    result = nn.functional.embedding_bag(
        tl.from_numpy(indices).to(dtype),
        weight,
        mode=mode,
        include_last_offset=with_end,
        padding_idx=padding,
        per_sample_weights=tl.from_numpy(factors) if weighted else None,
    )
    expected = np.zeros((shape[0], 2))
    for bag, row in enumerate(indices):
        values = [number for number, index in enumerate(row) if padding is None or index != padding % 6]
        rows = table[row[values]] * (factors[bag][values][:, None] if weighted else 1)
        if len(values):
            expected[bag] = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode](rows, axis=0)
    np.testing.assert_allclose(result.detach().numpy(), expected)
    result.sum().backward()
    assert weight.grad.shape == (6, 2)
    if mode == "sum" and not weighted:
        counts = np.bincount(indices.reshape(-1), minlength=6)
        if padding is not None:
            counts[padding] = 0
        np.testing.assert_allclose(weight.grad.numpy(), np.repeat(counts[:, None], 2, 1))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("ends", [[0, 3, 3], [0, 3, 4]])
def test_the_last_offset_is_the_number_of_indices(mode, ends):
    table = np.random.default_rng(0).normal(size=(6, 2))
    weight = tl.tensor(table, requires_grad=True)
    result = nn.functional.embedding_bag(
        tl.arange(5), weight, tl.tensor(ends), mode=mode, include_last_offset=True, padding_idx=5
    )
    reduce = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode]
    np.testing.assert_allclose(
        result.detach().numpy(), [reduce(table[:3], axis=0), reduce(table[3:5], axis=0)]
    )
    result.sum().backward()
    assert weight.grad.sum().item() == pytest.approx(10 if mode == "sum" else 4)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
def test_all_pairs(p):
    from scipy.spatial import distance

    points = np.random.default_rng(0).normal(size=(6, 3))
    result = array(nn.functional.pdist(tl.tensor(points.tolist(), dtype=tl.float64), p))
    if p == 0.0:
        expected = np.full(15, 3.0)
    elif p == float("inf"):
        expected = distance.pdist(points, "chebyshev")
    else:
        expected = distance.pdist(points, "minkowski", p=p)
    np.testing.assert_allclose(result, expected, rtol=1e-9)


def test_all_pairs_of_equal_points_have_no_gradient():
    points = tl.zeros(2, 3, requires_grad=True)
    nn.functional.pdist(points).sum().backward()
    assert points.grad.tolist() == [[0.0] * 3] * 2
    with pytest.raises(RuntimeError, match="only supports 2D tensors"):
        nn.functional.pdist(tl.zeros(3))


def test_gumbel_softmax():
    tl.manual_seed(0)
    logits = tl.tensor([[0.0, 2.0, -1.0]]).expand(4000, 3).clone().requires_grad_()
    hard = nn.functional.gumbel_softmax(logits, hard=True)
    assert set(np.unique(array(hard).round(6))) == {0.0, 1.0}
    odds = np.exp([0.0, 2.0, -1.0])
    np.testing.assert_allclose(array(hard).mean(0), odds / odds.sum(), atol=0.03)
    soft = nn.functional.gumbel_softmax(logits, tau=0.5)
    np.testing.assert_allclose(array(soft.sum(-1)), np.ones(4000), rtol=1e-5)
    (hard * tl.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert logits.grad.abs().max().item() > 0


def test_linear_cross_entropy():
    loss = nn.LinearCrossEntropyLoss(4, 3, bias=True)
    x, target = tl.ones(2, 4), tl.tensor([0, 2])
    expected = nn.CrossEntropyLoss()(loss.linear(x), target)
    assert loss(x, target).item() == pytest.approx(expected.item())
    positions = nn.LinearCrossEntropyLoss(4, 3, out_features=(5,), reduction="none")
    assert tuple(positions(x, tl.zeros(2, 5, dtype=tl.int64)).shape) == (2, 5)
    assert list(positions.state_dict()) == ["linear.weight"]


def test_softmax_over_clusters():
    layer = nn.AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs=[5, 10], div_value=2.0, head_bias=True)
    x = tl.tensor(np.random.default_rng(0).normal(size=(6, 16)).tolist())
    scores = array(layer.log_prob(x))
    np.testing.assert_allclose(np.exp(scores).sum(1), np.ones(6), rtol=1e-5)
    target = [0, 4, 5, 9, 10, 19]
    output, loss = layer(x, tl.tensor(target))
    np.testing.assert_allclose(array(output), scores[range(6), target], rtol=1e-5)
    assert loss.item() == pytest.approx(-array(output).mean(), rel=1e-5)
    assert layer.predict(x).tolist() == scores.argmax(1).tolist()
    single = layer(x[2], tl.tensor(5))
    assert single.output.item() == pytest.approx(output[2].item(), rel=1e-5)
    loss.backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())
    with pytest.raises(RuntimeError, match=r"Target values should be in \[0, 19\]"):
        layer(x[:1], tl.tensor([20]))
    with pytest.raises(ValueError, match="unique, positive integers sorted in an increasing order"):
        nn.AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs=[10, 5])
