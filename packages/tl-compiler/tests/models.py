"""Models of the kinds that people trace, small ones; each with inputs of three sizes."""

import math

import tl_core as tl
import tl_nn as nn
from tl_nn import functional as F


def conv(inputs, outputs, size=3, stride=1, groups=1, act=nn.ReLU):
    layers = [
        nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]
    return nn.Sequential(*layers, *([act()] if act else []))


class Head(nn.Module):
    def __init__(self, width, classes=5):
        super().__init__()
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        return self.fc(tl.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5)
        self.fc = nn.Linear(16 * 16, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), (2, 2))
        return F.log_softmax(self.fc(x.view(x.size(0), -1)), dim=1)


class AlexNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 11, 4, 2),
            nn.ReLU(),
            nn.MaxPool2d(3, 2),
            nn.Conv2d(8, 16, 5, padding=2),
            nn.ReLU(),
        )
        self.pool = nn.AdaptiveAvgPool2d((2, 2))
        self.classifier = nn.Sequential(nn.Dropout(), nn.Linear(64, 10), nn.ReLU(), nn.Linear(10, 5))

    def forward(self, x):
        return self.classifier(tl.flatten(self.pool(self.features(x)), 1))


def vgg():
    layers = []
    for inputs, outputs in ((3, 8), (8, 16), (16, 16)):
        layers += [conv(inputs, outputs), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, Head(16))


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.conv2 = conv(inputs, outputs, stride=stride), conv(outputs, outputs, act=None)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = (
            conv(inputs, outputs, 1, stride, act=None) if stride > 1 or inputs != outputs else None
        )

    def forward(self, x):
        identity = x
        out = self.conv2(self.conv1(x))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class Bottleneck(nn.Module):
    def __init__(self, inputs, outputs, stride, groups=1, width=1):
        super().__init__()
        inner = max(outputs // 4, groups) * width
        self.body = nn.Sequential(
            conv(inputs, inner, 1),
            conv(inner, inner, stride=stride, groups=groups),
            conv(inner, outputs, 1, act=None),
        )
        self.skip = conv(inputs, outputs, 1, stride, act=None)

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


class ResNet(nn.Module):
    def __init__(self, block, widths=(8, 16, 16, 32), **options):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 8, 7, 2), nn.MaxPool2d(3, 2, 1))
        inputs, blocks = 8, []
        for i, outputs in enumerate(widths):
            blocks += [
                block(inputs, outputs, 1 if i == 0 else 2, **options),
                block(outputs, outputs, 1, **options),
            ]
            inputs = outputs
        self.blocks = nn.Sequential(*blocks)
        self.head = Head(inputs)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


class DenseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = conv(3, 8)
        self.layers = nn.ModuleList(conv(8 + 4 * i, 4) for i in range(4))
        self.transition = nn.Sequential(conv(24, 12, 1), nn.AvgPool2d(2))
        self.head = Head(12)

    def forward(self, x):
        features = [self.stem(x)]
        for layer in self.layers:
            features.append(layer(tl.cat(features, 1)))
        return self.head(self.transition(tl.cat(features, dim=1)))


class Fire(nn.Module):
    def __init__(self, inputs, squeeze, expand):
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, squeeze, 1)
        self.one, self.three = nn.Conv2d(squeeze, expand, 1), nn.Conv2d(squeeze, expand, 3, padding=1)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        x = self.act(self.squeeze(x))
        return tl.cat([self.act(self.one(x)), self.act(self.three(x))], 1)


