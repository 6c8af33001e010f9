"""Losses of margins, counts and sequences against numpy and scipy."""

from itertools import product

import numpy
import pytest
from scipy.special import log_softmax
from scipy.stats import norm, poisson

import tl_core as tl
import tl_nn.functional as F
from tl_autograd.func import vmap


def drawn(*shape, seed=0):
    return numpy.random.default_rng(seed).standard_normal(shape)


def test_poisson_and_gaussian_are_likelihoods():
    rate, counts = numpy.exp(drawn(20)), numpy.random.default_rng(1).integers(2, 9, 20).astype(float)
    result = F.poisson_nll_loss(
        tl.tensor(rate), tl.tensor(counts), log_input=False, full=True, eps=0.0, reduction="none"
    )
    numpy.testing.assert_allclose(result.numpy(), -poisson(rate).logpmf(counts.astype(int)), atol=0.05)
    mean, x, var = drawn(20), drawn(20, seed=1), numpy.exp(drawn(20, seed=2))
    result = F.gaussian_nll_loss(tl.tensor(mean), tl.tensor(x), tl.tensor(var), full=True, reduction="none")
    numpy.testing.assert_allclose(result.numpy(), -norm(mean, numpy.sqrt(var)).logpdf(x), rtol=1e-10)


def test_multi_margin():
    x, target = drawn(4, 5), numpy.array([0, 3, 3, 1])
    for p in (1, 2):
        result = F.multi_margin_loss(
            tl.tensor(x), tl.tensor(target), p=p, margin=0.5, reduction="none"
        ).numpy()
        for row, y, loss in zip(x, target, result, strict=True):
            rest = [max(0, 0.5 - row[y] + v) ** p for i, v in enumerate(row) if i != y]
            assert loss == pytest.approx(sum(rest) / 5)


def test_multilabel_margin():
    x, target = drawn(3, 4), numpy.array([[1, 3, -1, 0], [-1, 0, 1, 2], [0, 1, 2, 3]])
    result = F.multilabel_margin_loss(tl.tensor(x), tl.tensor(target), reduction="none").numpy()
    for row, names, loss in zip(x, target, result, strict=True):
        classes = [int(c) for c in names[: list(names).index(-1)]] if -1 in names else list(names)
        want = sum(max(0, 1 - row[y] + row[i]) for y in classes for i in range(4) if i not in classes)
        assert loss == pytest.approx(want / 4)


def test_distances():
    x, y = drawn(6, 3), drawn(6, 3, seed=1)
    for p in (0.5, 1.0, 2.0, 3.0, numpy.inf):
        result = F.pairwise_distance(tl.tensor(x), tl.tensor(y), p=p)
        numpy.testing.assert_allclose(
            result.numpy(), [numpy.linalg.norm(v, p) for v in x - y + 1e-6], rtol=1e-10
        )
    cosine = (x * y).sum(1) / numpy.linalg.norm(x, axis=1) / numpy.linalg.norm(y, axis=1)
    numpy.testing.assert_allclose(F.cosine_similarity(tl.tensor(x), tl.tensor(y)).numpy(), cosine, rtol=1e-12)


def test_normalize():
    x = drawn(6, 3)
    for p in (0.5, 1.0, 2.0, 3.0, numpy.inf):
        want = [v / numpy.linalg.norm(v, p) for v in x]
        numpy.testing.assert_allclose(F.normalize(tl.tensor(x), p).numpy(), want, rtol=1e-10)
    out = tl.empty(1, 2)
    assert F.normalize(tl.tensor([[3.0, 4.0]]), out=out) is out
    assert out.tolist() == tl.tensor([[0.6, 0.8]]).tolist()


@pytest.mark.parametrize("p", [0.5, 1.5, 2.0])
def test_a_norm_below_two_has_a_gradient_where_an_element_is_zero(p):
    x = tl.tensor([[0.0, 4.0]], requires_grad=True)
    F.pairwise_distance(x, tl.zeros(1, 2), p=p, eps=0.0).sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0]]


def all_alignments(scores, target, blank):
    """The likelihood of a target: the sum over all paths that collapse to it."""
    total = 0.0
    for path in product(range(scores.shape[1]), repeat=len(scores)):
        merged = [c for i, c in enumerate(path) if i == 0 or c != path[i - 1]]
        if [c for c in merged if c != blank] == list(target):
            total += numpy.exp(sum(scores[t, c] for t, c in enumerate(path)))
    return total


