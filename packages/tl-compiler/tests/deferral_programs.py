"""Random programs of elementwise operators, casts, broadcasts, reductions of rows, views, writes and gradients."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import tl_core as tc
from tl_autograd import grad

SHAPES = [(64, 48), (48,), (64, 1), (1, 48), (), (3072,), (2, 32, 48), (48, 64)]
LARGE_SHAPES = [(301, 300), (300,), (301, 1), (1, 300), (), (90_300,), (300, 301)]  # work for several threads
LONG_SHAPES = [
    (24, 601),
    (601,),
    (24, 1),
    (1, 601),
    (),
    (14_424,),
    (2, 12, 601),
    (601, 24),
]  # rows of several tiles
UNARY = [
    "neg", "abs", "sqrt", "rsqrt", "reciprocal", "square", "relu", "exp", "tanh", "sigmoid", "sin", "log1p", "erf",
    "floor", "sign", "expm1", "trunc", "isnan", "logical_not", "cos", "round",
]  # fmt: skip
BINARY = ["add", "sub", "mul", "div", "maximum", "minimum", "atan2", "logical_and", "fmod", "hypot"]
ROWS = [
    "sum", "mean", "amax", "amin", "prod", "any", "max", "argmax", "var", "std", "logsumexp", "softmax", "log_softmax",
]  # fmt: skip
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
DTYPES = [tc.float32] * 6 + [tc.float64, tc.int64, tc.int32, tc.bfloat16, tc.float16, tc.bool, tc.uint8]
POWERS = [2, 3, 1, -1, 2.0, 0.5, 1.5, -2, 0, 3.0]
NUMBERS = [0.5, 2, -1.5, 1, 0.0, 3.25, True]

Step = Callable[[list[tc.Tensor]], None]


class Writer:
    """Writes one program, as a list of steps that each add to, or change, a list of tensors.

    Args:
        seed: from which everything follows.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.shapes = {11: LARGE_SHAPES, 10: LONG_SHAPES, 9: LONG_SHAPES}.get(seed % 12, SHAPES)
        self.inputs = [self.input(i) for i in range(self.random.randint(2, 5))]

    def input(self, i: int) -> tc.Tensor:
        """A tensor of one of the shapes and types, some of them not contiguous."""
        shape, dtype = self.random.choice(self.shapes), self.random.choice(DTYPES)
        generator = tc.Generator().manual_seed(self.random.randint(0, 1 << 30))
        values = tc.randn(shape, generator=generator) * self.random.choice([1, 1, 4, 100])
        if self.random.random() < 0.2:
            values = tc.where(values > 1.5, float(self.random.choice(["nan", "inf", "-inf", "-0.0"])), values)
        if dtype is not tc.float32:
            values = tc.nan_to_num(values, 0, 9, -9) if not dtype.is_floating_point else values
            values = (values.abs() if dtype is tc.uint8 else values).clamp(-100, 100).to(dtype)
        if len(shape) > 1 and self.random.random() < 0.3:
            values = values.transpose(-1, -2).contiguous().transpose(-1, -2)
        return values

    def program(self, n_steps: int) -> list[tuple[Any, ...]]:
        """The steps: a kind, and what it needs to know."""
        kinds = (
            ["unary"] * 5
            + ["binary"] * 7
            + ["number"] * 4
            + ["compare", "where", "cast", "cast", "view", "drop"]
        )
        kinds += ["row"] * 4 + [
            "center",
            "slice",
            "write",
            "reduce",
            "clamp",
            "fused",
            "alpha",
            "copy",
            "item",
            "fill",
        ]
        pick = self.random
        return [
            (pick.choice(kinds), pick.random(), pick.random(), pick.random(), pick.randint(0, 1 << 20))
            for _ in range(n_steps)
        ]


def run(steps: list[tuple[Any, ...]], inputs: list[tc.Tensor]) -> list[Any]:
    """What a program computes: the tensors that it still holds, its inputs among them, and the errors that it met.

    Args:
        steps: of `Writer.program`.
        inputs: the tensors that it begins with; some are written to.
    """
    values, errors = list(inputs), []
    for step in steps:
        try:
            _apply(values, *step)
        except (RuntimeError, TypeError, NotImplementedError) as error:
            errors.append(f"{type(error).__name__}: {error}")
        del values[len(inputs) : -8]
    return [*values, *errors]


