"""What is measured, and the figures that are asked for. Each case is written once, against the name `torch`.

Cases are texts, so that the measured loop holds the statement itself and no call of a Python function around it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """Cases with a common figure: the geometric mean of their ratios, and the largest ratio any may have."""

    name: str
    mean: float | None = None
    each: float | None = None


@dataclass(frozen=True)
class Case:
    """One measured statement. `before` runs, untimed, before every sample, which then is one run of the statement.

    `after` runs, untimed, after each; the time of `less` is taken off, so that what the statement adds to it is left.
    `clock` replaces the clock of the command, where only one makes sense. `own` is the statement of a second process of
    tl, which replaces PyTorch.
    """

    group: Group
    name: str
    setup: str
    run: str
    bound: float | None = None
    before: str = ""
    rounds: int = 5
    builds: int = 3  # how often the inputs are made anew
    clock: str = ""
    peer: str = ""  # what the peer runs instead of `run`
    after: str = ""
    less: str = ""
    own: str = ""

    @property
    def limit(self) -> float | None:
        """The ratio that is asked for."""
        return self.group.each if self.bound is None else self.bound


@dataclass(frozen=True)
class Program:
    """A program in a process of its own."""

    name: str
    text: str
    time: float
    memory: float


# A setup's end that lets float32 products take fewer bits, until the inputs are given back.
WITH_FEWER_BITS = """
class FewerBits:
    def __init__(self):
        torch.set_float32_matmul_precision("high")
    def __del__(self):
        torch.set_float32_matmul_precision("highest")

fewer_bits = FewerBits()
"""

CALLS = Group("call overhead", mean=0.12, each=0.35)
ITEM = Group("item")
AUTOGRAD = Group("autograd")
CHAIN = Group("chain of 1,000,000 nodes")
LARGE = Group("large")
POOLING = Group("pooling", mean=0.25, each=1.05)
GRIDS = Group("interpolation and padding", each=1.05)
NORMS = Group("norms, softmax, cross entropy", each=1.05)
ATTENTION = Group("attention", mean=0.5)
LOOKUPS = Group("tables", each=1.05)
LAYERS = Group("recurrent layers", each=1.05)

TINY = "a, b, m = torch.rand(1), torch.rand(1), torch.rand(1, 1)\nc = a > 0.5"
SMALL = "a, b = torch.rand(16, 16), torch.rand(16, 16)\nm = a\nc = a > 0.5"

CALL_RUNS = {
    "add": "a + b",
    "torch.add": "torch.add(a, b)",
    "a.add": "a.add(b)",
    "add alpha=2": "torch.add(a, b, alpha=2)",
    "add number": "a + 2.0",
    "mul": "a * b",
    "exp": "a.exp()",
    "sum": "a.sum()",
    "gt": "a > b",
    "matmul": "m @ m",
    "clone": "a.clone()",
    "cat": "torch.cat([a, b])",
    "where": "torch.where(c, a, b)",
}
TINY_RUNS = {
    "view": "a.view(1, 1)",
    "transpose": "m.transpose(0, 1)",
    "permute": "m.permute(1, 0)",
    "a[0]": "a[0]",
    "a[0:1]": "a[0:1]",
    "a[None]": "a[None]",
    "a[...]": "a[...]",
    "zeros": "torch.zeros(1)",
    "tensor(1.0)": "torch.tensor(1.0)",
}
SMALL_RUNS = {
    "sum(0, keepdim)": "a.sum(0, keepdim=True)",
    "view": "a.view(4, 64)",
    "transpose": "a.transpose(0, 1)",
    "permute": "a.permute(1, 0)",
    "a[3]": "a[3]",
    "a[2:5]": "a[2:5]",
    "a[2:5, 1:3]": "a[2:5, 1:3]",
    "a[:, 3]": "a[:, 3]",
    "a[::2]": "a[::2]",
    "a[..., None]": "a[..., None]",
    "zeros": "torch.zeros(16, 16)",
}

CASES = [
    *(Case(CALLS, f"{name}, 1 element", TINY, run) for name, run in {**CALL_RUNS, **TINY_RUNS}.items()),
    *(Case(CALLS, f"{name}, 16x16", SMALL, run) for name, run in {**CALL_RUNS, **SMALL_RUNS}.items()),
    Case(ITEM, "item", "a = torch.rand(1)", "a.item()", bound=1.0),
]

LEAVES = "x, w, b = (torch.rand(1, requires_grad=True) for _ in range(3))"
TEN_OPERATORS = """\
y = x * w
y = y + b
y = y.tanh()
y = y * 2.0
y = y - x
y = y.exp()
y = y * w
y = y + x
y = y.neg()
y = y.sum()
"""
PERCEPTRON = """\
nn = torch.nn
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(16, 16), torch.randint(0, 4, (16,))
"""
STEP = """\
optimizer.zero_grad()
criterion(model(x), y).backward()
optimizer.step()
"""
CASES += [
    Case(AUTOGRAD, "10 small operators recorded", LEAVES, TEN_OPERATORS, bound=0.15),
    Case(
        AUTOGRAD,
        "10 small operators, forward and backward",
        LEAVES,
        TEN_OPERATORS + "y.backward()",
        bound=0.12,
    ),
    Case(
        AUTOGRAD,
        "nn.Linear(16) forward",
        "f = torch.nn.Linear(16, 16)\nx = torch.rand(16, 16)",
        "f(x)",
        bound=0.25,
    ),
    Case(AUTOGRAD, "MLP SGD step", PERCEPTRON, STEP, bound=0.25),
]

GROW = """\
y = torch.ones(1, requires_grad=True)
for _ in range(1_000_000):
    y = y + 1.0
