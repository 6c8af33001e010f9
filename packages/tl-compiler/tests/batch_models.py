"""Models that programs export with a dynamic batch, small ones: what each does with sizes is what its kind does."""

from __future__ import annotations

import math
from typing import Any

import models

import tl_core as tl
import tl_nn as nn
from tl_nn import functional as F


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(tl.ones(width))

    def forward(self, x: Any) -> Any:
        return self.weight * x * tl.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


def rotated(x: Any) -> Any:
    half = x.shape[-1] // 2
    return tl.cat((-x[..., half:], x[..., :half]), dim=-1)


class Rotary(nn.Module):
    def __init__(self, width: int, context: int) -> None:
        super().__init__()
        frequency = 1.0 / 10000 ** (tl.arange(0, width, 2.0) / width)
        angles = tl.outer(tl.arange(float(context)), frequency)
        self.register_buffer("cos", tl.cat((angles, angles), -1).cos())
        self.register_buffer("sin", tl.cat((angles, angles), -1).sin())

    def forward(self, x: Any, start: int) -> Any:
        length = x.shape[-2]
        cos, sin = self.cos[start : start + length], self.sin[start : start + length]
        return x * cos + rotated(x) * sin


class LlamaLayer(nn.Module):
    def __init__(self, width: int, heads: int, shared: int, context: int) -> None:
        super().__init__()
        self.heads, self.shared, self.size = heads, shared, width // heads
        self.q = nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, shared * self.size, bias=False) for _ in range(2))
        self.o = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 24, bias=False), nn.Linear(width, 24, bias=False)
        self.down = nn.Linear(24, width, bias=False)
        self.norm1, self.norm2, self.rotary = RMSNorm(width), RMSNorm(width), Rotary(self.size, context)

    def forward(self, x: Any, past: Any, mask: Any) -> Any:
        batch, length, _ = x.shape
        y, start = self.norm1(x), past[0].shape[2]
        q = self.rotary(self.q(y).view(batch, length, self.heads, self.size).transpose(1, 2), start)
        k = self.rotary(self.k(y).view(batch, length, self.shared, self.size).transpose(1, 2), start)
        v = self.v(y).view(batch, length, self.shared, self.size).transpose(1, 2)
        k, v = tl.cat((past[0], k), 2), tl.cat((past[1], v), 2)
        groups = self.heads // self.shared
        wide = [
            t[:, :, None]
            .expand(batch, self.shared, groups, t.shape[2], self.size)
            .reshape(batch, self.heads, -1, self.size)
            for t in (k, v)
        ]
        scores = q @ wide[0].transpose(2, 3) / math.sqrt(self.size) + mask[:, :, :, : wide[0].shape[-2]]
        x = x + self.o((scores.softmax(-1) @ wide[1]).transpose(1, 2).reshape(batch, length, -1))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y)), (k, v)


class Llama(nn.Module):
    """Rotary embedding, grouped keys, a cache, a causal mask that is made of sizes, and the last token's logits."""

    def __init__(self, context: int = 16) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.layers = nn.ModuleList(LlamaLayer(16, 4, 2, context) for _ in range(2))
        self.norm, self.head = RMSNorm(16), nn.Linear(16, 20, bias=False)

    def forward(self, ids: Any, past: Any) -> Any:
        x, (length, start) = self.embed(ids), (ids.shape[1], past.shape[4])
        mask = tl.full((length, start + length), float("-inf")).triu(start + 1)
        mask = mask[None, None, :, :].expand(ids.shape[0], 1, -1, -1)
        cache = []
        for layer, value in zip(self.layers, past, strict=True):
            x, entry = layer(x, (value[0], value[1]), mask)
            cache.append(tl.stack(entry))
        return self.head(self.norm(x)[:, -1:, :]), tl.stack(cache)


