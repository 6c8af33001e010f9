"""Reductions and running sums, over the last, the first and a middle dimension."""

from __future__ import annotations

from tools.bench.cases import Case, Group

REDUCTIONS = Group("reductions", each=1.05)
SCANS = Group("running sums", each=1.05)

# A vector, a matrix of 256 columns, one of few long rows, one of few columns, and images.
_OPERANDS = """\
n = {n}
d = torch.{dtype}
make = lambda *s: torch.randint(0, 1000, s) if not d.is_floating_point else torch.rand(*s).to(d)
a = make(n)
m, w, t, images = a.view(-1, 256), a.view(16, -1), a.view(-1, 8), a.view(16, 32, -1)
spaced = make(n // 256, 512)[:, ::2]
mask = a > a.max() // 2 if not d.is_floating_point else a > 0.5
"""
_WHOLE = {
    name: f"a.{name}()"
    for name in ("sum", "prod", "amax", "amin", "max", "argmax", "argmin", "count_nonzero")
}
_DIMENSIONS = {
    "of rows": ("m", "1"),
    "of columns": ("m", "0"),
    "of long rows": ("w", "1"),
    "of long columns": ("t", "0"),
    "of short rows": ("t", "1"),
    "of the middle": ("images", "1"),
    "of all but the middle": ("images", "(0, 2)"),
    "of spaced rows": ("spaced", "1"),
}
_SINGLE = {k: v for k, v in _DIMENSIONS.items() if "(" not in v[1]}


def _along(names: tuple[str, ...], dimensions: dict[str, tuple[str, str]]) -> dict[str, str]:
    return {f"{n} {d}": f"{x}.{n}({dim})" for n in names for d, (x, dim) in dimensions.items()}


_COMMON = {
    **_WHOLE,
    **_along(("sum", "amax"), _DIMENSIONS),
    **_along(("max", "argmax"), _SINGLE),
    "any": "mask.any()",
    "all of rows": "mask.view(-1, 256).all(1)",
    "count_nonzero of a mask": "mask.count_nonzero()",
    "count_nonzero of rows": "m.count_nonzero(1)",
    "sum of a mask": "mask.sum()",
    "sum of the mask's rows": "mask.view(-1, 256).sum(1)",
    "aminmax": "a.aminmax()",
}
_FLOATING = {
    "mean": "a.mean()",
    "var": "a.var()",
    "std": "a.std()",
    "norm": "a.norm()",
    "norm 1": "a.norm(p=1)",
    **_along(("mean", "var"), _DIMENSIONS),
    "norm of rows": "m.norm(dim=1)",
    "logsumexp": "m.logsumexp(1)",
    "nansum": "a.nansum()",
}
_SCANS = {
    "cumsum": "a.cumsum(0)",
    "cumsum of rows": "m.cumsum(1)",
    "cumsum of columns": "m.cumsum(0)",
    "cumsum of the middle": "images.cumsum(1)",
    "cumprod": "a.cumprod(0)",
    "cummax": "a.cummax(0)",
    "cummax of rows": "m.cummax(1)",
    "cummax of columns": "m.cummax(0)",
    "diff": "a.diff()",
    "diff of rows": "m.diff(dim=1)",
}
_LARGEST = (
    "sum",
    "mean",
    "amax",
    "argmax",
    "var",
    "sum of rows",
    "sum of columns",
    "argmax of rows",
    "count_nonzero",
)


def _cases(group: Group, label: str, n: int, dtype: str, runs: dict[str, str], rounds: int = 5) -> list[Case]:
    setup = _OPERANDS.format(n=n, dtype=dtype)
    return [Case(group, f"{name}, {label} {dtype}", setup, run, rounds=rounds) for name, run in runs.items()]


CASES: list[Case] = []
for _label, _n in (("64 K", 1 << 16), ("1 M", 1 << 20)):
    for _dtype in ("float32", "bfloat16", "int64"):
        _runs = _COMMON if _dtype == "int64" else _COMMON | _FLOATING
        CASES += _cases(REDUCTIONS, _label, _n, _dtype, _runs)
        CASES += _cases(SCANS, _label, _n, _dtype, _SCANS)
CASES += _cases(
    REDUCTIONS, "16 M", 1 << 24, "float32", {k: (_COMMON | _FLOATING)[k] for k in _LARGEST}, rounds=1
)
CASES += _cases(
    SCANS, "16 M", 1 << 24, "float32", {k: _SCANS[k] for k in ("cumsum", "cumsum of rows")}, rounds=1
)
