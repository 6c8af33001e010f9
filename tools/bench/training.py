"""Steps of training, and inference, of small models that people know."""

from __future__ import annotations

from tools.bench.cases import WITH_FEWER_BITS, Case, Group

TRAINING = Group("training")
INFERENCE = Group("inference")

START = """\
nn, F = torch.nn, torch.nn.functional
torch.manual_seed(0)
"""
STEP = """\
optimizer.zero_grad()
F.cross_entropy(model(x), y).backward()
optimizer.step()
"""

MLP = (
    START
    + """\
model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(128, 784), torch.randint(0, 10, (128,))
"""
)

LENET = (
    START
    + """\
model = nn.Sequential(
    nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
x, y = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))
"""
)

RESNET = (
    START
    + """\
class Block(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.short = nn.Sequential()
        if stride != 1 or inside != outside:
            self.short = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.short(x))


def resnet8():
    stem = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    blocks = [Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2)]
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def resnet18():
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    widths = [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]
    blocks = [Block(*first) for w in widths for first in (w, (w[1], w[1], 1))]
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))
"""
)

GPT = (
    START
    + """\
class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, cache=None):
        b, t, c = x.shape
        q, k, v = (
            part.view(b, t, self.heads, c // self.heads).transpose(1, 2) for part in self.qkv(x).split(c, dim=2)
        )
        if cache is not None:
            if cache:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            cache[:] = [k, v]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, cache=None):
        x = x + self.attention(self.norm1(x), cache)
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary=96, context=128, layers=4, width=256, heads=8):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, tokens, start=0, caches=None):
        positions = torch.arange(start, start + tokens.shape[1])
        x = self.tokens(tokens) + self.positions(positions)
        for i, layer in enumerate(self.layers):
            x = layer(x, None if caches is None else caches[i])
        return self.head(self.norm(x))


model = GPT()
"""
)

GPT_INPUTS = """\
optimizer = torch.optim.AdamW(model.parameters())
x, y = torch.randint(0, 96, (8, 128)), torch.randint(0, 96, (8, 128))
"""

GPT_STEP = """\
optimizer.zero_grad()
F.cross_entropy(model(x).view(-1, 96), y.view(-1)).backward()
optimizer.step()
"""

AUTOCAST_STEP = """\
optimizer.zero_grad()
with torch.autocast("cpu"):
    loss = F.cross_entropy(model(x).view(-1, 96), y.view(-1))
loss.backward()
optimizer.step()
"""

LSTM = (
    START
    + """\
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(1000, 128)
        self.lstm = nn.LSTM(128, 256, num_layers=2, batch_first=True)
        self.out = nn.Linear(256, 10)

    def forward(self, x):
        return self.out(self.lstm(self.embedding(x))[0]).transpose(1, 2)


model = Tagger()
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randint(0, 1000, (16, 64)), torch.randint(0, 10, (16, 64))
"""
)

IMAGES = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)\n"

CASES = [
    Case(TRAINING, "MLP 784-512-10, batch 128, Adam", MLP, STEP, bound=0.6),
    Case(TRAINING, "LeNet, batch 64", LENET, STEP, bound=0.7),
    Case(
        TRAINING,
        "ResNet-8, batch 64",
        RESNET
        + "model = resnet8()\n"
        + IMAGES
        + "x, y = torch.randn(64, 3, 32, 32), torch.randint(0, 10, (64,))",
        STEP,
        bound=0.9,
    ),
    Case(TRAINING, "GPT 4x256, 8 heads, T 128, batch 8, AdamW", GPT + GPT_INPUTS, GPT_STEP, bound=0.7),
    Case(TRAINING, 'the same GPT, precision "high"', GPT + GPT_INPUTS + WITH_FEWER_BITS, GPT_STEP),
    Case(TRAINING, "the same GPT, autocast to bfloat16", GPT + GPT_INPUTS, AUTOCAST_STEP),
    Case(TRAINING, "LSTM 2x256, batch 16, T 64", LSTM, STEP, bound=0.7),
    Case(
        INFERENCE,
        "ResNet-18, 224x224, batch 1",
        RESNET + "model = resnet18().eval()\nx = torch.randn(1, 3, 224, 224)\ntorch.set_grad_enabled(False)",
        "model(x)",
        bound=0.9,
    ),
    Case(
        INFERENCE,
        "GPT, 32 tokens decoded with a cache",
        GPT
        + """\
model.eval()
torch.set_grad_enabled(False)
token = torch.zeros(1, 1, dtype=torch.long)


def decode():
    caches = [[] for _ in model.layers]
    next = token
    for i in range(32):
        next = model(next, i, caches)[:, -1].argmax(-1, keepdim=True)
""",
        "decode()",
        bound=0.4,
    ),
]
