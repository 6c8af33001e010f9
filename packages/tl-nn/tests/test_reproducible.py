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
