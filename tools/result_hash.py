"""`python -m tools.result_hash [--json FILE]`: one hash of the bits of thousands of results, to prove that a change of
names or of structure changes no number.

Every row of the operator table is called, elementwise ones with each dtype and layout, the others as
packages/tl-core/tests/calls.jsonl says; then larger products, convolutions, attention, norms, sorts and reductions with
their gradients, and four short training runs. All of it runs once for each instruction set of the processor. Inputs
depend on shapes and dtypes alone and results are hashed as a multiset, so that renamed operators and moved files keep
the hash.

Run it with an interpreter that has the packages installed: before the change, after it, and compare.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "packages" / "tl-core"
CAPABILITIES = ("default", "avx2", "avx512")
FLOATING = ("float32", "float64", "float16", "bfloat16", "complex64")

Case = tuple[str, Callable[[], Any]]


def filled(tl: Any, shape: list[int] | tuple[int, ...], dtype: str, modulus: int = 23) -> Any:
    """Small numbers in an order that looks random; as indices (a small modulus) mostly within bounds."""
    count = 1
    for size in shape:
        count *= size
    numbers = (tl.arange(count, dtype=tl.int64) * 7919 + count) % 10007 % modulus - (modulus // 2) * (
        modulus > 5
    )
    if dtype == "bool" or dtype.startswith("u"):
        numbers = numbers.abs()
    scale = 1.0 if modulus <= 5 or not dtype.startswith(("f", "b", "c")) or dtype == "bool" else 0.37
    return (numbers.to(tl.float64) * scale).to(getattr(tl, dtype)).reshape(shape)


def bits(tl: Any, result: Any, hashed: Any) -> None:
    """Feeds dtypes, shapes and every bit of a result into a hash."""
    if isinstance(result, tl.Tensor):
        if result.is_sparse:
            result = result.to_dense()
        dense = result.detach().resolve_conj().resolve_neg().contiguous().cpu()
        hashed.update(f"{dense.dtype}{tuple(dense.shape)}".encode())
        if dense.numel():
            hashed.update(bytes(dense.reshape(-1).view(tl.uint8).numpy().tobytes()))
    elif isinstance(result, (tuple, list)):
        for part in result:
            bits(tl, part, hashed)
    else:
        hashed.update(repr(result).encode())


# ---- every row -----------------------------------------------------------------------------------------------------


def of_type(tl: Any, dtype: str) -> Callable[[list[int], str], Any]:
    """What fills the tensors of a recorded call: those of floating point take the type instead of their own."""

    def make(shape: list[int], own: str) -> Any:
        takes = own.startswith(("float", "bfloat", "complex"))
        return filled(tl, shape, dtype if takes else own, 3 if own == "int64" else 23)

    return make


def listed_calls(tl: Any, rows: dict[str, Any]) -> Iterator[Case]:
    """The calls of calls.jsonl in several dtypes."""
    sys.path.insert(0, str(CORE / "tests"))
    from recorded_calls import as_given, recorded

    for number, (name, values) in enumerate(recorded()):
        if name.startswith(("resize", "empty", "new_empty")):  # uninitialized memory
            continue
        for dtype in FLOATING:

            def run(name: str = name, values: list[Any] = values, dtype: str = dtype) -> Any:
                arguments = [as_given(tl, v, of_type(tl, dtype)) for v in values]
                schema = rows[name].schema
                positional = [v for v, a in zip(arguments, schema.args) if not a.keyword_only]
                keywords = {a.name: v for v, a in zip(arguments, schema.args) if a.keyword_only}
                return tl._C._call_operator((name,), *positional, **keywords)

            yield f"{name} #{number} {dtype}", run


def elementwise_calls(tl: Any, rows: dict[str, Any]) -> Iterator[Case]:
    """Every elementwise row, in every dtype and two layouts."""
    dtypes = ("bool", "uint8", "int32", "int64", *FLOATING, "complex128")
    for row in rows.values():
        if not row.elementwise or row.random:
            continue
        for dtype in dtypes:
            for layout in ("dense", "transposed"):

                def run(row: Any = row, dtype: str = dtype, layout: str = layout) -> Any:
                    shapes = [(37, 19) if layout == "dense" else (19, 37)] * row.elementwise.inputs
                    inputs = [filled(tl, s, dtype, 23 - 2 * i) for i, s in enumerate(shapes)]
                    if row.elementwise.condition:
                        inputs[0] = inputs[0].to(tl.bool)
                    if layout == "transposed":
                        inputs = [t.t() for t in inputs]
                    rest = [
                        a for a in row.schema.args[len(inputs) :] if a.default is None and not a.keyword_only
                    ]
                    return tl._C._call_operator((row.name,), *inputs, *[2 for _ in rest])

                yield f"{row.name} {dtype} {layout}", run


# ---- larger cases, with gradients ----------------------------------------------------------------------------------


def differentiated(
    tl: Any, function: Callable[..., Any], shapes: list[tuple[int, ...]], dtype: str
) -> list[Any]:
    """A result and the gradients of a weighted sum of it."""
    inputs = [(filled(tl, s, dtype, 101) / 37).detach().requires_grad_() for s in shapes]
    result = function(*inputs)
    result.backward(filled(tl, result.shape, dtype, 13) / 7)
    return [result, *[t.grad for t in inputs]]


Calls = dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]]


def product_calls(tl: Any) -> Calls:
    """Products of matrices, convolutions and attention, with the shapes of the arguments."""
    f = tl.nn.functional
    return {
        "mm": (tl.mm, [(130, 300), (300, 90)]),
        "mm transposed": (lambda a, b: a.t() @ b.t(), [(300, 65), (70, 300)]),
        "mm of few rows": (tl.mm, [(3, 700), (700, 130)]),
        "mv": (tl.mv, [(301, 203), (203,)]),
        "bmm": (tl.bmm, [(9, 33, 40), (9, 40, 35)]),
        "addmm": (lambda c, a, b: tl.addmm(c, a, b, beta=0.5, alpha=2), [(50,), (40, 64), (64, 50)]),
        "linear": (f.linear, [(70, 128), (96, 128), (96,)]),
        "conv1d": (lambda x, w: f.conv1d(x, w, padding=2), [(3, 8, 65), (12, 8, 5)]),
        "conv2d 3x3": (lambda x, w, b: f.conv2d(x, w, b, padding=1), [(3, 16, 29, 31), (24, 16, 3, 3), (24,)]),
        "conv2d 1x1": (f.conv2d, [(2, 64, 14, 14), (32, 64, 1, 1)]),
        "conv2d strided": (lambda x, w: f.conv2d(x, w, stride=2, dilation=2), [(2, 6, 33, 33), (8, 6, 3, 3)]),
        "conv2d depthwise": (lambda x, w: f.conv2d(x, w, padding=1, groups=20), [(2, 20, 17, 19), (20, 1, 3, 3)]),
        "conv3d": (f.conv3d, [(1, 4, 9, 9, 9), (6, 4, 3, 3, 3)]),
        "conv_transpose2d": (lambda x, w: f.conv_transpose2d(x, w, stride=2), [(2, 8, 11, 9), (8, 6, 3, 3)]),
        "attention": (f.scaled_dot_product_attention, [(2, 3, 150, 40)] * 3),
        "attention causal": (
            lambda q, k, v: f.scaled_dot_product_attention(q, k, v, is_causal=True), [(1, 2, 130, 64)] * 3),
    }  # fmt: skip


def layer_calls(tl: Any) -> Calls:
    """Normalizations, pooling, resampling, with the shapes of the arguments."""
    f = tl.nn.functional
    return {
        "layer_norm": (lambda x, w, b: f.layer_norm(x, (200,), w, b), [(33, 200), (200,), (200,)]),
        "group_norm": (lambda x, w: f.group_norm(x, 4, w), [(3, 16, 9, 7), (16,)]),
        "batch_norm": (lambda x, w, b: f.batch_norm(x, None, None, w, b, True), [(5, 9, 13, 11), (9,), (9,)]),
        "softmax": (lambda x: tl.softmax(x, -1), [(40, 333)]),
        "log_softmax": (lambda x: tl.log_softmax(x, 1), [(20, 111, 3)]),
        "logsumexp": (lambda x: tl.logsumexp(x, 0), [(333, 40)]),
        "max_pool2d": (lambda x: f.max_pool2d(x, 3, 2, 1), [(2, 5, 33, 35)]),
        "avg_pool2d": (lambda x: f.avg_pool2d(x, 3, 2, 1), [(2, 5, 33, 35)]),
        "adaptive_avg_pool2d": (lambda x: f.adaptive_avg_pool2d(x, (5, 7)), [(2, 5, 33, 35)]),
        "bilinear": (lambda x: f.interpolate(x, (40, 50), mode="bilinear"), [(2, 5, 33, 35)]),
        "bicubic": (lambda x: f.interpolate(x, (40, 50), mode="bicubic"), [(2, 5, 33, 35)]),
        "reflect": (lambda x: f.pad(x, (3, 2, 1, 4), mode="reflect"), [(2, 5, 33, 35)]),
        "grid_sample": (lambda x, g: f.grid_sample(x, g, align_corners=False), [(2, 5, 33, 35), (2, 20, 21, 2)]),
    }  # fmt: skip


def reduction_calls(tl: Any) -> Calls:
    """Reductions, scans, sorting and decompositions, with the shapes of the arguments."""
    return {
        "cdist": (tl.cdist, [(40, 17), (33, 17)]),
        "sum": (lambda x: x.sum(1), [(70, 3001)]),
        "var": (lambda x: x.var(0), [(3001, 33)]),
        "norm": (lambda x: x.norm(3, dim=1), [(70, 301)]),
        "prod": (lambda x: x.prod(1), [(33, 40)]),
        "cumsum": (lambda x: x.cumsum(1), [(33, 1040)]),
        "cumprod": (lambda x: x.cumprod(0), [(40, 33)]),
        "logcumsumexp": (lambda x: x.logcumsumexp(1), [(33, 140)]),
        "sort": (lambda x: x.sort(1)[0], [(9, 5000)]),
        "topk": (lambda x: x.topk(17, 1)[0], [(9, 5000)]),
        "median": (lambda x: x.median(1)[0], [(9, 5000)]),
        "index_select": (lambda x: x[filled(tl, (50,), "int64", 3)], [(40, 33)]),
        "svd": (lambda x: tl.linalg.svdvals(x), [(7, 6)]),
        "qr": (lambda x: tl.linalg.qr(x)[1], [(9, 7)]),
        "solve": (lambda a, b: tl.linalg.solve(a + 9 * tl.eye(8, dtype=a.dtype), b), [(8, 8), (8, 3)]),
    }  # fmt: skip


def larger_calls(tl: Any) -> Iterator[Case]:
    """Several blocks, tiles and chunks of what has a kernel of its own."""
    graded = product_calls(tl) | layer_calls(tl) | reduction_calls(tl)
    for name, (function, shapes) in graded.items():
        for dtype in ("float32", "float64", "bfloat16", "float16"):
            yield f"{name} {dtype}", partial(differentiated, tl, function, shapes, dtype)
    for dtype in ("uint8", "int32", "int64"):
        yield f"mm {dtype}", partial(integer_mm, tl, dtype)
        for name in ("sort", "unique", "cumsum_0", "sum", "argmax", "amax"):
            yield f"{name} {dtype}", partial(reduced, tl, name, dtype)
    for name in (
        "rand",
        "randn",
        "randperm",
        "bernoulli",
        "multinomial",
        "exponential",
        "geometric",
        "dropout",
    ):
        yield name, partial(drawn, tl, name)


def integer_mm(tl: Any, dtype: str) -> Any:
    """A product of integers."""
    return filled(tl, (70, 60), dtype, 11) @ filled(tl, (60, 50), dtype, 11)


def reduced(tl: Any, name: str, dtype: str) -> Any:
    """An operator on one dimension."""
    t = filled(tl, (3000,), dtype, 101)
    name, _, dim = name.partition("_")
    return getattr(tl, name)(t, 0) if dim else getattr(tl, name)(t)


def drawn(tl: Any, name: str) -> Any:
    """Random numbers and the generator's state after them."""
    generator = tl.Generator().manual_seed(5)
    tl.manual_seed(5)
    draw: dict[str, Callable[[], Any]] = {
        "rand": lambda: [tl.rand(n, generator=generator) for n in (5, 1000)],
        "randn": lambda: [tl.randn(n, generator=generator) for n in (5, 1000)],
        "randperm": lambda: tl.randperm(1000, generator=generator),
        "bernoulli": lambda: tl.bernoulli(tl.full((1000,), 0.3), generator=generator),
        "multinomial": lambda: tl.multinomial(tl.arange(1, 50.0), 20, generator=generator),
        "exponential": lambda: tl.empty(1000).exponential_(generator=generator),
        "geometric": lambda: tl.empty(1000).geometric_(0.3, generator=generator),
        "dropout": lambda: tl.nn.functional.dropout(tl.ones(1000), 0.3),
    }
    return [draw[name](), generator.get_state(), tl.get_rng_state()]


