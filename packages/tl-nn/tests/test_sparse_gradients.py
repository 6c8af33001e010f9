"""Layers with sparse gradients, and the optimizers that take them."""

import copy

import numpy as np
import pytest

import tl_core as tl
import tl_nn as nn
import tl_nn.functional as F
from tl_nn import optim

ROWS, WIDTH = 6, 3
BATCHES = [[1, 4, 1], [0, 4], [1, 1, 1, 5]]


def table(**options):
    weight = tl.arange(float(ROWS * WIDTH)).reshape(ROWS, WIDTH) / 10
    return nn.Embedding.from_pretrained(weight, freeze=False, sparse=True, **options)


def array(tensor):
    return np.array(tensor.tolist())


def gradients(batch):
    """A loss whose gradient differs in every element: for the layer, and in numpy."""
    factors = np.arange(1.0, 1.0 + len(batch) * WIDTH).reshape(len(batch), WIDTH) / 7
    dense = np.zeros((ROWS, WIDTH))
    np.add.at(dense, batch, factors)
    return tl.tensor(factors.tolist()), dense


def train(make, batches=BATCHES, layer=None):
    layer = layer or table()
    optimizer = make(layer.parameters())
    for batch in batches:
        optimizer.zero_grad()
        (layer(tl.tensor(batch)) * gradients(batch)[0]).sum().backward()
        assert layer.weight.grad.is_sparse
        optimizer.step()
    return array(layer.weight), optimizer


def close(got, wanted):
    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=1e-6)


def test_sgd_takes_the_dense_step():
    expected = array(table().weight)
    for batch in BATCHES:
        expected -= 0.5 * gradients(batch)[1]
    close(train(lambda params: optim.SGD(params, lr=0.5))[0], expected)
    close(train(lambda params: optim.SGD(params, lr=tl.tensor(0.5)))[0], expected)
    up = 2 * array(table().weight) - expected
    close(train(lambda params: optim.SGD(params, lr=0.5, maximize=True, foreach=True))[0], up)


@pytest.mark.parametrize("nesterov", [False, True])
def test_sgd_with_momentum(nesterov):
    expected, buffer = array(table().weight), 0
    for batch in BATCHES:
        grad = gradients(batch)[1]
        buffer = 0.9 * buffer + grad
        expected -= 0.5 * (grad + 0.9 * buffer if nesterov else buffer)
    result, optimizer = train(lambda params: optim.SGD(params, lr=0.5, momentum=0.9, nesterov=nesterov))
    close(result, expected)
    value = optimizer.state_dict()["state"][0]["momentum_buffer"]
    assert value.is_sparse
    close(array(value.to_dense()), buffer)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("lr", [0.1, tl.tensor(0.1)], ids=["number", "tensor"])
def test_sparse_adam(lr, maximize):
    """Rows without a gradient keep their means: they do not even fade."""
    expected = array(table().weight)
    mean, square = np.zeros_like(expected), np.zeros_like(expected)
    for step, batch in enumerate(BATCHES, 1):
        grad = gradients(batch)[1] * (-1 if maximize else 1)
        for row in set(batch):
            mean[row] += 0.1 * (grad[row] - mean[row])
            square[row] += 0.01 * (grad[row] ** 2 - square[row])
            rate = 0.1 * (1 - 0.99**step) ** 0.5 / (1 - 0.9**step)
            expected[row] -= rate * mean[row] / (square[row] ** 0.5 + 1e-8)
    result, optimizer = train(
        lambda params: optim.SparseAdam(params, lr, betas=(0.9, 0.99), maximize=maximize)
    )
    close(result, expected)
    state = optimizer.state_dict()["state"][0]
    assert list(state) == ["step", "exp_avg", "exp_avg_sq"] and state["step"] == 3
    close(array(state["exp_avg"]), mean)
    close(array(state["exp_avg_sq"]), square)


def test_sparse_adam_goes_on_where_it_was():
    def make(params):
        return optim.SparseAdam(params, lr=0.1)

    full, _ = train(make)
    layer = table()
    _, first = train(make, BATCHES[:1], layer)
    second = make(layer.parameters())
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    np.testing.assert_array_equal(train(lambda _: second, BATCHES[1:], layer)[0], full)


def test_sparse_adam_refuses():
    with pytest.raises(ValueError, match=r"Sparse params at indices \[\[0, 1\]\]: SparseAdam requires dense"):
        optim.SparseAdam([tl.zeros(2), tl.sparse_coo_tensor((2, 2))])
    layer = table()
    layer.weight.grad = tl.ones(ROWS, WIDTH)
    with pytest.raises(
        RuntimeError, match="SparseAdam does not support dense gradients, please consider Adam"
    ):
        optim.SparseAdam(layer.parameters()).step()


def test_sparse_adam_without_rows():
    layer = table(padding_idx=0)
    optimizer = optim.SparseAdam(layer.parameters())
    layer(tl.tensor([0])).sum().backward()
    before = array(layer.weight)
    optimizer.step()
    np.testing.assert_array_equal(array(layer.weight), before)