class Bert(nn.Module):
    """Padding masks, positions cut to the length, types of zeros as the ids are shaped, a pooled first token."""

    def __init__(self, width: int = 16, context: int = 12) -> None:
        super().__init__()
        self.word, self.position = nn.Embedding(20, width), nn.Embedding(context, width)
        self.kind, self.norm = nn.Embedding(2, width), nn.LayerNorm(width)
        self.register_buffer("ids", tl.arange(context).expand((1, -1)))
        self.qkv, self.out, self.pool = (
            nn.Linear(width, 3 * width),
            nn.Linear(width, width),
            nn.Linear(width, width),
        )

    def forward(self, ids: Any, mask: Any) -> Any:
        batch, length = ids.size()
        kinds = tl.zeros(ids.shape, dtype=tl.int64)
        x = self.norm(self.word(ids) + self.position(self.ids[:, :length]) + self.kind(kinds))
        wide = (1.0 - mask[:, None, None, :].to(x.dtype)) * -1e4
        q, k, v = self.qkv(x).view(batch, length, 3, 4, -1).permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.size(-1)) + wide
        x = x + self.out((scores.softmax(-1) @ v).permute(0, 2, 1, 3).contiguous().view(batch, length, -1))
        return x, self.pool(x[:, 0]).tanh()


class Generator(nn.Module):
    """Transposed convolutions from a vector a sample."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 8 * 4 * 4)
        self.up1 = nn.ConvTranspose2d(8, 4, 4, 2, 1)
        self.norm, self.up2 = nn.BatchNorm2d(4), nn.ConvTranspose2d(4, 1, 3, 2, 1, output_padding=1)

    def forward(self, z: Any) -> Any:
        x = self.fc(z).view(z.size(0), 8, 4, 4)
        return self.up2(F.leaky_relu(self.norm(self.up1(x)), 0.2)).tanh()


class Detector(nn.Module):
    """A head over a feature map: anchors, the best boxes of each image, their overlaps."""

    def __init__(self) -> None:
        super().__init__()
        self.body = models.conv(3, 8, stride=2)
        self.box, self.score = nn.Conv2d(8, 4 * 3, 1), nn.Conv2d(8, 3, 1)

    def forward(self, x: Any) -> Any:
        f = self.body(x)
        n, _, h, w = f.shape
        ys, xs = tl.meshgrid(tl.arange(h), tl.arange(w), indexing="ij")
        centers = tl.stack((xs, ys), -1).reshape(-1, 2).repeat_interleave(3, 0) * 2.0
        boxes = self.box(f).view(n, 3, 4, h, w).permute(0, 3, 4, 1, 2).reshape(n, -1, 4)
        low = centers - boxes[..., :2].exp()
        high = centers + boxes[..., 2:].exp()
        scores, best = self.score(f).permute(0, 2, 3, 1).flatten(1).sigmoid().topk(5, dim=1)
        low, high = (t.gather(1, best[..., None].expand(-1, -1, 2)) for t in (low, high))
        overlap = (
            (tl.minimum(high[:, :, None], high[:, None]) - tl.maximum(low[:, :, None], low[:, None]))
            .clamp(min=0)
            .prod(-1)
        )
        area = (high - low).prod(-1)
        shared = overlap / (area[:, :, None] + area[:, None] - overlap)
        value = (shared.triu(1) < 0.5).all(1)
        return tl.where(value, scores, 0.0), tl.cat((low, high), -1)


class GraphNet(nn.Module):
    """Messages along edges, summed where they arrive; a mean over the nodes of each graph."""

    def __init__(self) -> None:
        super().__init__()
        self.message, self.update = nn.Linear(8, 4), nn.Linear(8, 4)

    def forward(self, x: Any, source: Any, target: Any) -> Any:
        batch, count, _ = x.shape
        offset = tl.arange(batch)[:, None] * count
        flat = x.reshape(-1, 4)
        s, t = (source + offset).reshape(-1), (target + offset).reshape(-1)
        message = self.message(tl.cat((flat[s], flat[t]), -1)).relu()
        total = tl.zeros_like(flat).index_add(0, t, message)
        degree = tl.zeros(flat.shape[0]).scatter_add(0, t, tl.ones_like(t, dtype=tl.float32)).clamp(min=1)
        out = self.update(tl.cat((flat, total / degree[:, None]), -1))
        return out.view(batch, count, -1).mean(1)


class Experts(nn.Module):
    """Each token goes to the best two of several experts, whose shares are put together densely."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(6, 4)
        self.weights = nn.Parameter(tl.linspace(-1, 1, 4 * 6 * 6).reshape(4, 6, 6))

    def forward(self, x: Any) -> Any:
        flat = x.view(-1, x.shape[-1])
        values, choice = self.router(flat).softmax(-1).topk(2, -1)
        values = values / values.sum(-1, keepdim=True)
        share = tl.zeros(flat.shape[0], 4).scatter(1, choice, values)
        load = F.one_hot(choice, 4).sum((0, 1)) / flat.shape[0]
        every = tl.einsum("td,edf->tef", flat, self.weights)
        return (every * share[:, :, None]).sum(1).view_as(x), load