# ---- training runs -------------------------------------------------------------------------------------------------


def training_runs(tl: Any) -> Iterator[Case]:
    """A few steps of an MLP, a convolutional network, a transformer layer and an LSTM."""
    nn = tl.nn

    class Last(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.out = nn.LSTM(12, 24, 2, batch_first=True), nn.Linear(24, 10)

        def forward(self, x: Any) -> Any:
            return self.out(self.lstm(x)[0][:, -1])

    def convolutional() -> Any:
        first = [nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)]
        return nn.Sequential(*first, nn.Conv2d(8, 16, 3), nn.GELU(), nn.Flatten(), nn.Linear(400, 10))

    def transformer() -> Any:
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
        return nn.Sequential(layer, nn.Flatten(), nn.Linear(32 * 9, 10))

    programs = {
        "mlp": (
            lambda: nn.Sequential(nn.Linear(40, 64), nn.Tanh(), nn.Linear(64, 10)),
            (32, 40),
            tl.optim.Adam,
        ),
        "convolutional": (convolutional, (16, 1, 14, 14), tl.optim.SGD),
        "transformer": (transformer, (8, 9, 32), tl.optim.AdamW),
        "lstm": (Last, (8, 11, 12), tl.optim.RMSprop),
    }
    for name, (make, shape, optimizer) in programs.items():
        yield f"training {name}", partial(trained, tl, make, shape, optimizer)