"""
CASES += [
    Case(CHAIN, "backward", "", "y.backward()", bound=0.10, before=GROW, rounds=1),
    Case(CHAIN, "free", "", "graph.clear()", bound=0.50, before=GROW + "graph = [y]\ndel y", rounds=1),
]

MILLION = "a, b = torch.rand(1 << 20), torch.rand(1 << 20)"
CASES += [
    Case(LARGE, "add, 1 M float32, fresh result", MILLION, "a + b", bound=1.05),
    Case(LARGE, "exp, 1 M float32, fresh result", MILLION, "a.exp()", bound=0.60),
    Case(LARGE, "sum, 1 M float32", MILLION, "a.sum()", bound=0.80),
    Case(LARGE, "add, 16 M float32, fresh result", MILLION.replace("20", "24"), "a + b", bound=0.35),
]

# Where it stands in known networks: LeNet, ResNet, VGG, DenseNet, SPP.
FIELDS = """\
F = torch.nn.functional
g = torch.autograd.grad
small = torch.rand(64, 6, 24, 24, requires_grad=True)
stem = torch.rand(4, 64, 112, 112, requires_grad=True)
deep = torch.rand(8, 256, 28, 28, requires_grad=True)
last = torch.rand(16, 512, 7, 7, requires_grad=True)
lasting = stem.detach().contiguous(memory_format=torch.channels_last)
"""
POOLED = {
    "max 2x2, 64x6x24x24": "F.max_pool2d(small, 2)",
    "max 3x3/2 padded, 4x64x112x112": "F.max_pool2d(stem, 3, 2, 1)",
    "max 2x2, 8x256x28x28": "F.max_pool2d(deep, 2)",
    "max 5x5/1 padded, 8x256x28x28": "F.max_pool2d(deep, 5, 1, 2)",
    "mean 2x2, 8x256x28x28": "F.avg_pool2d(deep, 2)",
    "mean 3x3/1 padded, 4x64x112x112": "F.avg_pool2d(stem, 3, 1, 1)",
    "adaptive mean 1, 16x512x7x7": "F.adaptive_avg_pool2d(last, 1)",
    "adaptive mean 5, 8x256x28x28": "F.adaptive_avg_pool2d(deep, 5)",
}
CASES += [
    case
    for name, text in POOLED.items()
    for x in [text.split("(")[1].split(",")[0]]
    for case in (
        Case(POOLING, f"{name}, forward", FIELDS + f"{x} = {x}.detach()", text),
        Case(
            POOLING,
            f"{name}, backward",
            FIELDS + f"y = {text}\nh = torch.rand(y.shape)",
            f"g(y, {x}, h, retain_graph=True)",
        ),
    )
]
CASES += [
    Case(GRIDS, f"{name}, 4x64x112x112", FIELDS + "stem = stem.detach()", text)
    for name, text in {
        "nearest, twice": "F.interpolate(stem, scale_factor=2)",
        "bilinear, twice": "F.interpolate(stem, scale_factor=2, mode='bilinear')",
        "bilinear, half, antialias": "F.interpolate(stem, scale_factor=0.5, mode='bilinear', antialias=True)",
        "bicubic, twice": "F.interpolate(stem, scale_factor=2, mode='bicubic')",
        "max 3x3/2 of channels_last": "F.max_pool2d(lasting, 3, 2, 1)",
        "mean 2x2 of channels_last": "F.avg_pool2d(lasting, 2)",
        "pad reflect": "F.pad(stem, (1, 1, 1, 1), mode='reflect')",
        "pad zeros": "F.pad(stem, (1, 1, 1, 1))",
    }.items()
]

SAMPLING = """\
F, g = torch.nn.functional, torch.autograd.grad
d = torch.{dtype}
x = torch.randn({sizes}).to(d)
turn = torch.tensor([[0.9, 0.3, 0.1], [-0.3, 0.9, -0.1]]).expand(len(x), 2, 3)
turned = F.affine_grid(turn, x.shape, align_corners=False).to(d) if x.dim() == 4 else None
points = turned if x.dim() == 4 else torch.rand(len(x), *x.shape[2:], 3).to(d) * 2 - 1
"""
SAMPLED = {
    "zeros": "F.grid_sample(x, points, align_corners=False)",
    "border": "F.grid_sample(x, points, padding_mode='border', align_corners=False)",
    "reflection": "F.grid_sample(x, points, padding_mode='reflection', align_corners=False)",
    "nearest": "F.grid_sample(x, points, mode='nearest', align_corners=False)",
    "bicubic": "F.grid_sample(x, points, mode='bicubic', align_corners=False)",
}
SAMPLED_BACKWARD = """\
x, points = x.requires_grad_(), points.requires_grad_()
y = {text}
h = torch.rand(y.shape)
"""
IMAGES = SAMPLING.format(sizes="4, 64, 56, 56", dtype="float32")
CASES += [
    *(Case(GRIDS, f"grid_sample {name}, 4x64x56x56", IMAGES, text) for name, text in SAMPLED.items()),
    *(
        Case(
            GRIDS,
            f"grid_sample {name}, {sizes.replace(', ', 'x')}, {dtype}",
            SAMPLING.format(sizes=sizes, dtype=dtype),
            SAMPLED[name],
        )
        for name, sizes, dtype in (
            ("zeros", "1, 3, 224, 224", "float32"),
            ("zeros", "2, 8, 16, 32, 32", "float32"),
            ("nearest", "2, 8, 16, 32, 32", "float32"),
            ("zeros", "4, 64, 56, 56", "float64"),
            ("zeros", "4, 64, 56, 56", "bfloat16"),
        )
    ),
    *(
        Case(
            GRIDS,
            f"grid_sample {name}, {sizes.replace(', ', 'x')}, backward to {what}",
            SAMPLING.format(sizes=sizes, dtype="float32") + SAMPLED_BACKWARD.format(text=SAMPLED[name]),
            f"g(y, ({what},), h, retain_graph=True)",
        )
        for name, what, sizes in (
            ("zeros", "x", "4, 64, 56, 56"),
            ("zeros", "x, points", "4, 64, 56, 56"),
            ("zeros", "x, points", "1, 3, 224, 224"),
            ("bicubic", "x, points", "4, 64, 56, 56"),
        )
    ),
    Case(GRIDS, "affine_grid, 4x64x56x56", IMAGES, "F.affine_grid(turn, x.shape, align_corners=False)"),
]

ROWS = """\
F, g = torch.nn.functional, torch.autograd.grad
d = torch.{dtype}
x = torch.randn({rows}, {width}, dtype=d, requires_grad=True)
w, b = (torch.randn({width}, dtype=d, requires_grad=True) for _ in range(2))
plain, h = x.detach(), torch.randn({rows}, {width}, dtype=d)
"""
IMAGES = """\
F, g = torch.nn.functional, torch.autograd.grad
d = torch.{dtype}
x = torch.randn(32, 64, 56, 56, dtype=d, requires_grad=True)
w, b = (torch.randn(64, dtype=d, requires_grad=True) for _ in range(2))
plain, h = x.detach(), torch.randn(32, 64, 56, 56, dtype=d)
mean, var = torch.zeros(64, dtype=d), torch.ones(64, dtype=d)
"""
ROW_RUNS = {
    "layer_norm": "F.layer_norm({x}, ({width},), w, b)",
    "rms_norm": "F.rms_norm({x}, ({width},), w)",
    "softmax": "F.softmax({x}, 1)",
    "log_softmax": "F.log_softmax({x}, 1)",
}
IMAGE_RUNS = {
    "batch_norm in training": "F.batch_norm({x}, mean, var, w, b, True)",
    "batch_norm in evaluation": "F.batch_norm({x}, mean, var, w, b)",
    "group_norm": "F.group_norm({x}, 8, w, b)",
    "instance_norm": "F.instance_norm({x})",
}


def with_backward(group: Group, name: str, setup: str, text: str, inputs: str) -> list[Case]:
    """A forward pass, and one with a backward pass."""
    return [
        Case(group, f"{name}, forward", setup, text.replace("{x}", "plain")),
        Case(group, f"{name}, both ways", setup, f"g({text.replace('{x}', 'x')}, {inputs}, h)"),
    ]


CASES += [
    case
    for rows, width, dtype in ((64, 64, "float32"), (1024, 768, "float32"), (1024, 768, "bfloat16"))
    for name, text in ROW_RUNS.items()
    for case in with_backward(
        NORMS,
        f"{name}, {rows}x{width} {dtype}",
        ROWS.format(rows=rows, width=width, dtype=dtype),
        text.replace("{width}", str(width)),
        "(x, w)" if "norm" in name and "softmax" not in name else "x",
    )
]
CASES += [
    case
    for dtype in ("float32", "bfloat16")
    for name, text in IMAGE_RUNS.items()
    for case in with_backward(NORMS, f"{name}, {dtype}", IMAGES.format(dtype=dtype), text, "x")
]
CASES += [
    case
    for rows, classes in ((128, 10), (1024, 1000), (1024, 6400))
    for case in with_backward(
        NORMS,
        f"cross_entropy, {rows}x{classes}",
        ROWS.format(rows=rows, width=classes, dtype="float32")
        + f"y = torch.randint(0, {classes}, ({rows},))\nh = torch.ones(())",
        "F.cross_entropy({x}, y)",
        "x",
    )
]

HEADS = """\
F, g = torch.nn.functional, torch.autograd.grad
q, k, v = (torch.randn({shape}, dtype=torch.{dtype}, requires_grad=True) for _ in range(3))
a, b, c = (t.detach() for t in (q, k, v))
h = torch.randn({shape}, dtype=torch.{dtype})
"""
CASES += [
    case
    for shape in ("8, 8, 128, 32", "2, 8, 512, 64", "1, 8, 1024, 64")
    for dtype in ("float32", "bfloat16")
    for causal in (True, False)
    for setup in [HEADS.format(shape=shape, dtype=dtype)]
    for name in [f"({shape}) {dtype}{', causal' if causal else ''}"]
    for case in (
        Case(
            ATTENTION,
            f"{name}, forward",
            setup,
            f"F.scaled_dot_product_attention(a, b, c, is_causal={causal})",
        ),
        Case(
            ATTENTION,
            f"{name}, backward",
            setup + f"y = F.scaled_dot_product_attention(q, k, v, is_causal={causal})",
            "g(y, (q, k, v), h, retain_graph=True)",
        ),
    )
]

CASES += [
    Case(
        ATTENTION,
        "(2, 8, 512, 64) float32, dropout, both ways",
        HEADS.format(shape="2, 8, 512, 64", dtype="float32"),
        "g(F.scaled_dot_product_attention(q, k, v, dropout_p=0.1), (q, k, v), h)",
    )
]

JAGGED = """\
F, g = torch.nn.functional, torch.autograd.grad
lengths = [64 + 32 * (5 * i % 15) for i in range(16)]
tokens = [torch.randn(n, 8, 64) for n in lengths]
a = torch.nested.as_nested_tensor(tokens, layout=torch.jagged).transpose(1, 2)
q = a.detach().requires_grad_()
"""
CASES += [
    Case(
        ATTENTION,
        "nested, 16 sequences of 64 to 512, forward",
        JAGGED,
        "F.scaled_dot_product_attention(a, a, a)",
    ),
    Case(
        ATTENTION,
        "nested, 16 sequences of 64 to 512, both ways",
        JAGGED,
        "g(F.scaled_dot_product_attention(q, q, q).sum(), q)",
    ),
]

TABLE = """\
F, g = torch.nn.functional, torch.autograd.grad
x = torch.randn(10_000, 256, requires_grad=True)
plain, h = x.detach(), torch.randn(64, 128, 256)
i, bags = torch.randint(0, 10_000, (64, 128)), torch.randint(0, 10_000, (512, 16))
"""
CASES += with_backward(LOOKUPS, "embedding, 8,192 of 10,000x256", TABLE, "F.embedding(i, {x})", "x")
CASES += [
    Case(LOOKUPS, f"embedding_bag {mode}, 512x16", TABLE, f"F.embedding_bag(bags, plain, mode={mode!r})")
    for mode in ("sum", "mean", "max")
]
SEQUENCE = """\
g = torch.autograd.grad
w = [torch.randn({gates} * 256, *s).mul_(0.05).requires_grad_() for s in ((256,), (256,), (), ())]
plain, h0, h = torch.randn(64, 32, 256), torch.zeros(1, 32, 256), torch.randn(64, 32, 256)
"""
CASES += [
    case
    for name, gates, state in (("lstm", 4, "[h0, h0]"), ("gru", 3, "h0"))
    for case in (
        Case(
            LAYERS,
            f"{name}, 64x32x256, both ways",
            SEQUENCE.format(gates=gates),
            f"g(torch.{name}(plain, {state}, w, True, 1, 0.0, True, False, False)[0], w, h)",
        ),
    )
]

PROGRAMS = [
    Program("import", "import torch", time=0.08, memory=0.20),
    Program("first operator", "import torch\n(torch.ones(2) + 1).sum().item()", time=0.10, memory=0.20),
    Program(
        "one Linear training step",
        "import torch\n"
        "model = torch.nn.Linear(4, 2)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "loss = torch.nn.MSELoss()(model(torch.rand(8, 4)), torch.rand(8, 2))\n"
        "loss.backward()\n"
        "optimizer.step()",
        time=0.20,
        memory=0.20,
    ),
    Program(
        "import of fx",
        "import torch\nimport importlib\nimportlib.import_module(torch.__name__ + '.fx')",
        time=0.20,
        memory=0.20,
    ),
]

BUILD_CPU = 240.0  # seconds, user and system, all packages from nothing
INSTALLED = 15_000_000  # bytes