class Translator(nn.Module):
    """An encoder and a decoder step: the source is cut to a context, the target is shifted."""

    def __init__(self, context: int = 6) -> None:
        super().__init__()
        self.context = context
        self.embed, self.position = (
            nn.Embedding(20, 8),
            nn.Parameter(tl.linspace(-1, 1, 16 * 8).reshape(16, 8)),
        )
        self.encoder = nn.GRU(8, 8, batch_first=True)
        self.attend, self.head = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 20)

    def forward(self, source: Any, target: Any) -> Any:
        source = source[:, : self.context]
        memory, state = self.encoder(self.embed(source) + self.position[: source.shape[1]])
        shifted = tl.cat((tl.zeros(target.shape[0], 1, dtype=tl.int64), target[:, :-1]), 1)
        y = self.embed(shifted) + self.position[: target.shape[1]] + state[-1][:, None]
        mixed, _ = self.attend(y, memory, memory, need_weights=False)
        return self.head(y + mixed)


class Wave(nn.Module):
    """Strided and dilated convolutions over samples, gates, a mean over time."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(1, 8, 5, stride=2, padding=2)
        self.blocks = nn.ModuleList(nn.Conv1d(8, 16, 3, dilation=d, padding=d) for d in (1, 2, 4))
        self.last = nn.Conv1d(8, 3, 1)

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        for block in self.blocks:
            value, gate = block(x).chunk(2, 1)
            x = x + value.tanh() * gate.sigmoid()
        return self.last(F.avg_pool1d(x, 2)).mean(-1)


class Encoder(nn.Module):
    """The layer of encoders, with a padding mask and a causal one."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x: Any, padding: Any) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return self.encoder(x, mask=mask, src_key_padding_mask=padding)


def ids(n: int, length: int, limit: int = 20) -> Any:
    return tl.arange(n * length).reshape(n, length) % limit


def numbers(*sizes: int) -> Any:
    return tl.linspace(-2, 2, math.prod(sizes)).reshape(sizes)


def edges(n: int) -> Any:
    return ids(n, 6, 5), (ids(n, 6, 5) * 2 + 1) % 5


# Each with the inputs of a batch; what else has a dynamic size beside dimension 0 of each of them.
BATCHES: dict[str, Any] = {
    "resnet": (lambda: models.ResNet(models.BasicBlock), lambda n: (numbers(n, 3, 32, 32),)),
    "llama": (Llama, lambda n: (ids(n, 5), numbers(2, 2, n, 2, 3, 4)), {1: {2: "b"}}),
    "bert": (Bert, lambda n: (ids(n, 7), ids(n, 7, 3) > 0)),
    "vit": (models.ViT, lambda n: (numbers(n, 3, 16, 16),)),
    "lstm": (lambda: models.Recurrent(nn.LSTM), lambda n: (ids(n, 6, 10),)),
    "unet": (models.UNet, lambda n: (numbers(n, 3, 16, 16),)),
    "gan": (Generator, lambda n: (numbers(n, 6),)),
    "detector": (Detector, lambda n: (numbers(n, 3, 16, 12),)),
    "mixer": (models.Mixer, lambda n: (numbers(n, 3, 16, 16),)),
    "wave": (Wave, lambda n: (numbers(n, 1, 40),)),
    "graph": (GraphNet, lambda n: (numbers(n, 5, 4), *edges(n))),
    "encoder": (Encoder, lambda n: (numbers(n, 5, 8), ids(n, 5, 5) == 4)),
    "experts": (Experts, lambda n: (numbers(n, 5, 6),)),
    "translator": (Translator, lambda n: (ids(n, 9), ids(n, 4))),
}
