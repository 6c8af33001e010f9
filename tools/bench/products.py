"""Products of matrices and convolutions."""

from __future__ import annotations

from tools.bench.cases import WITH_FEWER_BITS, Case, Group

MATMUL = Group("matmul", mean=0.6)
SKINNY = Group("matmul of few rows", mean=1.0)
BFLOAT16 = Group("matmul, bfloat16", mean=1.1)
FEWER_BITS = Group('matmul, precision "high"', mean=0.6)
DISTANCES = Group("distances", each=1.05)
CONVOLUTION = Group("conv2d of ResNet shapes", mean=1.0)
SIZES = (32, 64, 128, 256, 512, 1024, 2048)
NEAR_PEAK = 0.75  # the share of the multiply-add peak asked for from n = 256 on


def _square(dtype: str, n: int) -> str:
    return f"a, b = (torch.randn({n}, {n}).to(torch.{dtype}) for _ in range(2))\nc = torch.randn({n}).to(torch.{dtype})"


def _rounds(n: int) -> int:
    return 5 if n < 1024 else 2


def _squares(group: Group, dtype: str) -> list[Case]:
    return [Case(group, f"{dtype}, n = {n}", _square(dtype, n), "a @ b", rounds=_rounds(n)) for n in SIZES]


def _forms(dtype: str) -> list[Case]:
    """Transposed, with a bias, batched, with one vector."""
    batch = (
        f"a, b = torch.randn(64, 64, 64, dtype=torch.{dtype}), torch.randn(64, 64, 64, dtype=torch.{dtype})"
    )
    rows = f"a, b = torch.randn(1024, 1024, dtype=torch.{dtype}), torch.randn(1024, dtype=torch.{dtype})"
    return [
        *(Case(MATMUL, f"{dtype}, n = {n}, a.T", _square(dtype, n), "a.t() @ b") for n in (64, 512)),
        *(Case(MATMUL, f"{dtype}, n = {n}, b.T", _square(dtype, n), "a @ b.t()") for n in (64, 512)),
        *(
            Case(MATMUL, f"{dtype}, n = {n}, with bias", _square(dtype, n), "torch.addmm(c, a, b)")
            for n in (64, 512)
        ),
        Case(MATMUL, f"{dtype}, batch of 64, n = 64", batch, "torch.bmm(a, b)"),
        Case(MATMUL, f"{dtype}, 1024x1024 times a vector", rows, "a @ b"),
    ]


def _skinny() -> list[Case]:
    """Skinny GEMM: a thin matrix times a matrix of dense rows, or of dense columns."""
    shapes = [
        (1, 256, 1024),
        (1, 1024, 1024),
        (1, 4096, 4096),
        (3, 256, 1024),
        (8, 1024, 1024),
        (16, 1024, 1024),
    ]
    cases = []
    for m, k, n in shapes:
        setup = f"a, b, w = torch.randn({m}, {k}), torch.randn({k}, {n}), torch.randn({n}, {k})"
        cases.append(Case(SKINNY, f"{m}x{k} times {k}x{n}", setup, "a @ b"))
        cases.append(Case(SKINNY, f"{m}x{k} times {n}x{k}.T", setup, "a @ w.t()"))
    return cases


def _with_fewer_bits() -> list[Case]:
    squares = [(f"n = {n}", _square("float32", n), "a @ b") for n in SIZES if n >= 256]
    linear = "x, layer = torch.randn(1024, 256), torch.nn.Linear(256, 768)"
    cases = [*squares, ("Linear(256, 768) of 1024 rows", linear, "layer(x)")]
    return [Case(FEWER_BITS, name, setup + WITH_FEWER_BITS, run, rounds=2) for name, setup, run in cases]


# batch, channels, size, outputs, kernel, stride
RESNET = [
    (2, 3, 224, 64, 7, 2), (4, 64, 56, 64, 3, 1), (4, 64, 56, 128, 3, 2), (4, 128, 28, 128, 3, 1),
    (4, 256, 14, 256, 3, 1), (4, 512, 7, 512, 3, 1), (4, 256, 56, 64, 1, 1), (4, 1024, 14, 256, 1, 1),
]  # fmt: skip


def _convolutions(batch: int, channels: int, size: int, outputs: int, kernel: int, stride: int) -> list[Case]:
    setup = (
        f"x = torch.randn({batch}, {channels}, {size}, {size})\n"
        f"w = torch.randn({outputs}, {channels}, {kernel}, {kernel})\n"
        f"conv = lambda: torch.conv2d(x, w, None, {stride}, {kernel // 2})\n"
        "g = torch.randn_like(conv())\n"
    )
    leaves = "x.requires_grad_(), w.requires_grad_()"
    name = f"{channels}x{size}x{size} to {outputs}, {kernel}x{kernel}, stride {stride}"
    return [
        Case(CONVOLUTION, f"{name}, forward", setup, "conv()", rounds=2),
        Case(
            CONVOLUTION, f"{name}, both", setup + leaves, "torch.autograd.grad(conv(), (x, w), g)", rounds=2
        ),
    ]


# Of all pairs: shapes of both collections.
_PAIRS = {
    "1000x64": ("1000, 64", "1000, 64"),
    "8x128x16": ("8, 128, 16", "8, 128, 16"),
    "20x3": ("20, 3", "20, 3"),
}
_DISTANCES = [
    *(
        Case(
            DISTANCES,
            f"cdist p={p}, {name}",
            f"a, b = torch.rand({one}), torch.rand({two})",
            f"torch.cdist(a, b, {p})",
        )
        for p in (2.0, 1.0)
        for name, (one, two) in _PAIRS.items()
    ),
    *(
        Case(DISTANCES, f"pdist p={p}, 400x64", "a = torch.rand(400, 64)", f"torch.pdist(a, {p})")
        for p in (2.0, 1.0)
    ),
    Case(
        DISTANCES,
        "cdist p=2.0, 1000x64, both",
        "a, b = (torch.rand(1000, 64, requires_grad=True) for _ in range(2))\ng = torch.rand(1000, 1000)",
        "torch.autograd.grad(torch.cdist(a, b), (a, b), g)",
    ),
    Case(
        DISTANCES,
        "cdist p=1.0, 300x64, both",
        "a, b = (torch.rand(300, 64, requires_grad=True) for _ in range(2))\ng = torch.rand(300, 300)",
        "torch.autograd.grad(torch.cdist(a, b, 1.0), (a, b), g)",
    ),
]

CASES = [
    *_DISTANCES,
    *_squares(MATMUL, "float32"),
    *_squares(MATMUL, "float64"),
    *_forms("float32"),
    *_forms("float64"),
    *_skinny(),
    *_squares(BFLOAT16, "bfloat16"),
    *_with_fewer_bits(),
    *(case for shape in RESNET for case in _convolutions(*shape)),
]

# Square products by name: dtype, n.
SQUARES = {f"{dtype}, n = {n}": (dtype, n) for dtype in ("float32", "float64") for n in SIZES if n >= 256}