def test_ctc_sums_over_all_alignments():
    scores = log_softmax(drawn(5, 3, 3), -1)
    targets, lengths, inputs = numpy.array([[1, 2], [2, 2], [1, 0]]), [2, 2, 0], [5, 4, 3]
    result = F.ctc_loss(tl.tensor(scores), tl.tensor(targets), inputs, lengths, reduction="none").numpy()
    for n in range(3):
        want = all_alignments(scores[: inputs[n], n], targets[n, : lengths[n]], 0)
        assert result[n] == pytest.approx(-numpy.log(want))


def test_ctc_of_the_impossible():
    scores = tl.tensor(log_softmax(drawn(1, 1, 3), -1)).requires_grad_()
    target = tl.tensor([[1, 2]])
    assert F.ctc_loss(scores, target, [1], [2]).item() == numpy.inf
    loss = F.ctc_loss(scores, target, [1], [2], zero_infinity=True)
    loss.backward()
    assert loss.item() == 0.0 and not scores.grad.any()


def ctc_samples():
    """Repeated labels, one step, no step, no label, more labels than a vector has lanes."""
    rng = numpy.random.default_rng(7)
    scores = rng.standard_normal((60, 6, 9))
    targets = rng.integers(1, 9, (6, 25))
    targets[1, :4] = [3, 3, 3, 2]
    targets[:, 20:] = -1  # what lies behind a target is not read
    return scores, targets, [60, 12, 1, 0, 30, 47], [20, 4, 1, 0, 0, 17]


def ctc_by_recursion(scores, target, blank=0):
    """The negative log-likelihood by the forward recursion of Graves et al., 2006, in longdouble."""
    probabilities = numpy.exp(log_softmax(scores.astype(numpy.longdouble), -1))
    states = [blank]
    for label in target:
        states += [label, blank]
    if not len(scores):
        return 0.0 if len(states) == 1 else numpy.inf
    alpha = numpy.zeros(len(states), numpy.longdouble)
    alpha[:2] = probabilities[0, states[:2]]
    for row in probabilities[1:]:
        before = alpha.copy()
        for s, label in enumerate(states):
            alpha[s] = before[s] + (before[s - 1] if s else 0)
            if s > 1 and label != blank and label != states[s - 2]:
                alpha[s] += before[s - 2]
            alpha[s] *= row[label]
    return float(-numpy.log(alpha[-2:].sum()))


@pytest.mark.parametrize("dtype", [tl.float32, tl.float64])
def test_ctc_of_samples_of_many_lengths(dtype):
    scores, targets, inputs, lengths = ctc_samples()
    rows = tl.tensor(scores, dtype=dtype).log_softmax(2)
    losses = F.ctc_loss(rows, tl.tensor(targets), inputs, lengths, reduction="none")
    want = [ctc_by_recursion(scores[: inputs[n], n], targets[n, : lengths[n]]) for n in range(6)]
    numpy.testing.assert_allclose(losses.numpy(), want, rtol=1e-5 if dtype == tl.float32 else 1e-12)
    flat = tl.cat([tl.tensor(targets)[n, : lengths[n]] for n in range(6)])
    again = F.ctc_loss(rows, flat, tl.tensor(inputs), tl.tensor(lengths), reduction="none")
    assert tl.equal(losses, again)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": tl.tensor([[1, 9]])}, "expected targets below 4, got 9"),
        ({"targets": tl.tensor([[1, -1]])}, "expected targets below 4, got -1"),
        ({"blank": 4}, "blank must be in label range"),
        ({"input_lengths": [7]}, "input_lengths to have value at most 6"),
        ({"target_lengths": [3]}, "at least 3 labels"),
        ({"input_lengths": [6, 6]}, "input_lengths must be of size batch_size 1"),
    ],
)
def test_ctc_names_what_does_not_fit(change, message):
    arguments = {
        "log_probs": tl.zeros(6, 1, 4).log_softmax(2),
        "targets": tl.tensor([[1, 2]]),
        "input_lengths": [6],
        "target_lengths": [2],
    }
    with pytest.raises(RuntimeError, match=message):
        F.ctc_loss(**arguments | change)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("dims", list(product([0, None], repeat=4)))
