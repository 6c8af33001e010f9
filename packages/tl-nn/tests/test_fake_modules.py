"""Modules under FakeTensorMode: sizes of large models without their memory."""

import copy

import pytest

import tl_core as tl
import tl_nn as nn
from tl_core.memory.usage import memory_allocated
from tl_core.subclasses import FakeTensor, FakeTensorMode
from tl_core.subclasses.fake_converter import FakeCopyMode
from tl_nn import functional as F


class Block(nn.Module):
    def __init__(self, d, hidden, heads):
        super().__init__()
        self.heads = heads
        self.norm, self.qkv, self.out = (
            nn.RMSNorm(d),
            nn.Linear(d, 3 * d, bias=False),
            nn.Linear(d, d, bias=False),
        )
        self.up, self.down = nn.Linear(d, hidden), nn.Linear(hidden, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.silu(self.up(x)))


class Model(nn.Module):
    def __init__(self, d=4096, hidden=22016, layers=32, words=32000):
        super().__init__()
        self.embedding = nn.Embedding(words, d)
        self.blocks = nn.Sequential(*[Block(d, hidden, 32) for _ in range(layers)])
        self.head = nn.Linear(d, words)

    def forward(self, ids):
        return self.head(self.blocks(self.embedding(ids)))


def test_seven_billion_parameters():
    with FakeTensorMode():
        model = Model()
        out = model(tl.zeros(2, 512, dtype=tl.int64))
        assert out.shape == (2, 512, 32000)
        out.sum().backward()
    parameters = list(model.parameters())
    assert sum(p.numel() for p in parameters) > 7e9
    assert all(isinstance(p, FakeTensor) and isinstance(p, nn.Parameter) for p in parameters)
    assert all(isinstance(p.grad, FakeTensor) and p.grad.shape == p.shape for p in parameters)


@pytest.mark.parametrize(
    ("make", "size"),
    [
        (lambda: nn.Conv2d(3, 8, 3, stride=2), (2, 3, 9, 9)),
        (lambda: nn.BatchNorm2d(3), (2, 3, 4, 4)),
        (lambda: nn.LayerNorm(4), (2, 4)),
        (lambda: nn.GroupNorm(2, 4), (2, 4, 3)),
        (lambda: nn.MaxPool2d(2), (2, 3, 4, 4)),
        (lambda: nn.AdaptiveAvgPool2d(2), (2, 3, 5, 5)),
        (lambda: nn.TransformerEncoderLayer(8, 2, batch_first=True), (2, 5, 8)),
        (lambda: nn.Upsample(scale_factor=2), (1, 2, 3, 3)),
        (lambda: nn.Dropout(), (4, 4)),
        (lambda: nn.PixelShuffle(2), (1, 4, 2, 2)),
    ],
)
def test_results_are_like_real_ones(make, size):
    expected = make()(tl.zeros(size))
    with FakeTensorMode():
        result = make()(tl.zeros(size))
    assert (
        isinstance(result, FakeTensor)
        and result.shape == expected.shape
        and result.stride() == expected.stride()
    )


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_modules(kind):
    with FakeTensorMode():
        out, _ = kind(3, 5, num_layers=2, batch_first=True)(tl.zeros(2, 7, 3))
    assert out.shape == (2, 7, 5)


def test_losses_and_optimizers():
    with FakeTensorMode():
        model = nn.Linear(3, 4)
        loss = F.cross_entropy(model(tl.zeros(2, 3)), tl.zeros(2, dtype=tl.int64))
        loss.backward()
        for kind in (nn.optim.SGD, nn.optim.Adam, nn.optim.AdamW):
            kind(model.parameters(), lr=0.1).step()
    assert isinstance(loss, FakeTensor) and isinstance(model.weight.grad, FakeTensor)


def test_copies_of_real_modules():
    real = nn.BatchNorm2d(10)
    mode = FakeTensorMode()
    with FakeCopyMode(mode):
        fake = copy.deepcopy(real)
    for name, t in real.state_dict(keep_vars=True).items():
        result = fake.state_dict(keep_vars=True)[name]
        assert isinstance(result, FakeTensor) and result.shape == t.shape and result.dtype == t.dtype
        assert isinstance(result, nn.Parameter) == isinstance(t, nn.Parameter)
        assert result.requires_grad == t.requires_grad


def test_nothing_is_allocated():
    before = memory_allocated()
    with FakeTensorMode():
        nn.Linear(1 << 14, 1 << 14)(tl.zeros(1 << 12, 1 << 14))
    assert memory_allocated() - before < 1 << 20