def _apply(values: list[tc.Tensor], kind: str, a: float, b: float, c: float, n: int) -> None:
    x, y, z = (values[int(share * len(values))] for share in (a, b, c))
    number = NUMBERS[n % len(NUMBERS)]
    if kind == "drop":
        if len(values) > 6:
            del values[-2]
    elif kind == "write":
        _write(x, y, n)
    elif kind == "item":
        values.append(x * float(y.flatten()[n % y.numel()].float().nan_to_num(0, 1, -1)))
    else:
        values.append(_result(kind, x, y, z, number, n))


def _write(x: tc.Tensor, y: tc.Tensor, n: int) -> None:
    which = n % 4
    if which == 0:
        x.add_(1)
    elif which == 1:
        x.mul_(y)
    elif which == 2:
        x.copy_(y)
    elif x.dim():
        x[n % x.shape[0]] = 2


def _result(kind: str, x: tc.Tensor, y: tc.Tensor, z: tc.Tensor, number: Any, n: int) -> tc.Tensor:
    if kind == "unary":
        return getattr(tc, UNARY[n % len(UNARY)])(x)
    if kind == "binary":
        return getattr(tc, BINARY[n % len(BINARY)])(x, y)
    if kind == "number":
        powers = [lambda: x ** POWERS[n % len(POWERS)]]
        return [lambda: x * number, lambda: x + number, lambda: number - x, lambda: x / 3, *powers][n % 5]()
    if kind == "compare":
        return getattr(tc, COMPARISONS[n % len(COMPARISONS)])(x, y if n & 64 else number)
    if kind == "where":
        return tc.where(x > y, x, z if n & 1 else number)
    if kind == "cast":
        return x.to(DTYPES[n % len(DTYPES)])
    if kind in ("row", "center", "reduce", "slice"):
        return _of_rows(kind, x, y, n)
    return _rare(kind, x, y, z, number, n)


