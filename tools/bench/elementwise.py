"""Elementwise operators: functions, arithmetic over types and layouts, copies and conversions."""

from __future__ import annotations

from tools.bench.cases import Case, Group

FUNCTIONS = Group("elementwise functions", each=1.05)
ARITHMETIC = Group("elementwise arithmetic", each=1.05)
COPIES = Group("copies and conversions", each=1.05)
SIZES = (("64 K", 1 << 16), ("1 M", 1 << 20))

_FUNCTIONS = {
    **{
        name: f"torch.{name}(a)"
        for name in (
            *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"),
            *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "sigmoid"),
            *("erf", "erfc", "erfinv", "lgamma", "digamma"),
            *("neg", "abs", "sign", "floor", "ceil", "trunc", "round", "frac", "square", "logit"),
            *("isfinite", "isinf", "isnan", "nan_to_num", "signbit"),
        )
    },
    **{
        name: f"torch.{name}(a, b)"
        for name in (
            *("fmod", "remainder", "fmax", "maximum", "copysign", "hypot", "logaddexp", "xlogy", "atan2"),
            *("pow", "floor_divide"),
        )
    },
    **{
        name: f"F.{name}(a)"
        for name in (
            *("relu", "gelu", "silu", "softplus", "mish", "elu", "leaky_relu", "hardswish", "logsigmoid"),
            *("selu", "celu", "relu6", "hardtanh", "hardsigmoid", "softsign", "tanhshrink", "softshrink"),
        )
    },
    "gelu by tanh": "F.gelu(a, approximate='tanh')",
    "pow 2": "a ** 2",
    "pow 0.5": "a ** 0.5",
    "pow 3": "a ** 3",
    "clamp": "a.clamp(0.2, 0.7)",
    "lerp": "torch.lerp(a, b, 0.3)",
    "addcmul": "torch.addcmul(a, a, b)",
    "addcdiv": "torch.addcdiv(a, a, b)",
}
_BACKWARDS = {
    name: f"F.{name}(g)"
    for name in ("relu", "gelu", "silu", "softplus", "mish", "elu", "tanh", "sigmoid", "leaky_relu")
}
_HALVES = ("exp", "tanh", "sigmoid", "sqrt", "abs", "relu", "gelu", "silu", "isfinite", "maximum", "clamp")
_OPERANDS = "F = torch.nn.functional\na, b = torch.rand({n}), torch.rand({n})"


def _functions(label: str, n: int) -> list[Case]:
    setup = _OPERANDS.format(n=n)
    halves = setup + "\na, b = a.bfloat16(), b.bfloat16()"
    leaves = setup + f"\ng = torch.randn({n}, requires_grad=True)"
    return [
        *(Case(FUNCTIONS, f"{name}, {label} float32", setup, run) for name, run in _FUNCTIONS.items()),
        *(Case(FUNCTIONS, f"{name}, {label} bfloat16", halves, _FUNCTIONS[name]) for name in _HALVES),
        *(
            Case(FUNCTIONS, f"{name} and backward, {label} float32", leaves, f"{run}.backward(a)")
            for name, run in _BACKWARDS.items()
        ),
    ]


# Matrices of 256 columns: dense, every second column, transposed, and what is broadcast against them.
_MATRICES = """\
n = {n}
d = torch.{dtype}
make = lambda *s: torch.randint(1, 100, s).to(d) if not d.is_floating_point else torch.rand(*s).to(d)
a, b = make(n // 256, 256), make(n // 256, 256)
row, column = make(256), make(n // 256, 1)
wide = make(n // 256, 512)[:, ::2]
turned = make(256, n // 256).t()
ints, floats = torch.randint(1, 100, (n // 256, 256)), torch.rand(n // 256, 256)
mask = floats > 0.5
"""
_ARITHMETIC = {
    "add": "a + b",
    "sub": "a - b",
    "mul": "a * b",
    "div": "a / b",
    "add number": "a + 2",
    "mul number": "a * 3",
    "add alpha": "torch.add(a, b, alpha=2)",
    "add in place": "a.add_(b)",
    "greater": "a > b",
    "equal": "a == b",
    "greater than number": "a > 2",
    "maximum": "torch.maximum(a, b)",
    "neg": "-a",
    "abs": "a.abs()",
    "clamp": "a.clamp(10, 50)",
    "where": "torch.where(mask, a, b)",
    "masked_fill": "a.masked_fill(mask, 0)",
    "add of a row": "a + row",
    "mul by a column": "a * column",
    "add of spaced columns": "a + wide",
    "add of a transposed matrix": "a + turned",
    "two transposed matrices": "turned * turned",
    "where of a row": "torch.where(mask, a, row)",
    "greater than a column": "a > column",
}
_FLOATING = {
    "float and integers": "a * ints",
    "float and mask": "a * mask",
    "sqrt of spaced columns": "wide.sqrt()",
    "exp of a transposed matrix": "turned.exp()",
}
_INTEGERS = {
    "floor divide": "a // b",
    "remainder": "a % b",
    "bitwise and": "a & b",
    "shift": "a << 2",
    "divide by number": "a / 3",
}
_LOGICAL = {
    "logical and": "mask & mask",
    "logical not": "~mask",
    "integers over floats": "ints / floats",
}