class Inception(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.branches = nn.ModuleList(
            [
                conv(inputs, 4, 1),
                nn.Sequential(conv(inputs, 4, 1), conv(4, 6)),
                nn.Sequential(conv(inputs, 2, 1), conv(2, 4, 5)),
                nn.Sequential(nn.MaxPool2d(3, 1, 1), conv(inputs, 4, 1)),
            ]
        )

    def forward(self, x):
        return tl.cat([branch(x) for branch in self.branches], 1)


class SqueezeExcite(nn.Module):
    def __init__(self, width, gate=F.hardsigmoid):
        super().__init__()
        self.down, self.up, self.gate = nn.Conv2d(width, 4, 1), nn.Conv2d(4, width, 1), gate

    def forward(self, x):
        scale = x.mean((2, 3), keepdim=True)
        return x * self.gate(self.up(F.relu(self.down(scale))))


class Inverted(nn.Module):
    def __init__(self, inputs, outputs, stride, act=nn.ReLU6, excite=None):
        super().__init__()
        inner = inputs * 3
        layers = [conv(inputs, inner, 1, act=act), conv(inner, inner, stride=stride, groups=inner, act=act)]
        layers += [excite(inner)] if excite else []
        self.body = nn.Sequential(*layers, conv(inner, outputs, 1, act=None))
        self.use_res_connect = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.body(x) if self.use_res_connect else self.body(x)


def mobile(**options):
    blocks = [Inverted(8, 8, 1, **options), Inverted(8, 12, 2, **options), Inverted(12, 12, 1, **options)]
    return nn.Sequential(conv(3, 8, stride=2), *blocks, Head(12))


class ShuffleUnit(nn.Module):
    def __init__(self, width):
        super().__init__()
        half = width // 2
        self.branch = nn.Sequential(
            conv(half, half, 1), conv(half, half, groups=half, act=None), conv(half, half, 1)
        )

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        x = tl.cat((a, self.branch(b)), dim=1)
        n, c, h, w = x.size()
        return x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, -1, h, w)


class ConvNeXtBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depth = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm, self.up, self.down = (
            nn.LayerNorm(width),
            nn.Linear(width, 2 * width),
            nn.Linear(2 * width, width),
        )
        self.scale = nn.Parameter(tl.full((width,), 0.1))

    def forward(self, x):
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        return x + (self.down(F.gelu(self.up(y))) * self.scale).permute(0, 3, 1, 2)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.middle = conv(3, 8), conv(8, 16), conv(16, 16)
        self.up2, self.up1 = nn.ConvTranspose2d(16, 16, 2, 2), conv(32, 8)
        self.out = nn.Conv2d(16, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        y = self.middle(F.max_pool2d(b, 2))
        y = self.up1(tl.cat([self.up2(y), b], 1))
        y = F.interpolate(y, size=a.shape[-2:], mode="bilinear", align_corners=False)
        return self.out(tl.cat([y, a], 1))


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone, self.classifier = (
            nn.Sequential(conv(3, 8, stride=2), conv(8, 16, stride=2)),
            nn.Conv2d(16, 3, 1),
        )

    def forward(self, x):
        features = self.backbone(x)
        return {
            "out": F.interpolate(self.classifier(features), size=x.shape[2:], mode="nearest"),
            "features": features,
        }


class Attention(nn.Module):
    def __init__(self, width, heads=2, causal=False):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.causal = heads, causal

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, width, causal=False):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, causal=causal)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(tl.zeros(1, 1, width))
        self.blocks, self.norm, self.head = (
            nn.Sequential(Block(width), Block(width)),
            nn.LayerNorm(width),
            nn.Linear(width, 5),
        )

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = tl.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)
        return self.head(self.norm(self.blocks(x))[:, 0])


class Windows(nn.Module):
    """Attention in windows, as Swin's."""

    def __init__(self, width=8, window=4):
        super().__init__()
        self.embed, self.block, self.window = nn.Conv2d(3, width, 2, 2), Block(width), window

    def forward(self, x):
        x = self.embed(x)
        b, c, h, w = x.shape
        s = self.window
        x = x.view(b, c, h // s, s, w // s, s).permute(0, 2, 4, 3, 5, 1).reshape(-1, s * s, c)
        return self.block(x).view(b, -1, s * s, c).mean((1, 2))


class Mixer(nn.Module):
    def __init__(self, tokens=16, width=8):
        super().__init__()
        self.embed = nn.Conv2d(3, width, 4, 4)
        self.across = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU())
        self.along = nn.Linear(tokens, tokens)
        self.head = nn.Linear(width, 5)

    def forward(self, x):
        x = tl.einsum("bchw->bhwc", self.embed(x)).flatten(1, 2)
        x = x + self.along(x.mT).mT
        return self.head((x + self.across(x)).mean(dim=1))