def _of_rows(kind: str, x: tc.Tensor, y: tc.Tensor, n: int) -> tc.Tensor:
    """Reductions of rows, of columns and of everything, and what programs compute with their results."""
    if kind == "slice":
        half = max(x.shape[-1] // 2, 1) if x.dim() else 0
        return x[..., :half] * x[..., -half:] if half else x + 1
    if kind == "reduce":
        dim = [-1, 0, None][n % 3]
        return x.sum(dim, keepdim=True) if dim is not None and x.dim() else x.float().mean()
    if kind == "center":
        mean = x.float().mean(-1, keepdim=True) if x.dim() else x
        return (x - mean) * tc.rsqrt(((x - mean) * (x - mean)).mean(-1, keepdim=True) + 1e-5)
    name, keep = ROWS[n % len(ROWS)], bool(n & 32)
    if not x.dim():
        return x.exp()
    if "softmax" in name:
        return getattr(tc, name)(x, -1)
    options = {"correction": 0} if name in ("var", "std") and x.shape[-1] == 1 else {}
    result = getattr(tc, name)(x, dim=-1, keepdim=keep, **options)
    result = result[n >> 6 & 1] if name == "max" else result
    return result + y if keep and n & 256 else result


def _rare(kind: str, x: tc.Tensor, y: tc.Tensor, z: tc.Tensor, number: Any, n: int) -> tc.Tensor:
    if kind == "view":
        views = [
            lambda: x.t(),
            lambda: x.reshape(-1),
            lambda: x[..., ::2],
            lambda: x.unsqueeze(0),
            lambda: x.detach(),
        ]
        return views[n % 5]() if x.dim() in (1, 2) else x.view(x.shape)
    if kind == "clamp":
        return tc.clamp(x, -1, 1) if n & 1 else tc.clamp(x, min=y)
    if kind == "fused":
        calls = [
            lambda: tc.addcmul(x, y, z, value=number),
            lambda: tc.lerp(x, y, 0.25),
            lambda: tc.addcdiv(x, y, z),
        ]
        return [*calls, lambda: tc.ops.aten.gelu(x), lambda: tc.ops.aten.silu(x)][n % 5]()
    if kind == "alpha":
        return tc.add(x, y, alpha=2) if n & 1 else tc.sub(x, y, alpha=0.5)
    if kind == "fill":
        return x.masked_fill(y > 0, 1)
    return x.clone() if n & 1 else x.contiguous()


def differences(seed: int, compiled: Callable[..., Any], n_steps: int = 24) -> list[str]:
    """How a program that is compiled differs from the same program run as it is, in words.

    Args:
        seed: of the program.
        compiled: `run`, compiled.
        n_steps: its length.
    """
    writer = Writer(seed)
    steps = writer.program(n_steps)
    expected = run(steps, [_copy(x) for x in writer.inputs])
    copy = compiled(steps, [_copy(x) for x in writer.inputs])
    if len(expected) != len(copy):
        return [f"{len(copy)} values instead of {len(expected)}"]
    return [
        text for i, pair in enumerate(zip(expected, copy, strict=True)) if (text := _difference(i, *pair))
    ]


def gradient_differences(
    seed: int, compiled: Callable[..., Any], inside: bool = True, n_steps: int = 14
) -> list[str]:
    """How the gradients of a program differ between a compiled call and a plain one, in words.

    Args:
        seed: of the program.
        compiled: `run_gradients`, compiled if the backward is inside, and else `run_loss`.
        inside: whether the backward is part of what is compiled.
        n_steps: its length.
    """
    writer = Writer(seed)
    steps = [step for step in writer.program(2 * n_steps) if step[0] not in ("write", "drop", "item")][
        :n_steps
    ]
    inputs = [x.float() if i % 3 or not x.dtype.is_floating_point else x for i, x in enumerate(writer.inputs)]

    def leaves() -> list[tc.Tensor]:
        return [_copy(x).requires_grad_() for x in inputs]

    expected = run_gradients(steps, leaves())
    result = compiled(steps, leaves()) if inside else run_gradients(steps, leaves(), compiled)
    if len(expected) != len(result):
        return [f"{len(result)} values instead of {len(expected)}"]
    return [
        text for i, pair in enumerate(zip(expected, result, strict=True)) if (text := _difference(i, *pair))
    ]


def run_loss(steps: list[tuple[Any, ...]], inputs: list[tc.Tensor]) -> list[Any]:
    """A loss of what a program computes, and the tensors that it still holds.

    Args:
        steps: of `Writer.program`.
        inputs: the tensors that it begins with.
    """
    values = run(steps, inputs)
    tensors = [v for v in values if isinstance(v, tc.Tensor) and v.dtype.is_floating_point]
    weighted = [v.float().sum() * (i + 1) for i, v in enumerate(tensors[-3:])]
    return [sum(weighted[1:], weighted[0]), *values]


def run_gradients(
    steps: list[tuple[Any, ...]], inputs: list[tc.Tensor], loss: Callable[..., Any] = run_loss
) -> list[Any]:
    """The gradients of a program's loss, and what the program has returned.

    Args:
        steps: of `Writer.program`.
        inputs: the tensors that it begins with, which require gradients.
        loss: `run_loss`, or that compiled.
    """
    total, *values = loss(steps, inputs)
    try:
        gradients = list(grad(total, inputs, allow_unused=True)) if total.requires_grad else []
    except RuntimeError as error:
        gradients = [f"{type(error).__name__}: {error}"]
    return [*(v for v in gradients if v is not None), total.detach(), *(_detached(v) for v in values)]


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, tc.Tensor) else value


def _copy(x: tc.Tensor) -> tc.Tensor:
    return tc.empty_strided(x.shape, x.stride(), dtype=x.dtype).copy_(x)


def _difference(i: int, expected: Any, found: Any) -> str:
    if isinstance(expected, str) or isinstance(found, str):
        return "" if expected == found else f"value {i}: {found!r} instead of {expected!r}"
    for fact in ("dtype", "shape"):
        if getattr(expected, fact) != getattr(found, fact):
            return f"value {i}: {fact} {getattr(found, fact)} instead of {getattr(expected, fact)}"
    if expected.stride() != found.stride():
        return f"value {i}: strides {found.stride()} instead of {expected.stride()}"
    return "" if same_bits(expected, found) else f"value {i}: elements of {tuple(found.shape)}, {found.dtype}"


def same_bits(expected: tc.Tensor, found: tc.Tensor) -> bool:
    """Whether two tensors of one type are equal bit by bit; any NaN is as good as another.

    Args:
        expected: a tensor.
        found: the other.
    """
    words = {1: tc.uint8, 2: tc.int16, 4: tc.int32, 8: tc.int64}[expected.element_size()]
    differ = expected.contiguous().view(words) != found.contiguous().view(words)
    if expected.dtype.is_floating_point:
        differ = differ & ~(expected.isnan() & found.isnan())
    return not bool(differ.any())