def _arithmetic(label: str, n: int, dtype: str, runs: dict[str, str], rounds: int = 5) -> list[Case]:
    setup = _MATRICES.format(n=n, dtype=dtype)
    return [
        Case(ARITHMETIC, f"{name}, {label} {dtype}", setup, run, rounds=rounds) for name, run in runs.items()
    ]


_COPIES = {
    "clone": "a.clone()",
    "clone of spaced columns": "wide.clone()",
    "contiguous of a transposed matrix": "turned.contiguous()",
    "copy_ into a transposed matrix": "turned.copy_(a)",
    "copy_ of a row": "a.copy_(row)",
    "zeros": "torch.zeros(n, dtype=d)",
    "full": "torch.full((n,), 3, dtype=d)",
    "fill_": "a.fill_(1)",
    "cat along rows": "torch.cat([a, b], 0)",
    "cat along columns": "torch.cat([a, b], 1)",
    "stack": "torch.stack([a, b])",
    "stack last": "torch.stack([a, b], -1)",
    "flip": "a.flip(1)",
    "roll": "a.roll(3, 1)",
    "repeat": "a.repeat(1, 2)",
    "expand and contiguous": "row.expand(n // 256, 256).contiguous()",
    "permute": "a.view(-1, 16, 16).permute(2, 0, 1).contiguous()",
    "heads apart": "a.view(-1, 4, 64).transpose(0, 1).contiguous()",
    "tril": "a.tril()",
    "to float32": "a.to(torch.float32, copy=True)",
    "to float64": "a.double()",
    "to bfloat16": "a.to(torch.bfloat16, copy=True)",
    "to float16": "a.half()",
    "to int64": "a.to(torch.int64, copy=True)",
    "to int32": "a.int()",
    "to bool": "a.bool()",
    "to uint8": "a.to(torch.uint8)",
    "from bool": "mask.to(d)",
}


def _copies(label: str, n: int, dtype: str, rounds: int = 5) -> list[Case]:
    setup = _MATRICES.format(n=n, dtype=dtype)
    return [
        Case(COPIES, f"{name}, {label} {dtype}", setup, run, rounds=rounds) for name, run in _COPIES.items()
    ]


def _largest() -> list[Case]:
    """16 M: a few samples each, as they take long."""
    n, setup = 1 << 24, _OPERANDS.format(n=1 << 24)
    functions = ("exp", "tanh", "sigmoid", "gelu", "relu", "sqrt", "abs", "maximum", "clamp")
    arithmetic = (
        "add",
        "mul",
        "add in place",
        "greater",
        "where",
        "add of a row",
        "add of a transposed matrix",
    )
    copies = ("clone", "contiguous of a transposed matrix", "cat along columns", "to bfloat16", "fill_")
    return [
        *(Case(FUNCTIONS, f"{name}, 16 M float32", setup, _FUNCTIONS[name], rounds=1) for name in functions),
        *_arithmetic("16 M", n, "float32", {name: _ARITHMETIC[name] for name in arithmetic}, 1),
        *(
            Case(
                COPIES,
                f"{name}, 16 M float32",
                _MATRICES.format(n=n, dtype="float32"),
                _COPIES[name],
                rounds=1,
            )
            for name in copies
        ),
    ]


CASES = [case for size in SIZES for case in _functions(*size)]
for _label, _n in SIZES:
    CASES += _arithmetic(_label, _n, "float32", _ARITHMETIC | _FLOATING | _LOGICAL)
    CASES += _arithmetic(_label, _n, "bfloat16", _ARITHMETIC | _FLOATING)
    CASES += _arithmetic(_label, _n, "int64", _ARITHMETIC | _INTEGERS)
    CASES += [case for dtype in ("float32", "bfloat16", "int64") for case in _copies(_label, _n, dtype)]
_RARE = ("add", "mul", "div", "add number", "greater", "where", "add of a row")
for _dtype in ("float16", "int32", "uint8", "float64"):
    CASES += _arithmetic("1 M", 1 << 20, _dtype, {name: _ARITHMETIC[name] for name in _RARE})
CASES += _largest()