class GPT(nn.Module):
    def __init__(self, vocabulary=20, width=16, length=32):
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Parameter(tl.zeros(length, width))
        self.blocks, self.norm = (
            nn.ModuleList([Block(width, causal=True) for _ in range(2)]),
            nn.LayerNorm(width),
        )
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.token.weight

    def forward(self, ids):
        x = self.token(ids) + self.position[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Encoder(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(width, 2, 16, batch_first=True)
        self.pooler = nn.Sequential(nn.Linear(width, width), nn.Tanh())

    def forward(self, x):
        return self.pooler(self.layer(x)[:, 0])


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.embed, self.body, self.out = nn.Embedding(10, 6), kind(6, 8, batch_first=True), nn.Linear(8, 3)

    def forward(self, ids):
        outputs, _ = self.body(self.embed(ids))
        return self.out(outputs[:, -1])


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 4, 3, 2, 1), nn.ReLU(), nn.Conv2d(4, 8, 3, 2, 1))
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(8, 4, 2, 2), nn.ReLU(), nn.ConvTranspose2d(4, 1, 2, 2)
        )

    def forward(self, x):
        code = self.encoder(x)
        return tl.sigmoid(self.decoder(code)), code


class WaveNet(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.start = nn.Conv1d(1, width, 1)
        self.filters = nn.ModuleList(nn.Conv1d(width, width, 2, dilation=2**i) for i in range(3))
        self.gates = nn.ModuleList(nn.Conv1d(width, width, 2, dilation=2**i) for i in range(3))
        self.end = nn.Conv1d(width, 4, 1)

    def forward(self, x):
        x = self.start(x)
        total = 0
        for i, (conv_f, conv_g) in enumerate(zip(self.filters, self.gates, strict=True)):
            padded = F.pad(x, (2**i, 0))
            y = tl.tanh(conv_f(padded)) * tl.sigmoid(conv_g(padded))
            x, total = x + y, total + y
        return self.end(F.relu(total))


class Recommender(nn.Module):
    def __init__(self, fields=3, width=4):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(10, width) for _ in range(fields))
        self.deep = nn.Sequential(nn.Linear(fields * width, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, ids):
        rows = [table(ids[:, i]) for i, table in enumerate(self.tables)]
        stacked = tl.stack(rows, dim=1)
        pairs = 0.5 * (stacked.sum(1) ** 2 - (stacked**2).sum(1)).sum(1, keepdim=True)
        return tl.sigmoid(pairs + self.deep(stacked.flatten(1)))


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4))

    def forward(self, a, b, margin=1.0):
        return (margin - F.cosine_similarity(self.net(a), self.net(b))).clamp(min=0)


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.local, self.out = (
            nn.Sequential(nn.Conv1d(3, 8, 1), nn.BatchNorm1d(8), nn.ReLU()),
            nn.Linear(8, 4),
        )

    def forward(self, points):
        centered = points - points.mean(1, keepdim=True)
        result, _ = self.local(centered.transpose(2, 1)).max(dim=2)
        return self.out(result)


class Fourier(nn.Module):
    def __init__(self):
        super().__init__()
        self.frequencies = nn.Buffer(2.0 ** tl.arange(4))
        self.net = nn.Sequential(nn.Linear(8, 8), nn.SiLU(), nn.Linear(8, 1))

    def forward(self, t):
        angles = t[:, None] * self.frequencies * math.pi
        return self.net(tl.cat([angles.sin(), angles.cos()], -1)).squeeze(-1)