def trained(tl: Any, make: Callable[[], Any], shape: tuple[int, ...], optimizer: Any) -> list[Any]:
    """The losses of ten steps and the parameters after them."""
    tl.manual_seed(3)
    model, losses = make(), []
    step = optimizer(model.parameters(), lr=1e-2)
    x, y = tl.randn(*shape), tl.randint(0, 10, (shape[0],))
    for _ in range(10):
        step.zero_grad()
        loss = tl.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        step.step()
        losses.append(loss)
    return [*losses, *model.parameters()]


# ---- the hash ------------------------------------------------------------------------------------------------------


def digests() -> dict[str, str]:
    """The hash of each case at this process's instruction set; what a call refuses, by its error's type."""
    import tl

    sys.path.insert(0, str(CORE))
    from opgen import collect

    rows = {row.name: row for row in collect.rows()}
    found = {}
    warnings.simplefilter("ignore")
    makers = (listed_calls(tl, rows), elementwise_calls(tl, rows), larger_calls(tl), training_runs(tl))
    for name, run in (case for maker in makers for case in maker):
        hashed = hashlib.sha256()
        tl.manual_seed(1)
        try:
            bits(tl, run(), hashed)
        except (RuntimeError, TypeError, ValueError, IndexError, AttributeError) as error:
            hashed.update(type(error).__name__.encode())
        found[name] = hashed.hexdigest()
    return found


def main() -> None:
    """Prints the number of calls and the hash of all."""
    parser = argparse.ArgumentParser(prog="python -m tools.result_hash", description=__doc__)
    parser.add_argument(
        "--json", metavar="FILE", type=Path, help="write every case's hash, to find what differs"
    )
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(digests()))
        return
    every: dict[str, dict[str, str]] = {}
    for capability in CAPABILITIES:
        environment = {**os.environ, "TL_CPU_CAPABILITY": capability}
        command = [sys.executable, "-m", "tools.result_hash", "--one"]
        done = subprocess.run(
            command, env=environment, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
        )
        every[capability] = json.loads(done.stdout)
    if options.json:
        options.json.write_text(json.dumps(every, indent=1))
    hashes = sorted(h for found in every.values() for h in found.values())
    print(f"{len(hashes)} calls: {hashlib.sha256(' '.join(hashes).encode()).hexdigest()}")


if __name__ == "__main__":
    main()