def test_ctc_of_a_batch_of_examples_is_that_of_each(dims, reduction):
    if dims == (None,) * 4:
        pytest.skip("vmap needs a batch")
    scores = tl.tensor(log_softmax(drawn(3, 6, 2, 4), -1))
    targets = tl.tensor([[[1, 2, 3], [3, 3, 1]], [[2, 2, 1], [1, 3, 2]], [[3, 1, 1], [2, 1, 3]]])
    inputs, lengths = tl.tensor([[6, 5], [4, 0], [6, 6]]), tl.tensor([[3, 2], [1, 0], [2, 2]])
    examples = [x if d == 0 else x[0] for x, d in zip((scores, targets, inputs, lengths), dims, strict=True)]
    result = vmap(lambda *one: F.ctc_loss(*one, reduction=reduction), in_dims=dims)(*examples)
    for n in range(3):
        one = [x[n] if d == 0 else x for x, d in zip(examples, dims, strict=True)]
        numpy.testing.assert_allclose(
            result[n].numpy(), F.ctc_loss(*one, reduction=reduction).numpy(), rtol=1e-12
        )


def test_ctc_of_a_batch_of_examples_takes_targets_in_a_row_and_refuses_lengths_that_do_not_fit():
    scores, targets = tl.tensor(log_softmax(drawn(2, 6, 2, 4), -1)), tl.tensor([[1, 2, 3], [2, 2, 1]])
    inputs, lengths = tl.tensor([[6, 5], [4, 6]]), tl.tensor([[2, 1], [0, 3]])
    result = vmap(F.ctc_loss)(scores, targets, inputs, lengths)
    want = [F.ctc_loss(*one).item() for one in zip(scores, targets, inputs, lengths, strict=True)]
    numpy.testing.assert_allclose(result.numpy(), want, rtol=1e-12)
    for wrong in (inputs + 1, inputs - 6):
        with pytest.raises(RuntimeError, match="Expected input_lengths to have value at most 6"):
            vmap(F.ctc_loss)(scores, targets, wrong, lengths)
    with pytest.raises(RuntimeError, match="out of bounds"):
        vmap(F.ctc_loss)(scores, targets, inputs, lengths + 2)
    with pytest.raises(RuntimeError, match="Expected targets of 4 labels"):
        F.ctc_loss(scores[0], targets[0], [6, 5], [2, 2])


def test_multi_head_attention_gives_the_same_with_and_without_weights():
    x, w = tl.tensor(drawn(5, 2, 8)), tl.tensor(drawn(24, 8, seed=1))
    arguments = (x, x, x, 8, 2, w, None, None, None, False, 0.0, w[:8], None)
    padding = tl.tensor([[False] * 5, [False, False, True, True, False]])
    with_weights, weights = F.multi_head_attention_forward(*arguments, key_padding_mask=padding)
    without, none = F.multi_head_attention_forward(*arguments, key_padding_mask=padding, need_weights=False)
    assert none is None and weights.shape == (2, 5, 5)
    numpy.testing.assert_allclose(with_weights.numpy(), without.numpy(), atol=1e-12)
    numpy.testing.assert_allclose(weights.sum(-1).numpy(), 1, atol=1e-12)


def test_embedding_shortens_rows():
    table = tl.tensor(drawn(4, 3) * 10)
    F.embedding(tl.tensor([1, 2]), table, max_norm=1.0)
    lengths = numpy.linalg.norm(table.numpy(), axis=1)
    numpy.testing.assert_allclose(lengths[1:3], 1, rtol=1e-6)
    assert lengths[0] > 1 and lengths[3] > 1


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag(mode):
    table, index = drawn(6, 3), numpy.array([[0, 1, 5], [2, 2, 2]])
    result = F.embedding_bag(tl.tensor(index), tl.tensor(table), mode=mode)
    numpy.testing.assert_allclose(result.numpy(), getattr(table[index], mode)(1), rtol=1e-12)


@pytest.mark.parametrize("margin", [0, 0.0, 2, 0.5])
@pytest.mark.parametrize("dtype", [tl.int64, tl.uint8, tl.float64, tl.float16])
def test_ranks_of_integers_have_a_floating_point_loss(margin, dtype):
    a, b, y = (tl.tensor(v, dtype=dtype) for v in ([3, 1], [1, 2], [1, 1]))
    losses = F.margin_ranking_loss(a, b, y, margin, reduction="none")
    assert losses.dtype == (dtype if dtype.is_floating_point else tl.float32)
    if dtype != tl.uint8:
        assert losses.tolist() == [max(0.0, margin - 2), 1.0 + margin]
        assert F.margin_ranking_loss(a, b, y, margin).dtype == losses.dtype
