"""A training run is the same bits with every number of threads."""

from __future__ import annotations

import pytest

import tl_core as tl
import tl_nn
from tl_nn import functional, optim


@pytest.fixture(autouse=True)
def restore_threads():
    before = tl.get_num_threads()
    yield
    tl.set_num_threads(before)


def trained(threads: int) -> list[list[float]]:
    """The parameters after some steps of a network wide enough for parallel work."""
    tl.set_num_threads(threads)
    tl.manual_seed(0)
    model = tl_nn.Sequential(tl_nn.Linear(301, 257), tl_nn.Tanh(), tl_nn.Dropout(0.2), tl_nn.Linear(257, 10))
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    x, y = tl.randn(131, 301), tl.randint(0, 10, (131,))
    for _ in range(5):
        optimizer.zero_grad()
        functional.cross_entropy(model(x), y, label_smoothing=0.1).backward()
        optimizer.step()
    return [p.detach().flatten().tolist() for p in model.parameters()]


def test_training_gives_the_same_bits_with_every_number_of_threads():
    expected = trained(1)
    assert len(expected) == 4 and all(expected)
    for threads in (2, 4, 8):
        assert trained(threads) == expected, threads


def run_layer(layer, x, threads: int) -> list[list[float]]:
    """What a recurrent layer returns, and its gradients."""
    tl.set_num_threads(threads)
    layer.zero_grad()
    output, state = layer(x)
    data = output.data if isinstance(output, tl_nn.utils.rnn.PackedSequence) else output
    data.square().sum().backward()
    states = state if isinstance(state, tuple) else (state,)
    return [t.detach().flatten().tolist() for t in (data, *states, *(p.grad for p in layer.parameters()))]


@pytest.mark.parametrize("batch", [1, 7, 19])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_give_the_same_bits_with_every_number_of_threads(kind, batch):
    tl.manual_seed(0)
    layer = getattr(tl_nn, kind)(33, 130, bidirectional=True)
    x = tl.randn(6, batch, 33)
    lengths = [6 - i % 5 for i in range(batch)]
    packed = tl_nn.utils.rnn.pack_padded_sequence(x, tl.tensor(lengths), enforce_sorted=False)
    for source in (x, packed):
        expected = run_layer(layer, source, 1)
        for threads in (2, 4, 8):
            assert run_layer(layer, source, threads) == expected, threads


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_sample_of_a_recurrent_layer_does_not_depend_on_the_others(kind):
    tl.manual_seed(0)
    layer = getattr(tl_nn, kind)(33, 130)
    x = tl.randn(6, 19, 33)
    full = layer(x)[0]
    for first, last in ((0, 1), (3, 12), (18, 19)):
        assert layer(x[:, first:last])[0].tolist() == full[:, first:last].tolist()