class Experts(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.gate, self.experts = (
            nn.Linear(width, 3),
            nn.ModuleList(nn.Linear(width, width) for _ in range(3)),
        )

    def forward(self, x):
        weights = F.softmax(self.gate(x), dim=-1)
        outputs = tl.stack([expert(x) for expert in self.experts], dim=-1)
        return (outputs * weights.unsqueeze(-2)).sum(-1)


def images(channels, *sizes, batch=(1, 2, 3)):
    return [(tl.randn(n, channels, s, s),) for n, s in zip(batch, sizes, strict=True)]


def tokens(limit, *sizes):
    return [(tl.randint(limit, (n, t)),) for n, t in sizes]


def floats(*sizes):
    return [(tl.randn(*size),) for size in sizes]


MODELS = {
    "mlp": (
        lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)),
        lambda: floats((1, 4), (3, 4), (2, 5, 4)),
    ),
    "lenet": (LeNet, lambda: images(1, 28, 28, 28)),
    "alexnet": (AlexNet, lambda: images(3, 63, 95, 71)),
    "vgg": (vgg, lambda: images(3, 16, 24, 32)),
    "resnet18": (lambda: ResNet(BasicBlock), lambda: images(3, 32, 48, 64)),
    "resnet50": (lambda: ResNet(Bottleneck), lambda: images(3, 32, 48, 64)),
    "resnext": (lambda: ResNet(Bottleneck, groups=2), lambda: images(3, 32, 40, 64)),
    "wide_resnet": (lambda: ResNet(Bottleneck, width=2), lambda: images(3, 32, 40, 64)),
    "densenet": (DenseNet, lambda: images(3, 8, 12, 16)),
    "squeezenet": (
        lambda: nn.Sequential(conv(3, 8), Fire(8, 4, 8), Fire(16, 4, 8), Head(16)),
        lambda: images(3, 8, 12, 17),
    ),
    "googlenet": (
        lambda: nn.Sequential(conv(3, 8), Inception(8), Inception(18), Head(18)),
        lambda: images(3, 8, 12, 17),
    ),
    "mobilenet_v2": (mobile, lambda: images(3, 16, 24, 33)),
    "mobilenet_v3": (lambda: mobile(act=nn.Hardswish, excite=SqueezeExcite), lambda: images(3, 16, 24, 33)),
    "shufflenet": (
        lambda: nn.Sequential(conv(3, 8), ShuffleUnit(8), ShuffleUnit(8), Head(8)),
        lambda: images(3, 8, 12, 9),
    ),
    "efficientnet": (
        lambda: mobile(act=nn.SiLU, excite=lambda w: SqueezeExcite(w, tl.sigmoid)),
        lambda: images(3, 16, 24, 33),
    ),
    "convnext": (
        lambda: nn.Sequential(nn.Conv2d(3, 8, 4, 4), ConvNeXtBlock(8), Head(8)),
        lambda: images(3, 16, 32, 24),
    ),
    "unet": (UNet, lambda: images(3, 16, 24, 32)),
    "segmenter": (Segmenter, lambda: images(3, 16, 21, 32)),
    "vit": (ViT, lambda: images(3, 16, 24, 32)),
    "windows": (Windows, lambda: images(3, 16, 24, 32)),
    "mixer": (Mixer, lambda: images(3, 16, 16, 16)),
    "gpt": (GPT, lambda: tokens(20, (1, 4), (2, 9), (3, 32))),
    "encoder": (Encoder, lambda: floats((1, 3, 8), (2, 5, 8), (4, 9, 8))),
    "lstm": (lambda: Recurrent(nn.LSTM), lambda: tokens(10, (1, 3), (2, 7), (4, 5))),
    "gru": (lambda: Recurrent(nn.GRU), lambda: tokens(10, (1, 3), (2, 7), (4, 5))),
    "autoencoder": (Autoencoder, lambda: images(1, 8, 16, 28)),
    "wavenet": (WaveNet, lambda: floats((1, 1, 10), (2, 1, 33), (3, 1, 16))),
    "recommender": (Recommender, lambda: tokens(10, (1, 3), (4, 3), (9, 3))),
    "siamese": (Siamese, lambda: [(tl.randn(n, 6), tl.randn(n, 6)) for n in (1, 4, 7)]),
    "pointnet": (PointNet, lambda: floats((1, 5, 3), (2, 9, 3), (3, 30, 3))),
    "fourier": (Fourier, lambda: floats((1,), (4,), (9,))),
    "experts": (Experts, lambda: floats((1, 6), (4, 6), (2, 3, 6))),
}
