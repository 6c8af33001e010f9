"""Small networks learn."""

import pytest

import tl_core as tl
import tl_nn as nn
import tl_nn.functional as F
from tl_nn import optim


@pytest.mark.parametrize(
    ("make", "steps"),
    [
        (lambda params: optim.SGD(params, lr=0.5, momentum=0.9), 150),
        (lambda params: optim.Adam(params, lr=0.05), 150),
        (lambda params: optim.AdamW(params, lr=0.05), 150),
    ],
)
def test_exclusive_or_is_learned(make, steps):
    tl.manual_seed(1)
    inputs = tl.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    classes = tl.tensor([0, 1, 1, 0])
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = make(model.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), classes)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05
    assert model(inputs).argmax(1).tolist() == classes.tolist()


def test_a_line_is_fitted():
    tl.manual_seed(0)
    x = tl.arange(-10.0, 10.0).unsqueeze(1) / 10
    y = x * 3 - 2
    model, loss = nn.Linear(1, 1), nn.MSELoss()
    optimizer = optim.SGD(model.parameters(), lr=0.3)
    for _ in range(100):
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()
    assert model.weight.item() == pytest.approx(3, abs=1e-3)
    assert model.bias.item() == pytest.approx(-2, abs=1e-3)