def test_adagrad():
    expected = array(table().weight)
    total = np.full_like(expected, 0.5)
    for step, batch in enumerate(BATCHES):
        grad = gradients(batch)[1]
        total += grad**2
        expected -= 0.1 / (1 + step * 0.2) * grad / (np.sqrt(total) + 1e-10)
    options = {"lr": 0.1, "lr_decay": 0.2, "initial_accumulator_value": 0.5}
    result, optimizer = train(lambda params: optim.Adagrad(params, **options))
    close(result, expected)
    close(array(optimizer.state_dict()["state"][0]["sum"]), total)


def test_adagrad_takes_dense_gradients_beside_sparse_ones():
    layer, other = table(), tl.ones(2, requires_grad=True)
    (layer(tl.tensor([1])).sum() + other.sum()).backward()
    optim.Adagrad([other, *layer.parameters()], lr=0.5).step()
    close(array(other), [0.5, 0.5])
    close(array(layer.weight)[1], array(table().weight)[1] - 0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: optim.SGD(p, weight_decay=0.1), r"Use add\(dense, sparse\) instead"),
        (lambda p: optim.SGD(p, fused=True), "`_fused_sgd` does not support sparse gradients"),
        (lambda p: optim.Adagrad(p, weight_decay=0.1), "weight_decay option is not compatible with sparse"),
        (lambda p: optim.Adagrad(p, fused=True), "`fused` does not support sparse grad or complex param"),
    ],
)
def test_options_that_need_dense_gradients(make, message):
    with pytest.raises(RuntimeError, match=message):
        train(make)


@pytest.mark.parametrize(
    "name", ["Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adadelta", "RMSprop", "Rprop", "ASGD", "Adafactor"]
)
def test_other_optimizers_refuse(name):
    message = "Adam does not support sparse gradients, please consider SparseAdam instead"
    layer = table()
    layer(tl.tensor([1])).sum().backward()
    optimizer = getattr(optim, name)(layer.parameters())
    with pytest.raises(RuntimeError) as caught:
        optimizer.step()
    assert str(caught.value) == (
        message if name in ("Adam", "AdamW") else f"{name} does not support sparse gradients"
    )
    assert not optimizer.state


def test_lbfgs_takes_them():
    layer = table()

    def closure():
        layer.zero_grad()
        loss = (layer(tl.tensor([1, 2])) ** 2).sum()
        loss.backward()
        return loss

    optimizer = optim.LBFGS(layer.parameters())
    optimizer.step(closure)
    assert abs(array(layer.weight)[1:3]).max() < 1e-3


def test_zeroed_gradients():
    layer = table()
    layer(tl.tensor([1])).sum().backward()
    grad = layer.weight.grad
    layer.zero_grad(set_to_none=False)
    assert layer.weight.grad is grad and grad.is_sparse and grad._nnz() == 0
    layer(tl.tensor([2])).sum().backward()
    assert grad._indices().tolist() == [[2]]
    layer.zero_grad()
    assert layer.weight.grad is None


def test_the_gradient_of_padding_frequencies_and_norms():
    layer = nn.Embedding(ROWS, WIDTH, padding_idx=2, max_norm=0.5, sparse=True)
    layer(tl.tensor([[1, 2], [4, 4]])).sum().backward()
    assert layer.weight.grad._indices().tolist() == [[1, 4, 4]]
    assert np.linalg.norm(array(layer.weight)[[1, 4]], axis=1).max() < 0.5 + 1e-6
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse gradients"):
        nn.Embedding(ROWS, WIDTH, scale_grad_by_freq=True, sparse=True)(tl.tensor([1])).sum().backward()


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("padding", [None, 2])
def test_bags(mode, padding):
    result = []
    for sparse in (True, False):
        weight = table().weight.detach().clone().requires_grad_()
        factors = tl.tensor([1.0, 2.0, 3.0, 4.0]) if mode == "sum" else None
        bags = F.embedding_bag(
            tl.tensor([1, 2, 4, 1]), weight, tl.tensor([0, 3]), mode=mode, sparse=sparse,
            per_sample_weights=factors, padding_idx=padding,
        )  # fmt: skip
        (bags * tl.arange(6.0).reshape(2, 3)).sum().backward()
        result.append(weight.grad)
    assert result[0].is_sparse and not result[1].is_sparse
    assert result[0]._indices().tolist() == ([[1, 4, 1]] if padding else [[1, 2, 4, 1]])
    close(array(result[0].to_dense()), array(result[1]))


def test_bags_of_maxima_are_refused():
    with pytest.raises(ValueError, match="max mode does not support sparse weights"):
        F.embedding_bag(tl.tensor([[1]]), table().weight, mode="max", sparse=True)


def test_clipping_by_norm_scales_what_is_stored():
    layer = table()
    layer(tl.tensor([1])).sum().backward()
    before = array(layer.weight.grad.to_dense())
    total = nn.utils.clip_grad_norm_(layer.parameters(), 0.5)
    close(array(total), np.linalg.norm(before))
    assert layer.weight.grad.is_sparse
    close(array(layer.weight.grad.to_dense()), before * 0.5 / (np.linalg.norm(before) + 1e-6))
