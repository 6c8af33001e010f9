"""Indexing, gather and scatter, masks, sorting and selection."""

from __future__ import annotations

from tools.bench.cases import Case, Group

INDEXING = Group("indexing", each=1.05)
ORDERS = Group("orders of 1 M elements", each=0.20)
NUMPY = Group("orders of 1 M elements, against NumPy", each=1.2)

_OPERANDS = """\
n = {n}
d = torch.{dtype}
make = lambda *s: torch.randint(0, 1000, s) if not d.is_floating_point else torch.rand(*s).to(d)
a, b, counts = make(n), make(n), torch.randint(0, 1000, (n,))
m, short = a.view(-1, 256), a.view(-1, 4)
mask, row_mask = torch.rand(n) > 0.5, torch.rand(n // 256) > 0.5
at, rows = torch.randint(0, n, (n,)), torch.randint(0, n // 256, (n // 256,))
some = torch.randint(0, n // 4, (n // 4,))
columns, indices = torch.randint(0, 256, (256,)), torch.randint(0, 256, (n // 256, 256))
tall = torch.randint(0, n // 256, (n // 256, 256))
"""
_RUNS = {
    "nonzero": "mask.nonzero()",
    "nonzero of a matrix": "mask.view(-1, 256).nonzero()",
    "masked_select": "a.masked_select(mask)",
    "a[mask]": "a[mask]",
    "m[mask of rows]": "m[row_mask]",
    "a[mask] = 0": "a[mask] = 0",
    "masked_fill_": "a.masked_fill_(mask, 0)",
    "a[i]": "a[at]",
    "a[i] = b": "a[at] = b",
    "m[i]": "m[rows]",
    "m[:, i]": "m[:, columns]",
    "m[i, j]": "m[tall, indices]",
    "take": "a.take(at)",
    "index_select": "a.index_select(0, at)",
    "index_select of rows": "m.index_select(0, rows)",
    "index_select of short rows": "short.index_select(0, some)",
    "index_select of columns": "m.index_select(1, columns)",
    "gather along rows": "m.gather(1, indices)",
    "gather along columns": "m.gather(0, tall)",
    "gather from all": "a.gather(0, at)",
    "scatter along rows": "m.scatter(1, indices, m)",
    "scatter_add": "b.scatter_add_(0, at, a)",
    "scatter_add along rows": "m.scatter_add(1, indices, m)",
    "scatter_reduce amax": "b.scatter_reduce_(0, at, a, 'amax')",
    "index_add": "b.index_add_(0, at, a)",
    "index_add of rows": "m.index_add(0, rows, m)",
    "index_copy of rows": "m.index_copy(0, rows, m)",
    "index_put accumulate": "b.index_put_((at,), a, accumulate=True)",
    "embedding": "torch.nn.functional.embedding(rows, m)",
    "topk of rows": "m.topk(8)",
    "sort of rows": "m.sort()",
    "argsort of rows": "m.argsort()",
    "sort of columns": "m.sort(0)",
}
_COUNTS = {
    "bincount": "torch.bincount(counts)",
    "one_hot": "torch.nn.functional.one_hot(columns, 256)",
    "histc": "a.histc(100)",
    "isin": "torch.isin(counts, columns)",
}
_LARGEST = (
    "nonzero",
    "masked_select",
    "a[i]",
    "m[i]",
    "gather along rows",
    "index_select of rows",
    "sort of rows",
)


def _cases(label: str, n: int, dtype: str, runs: dict[str, str], rounds: int = 5) -> list[Case]:
    setup = _OPERANDS.format(n=n, dtype=dtype)
    return [
        Case(INDEXING, f"{name}, {label} {dtype}", setup, run, rounds=rounds) for name, run in runs.items()
    ]


CASES: list[Case] = []
for _label, _n in (("64 K", 1 << 16), ("1 M", 1 << 20)):
    CASES += _cases(_label, _n, "float32", _RUNS | _COUNTS)
    CASES += _cases(_label, _n, "bfloat16", _RUNS)
    CASES += _cases(_label, _n, "int64", _RUNS)
CASES += _cases("16 M", 1 << 24, "float32", {k: _RUNS[k] for k in _LARGEST}, rounds=1)

_ORDERED = """\
a, d = torch.rand(1 << 20), torch.randint(0, 1 << 62, (1 << 20,))
edges, q = torch.rand(1 << 20).sort().values, torch.rand(1 << 20)
small = torch.randint(0, 1000, (1 << 20,))
"""
CASES += [
    Case(ORDERS, name, _ORDERED, run, rounds=3)
    for name, run in {
        "sort": "a.sort()",
        "argsort": "a.argsort()",
        "unique": "a.unique()",
        "unique of few, inverse and counts": "small.unique(return_inverse=True, return_counts=True)",
        "quantile": "a.quantile(0.3)",
        "median": "a.median()",
        "kthvalue": "a.kthvalue(1000)",
        "topk": "a.topk(100)",
        "searchsorted": "torch.searchsorted(edges, q)",
    }.items()
]
CASES += [Case(ORDERS, "sort int64", _ORDERED, "d.sort()", rounds=3, bound=1.0)]
# A sort gives the values and where they stood: NumPy's sort gives the first half of that, argsort and take all of it.
CASES += [
    Case(NUMPY, name, _ORDERED + "x, y = a.numpy(), d.numpy()\nimport numpy", run, rounds=3, peer=peer)
    for name, run, peer in (
        ("sort float32", "a.sort()", "numpy.sort(x)"),
        ("sort int64", "d.sort()", "numpy.sort(y)"),
        ("sort float32, and indices", "a.sort()", "numpy.take_along_axis(x, numpy.argsort(x), 0)"),
        ("sort int64, and indices", "d.sort()", "numpy.take_along_axis(y, numpy.argsort(y), 0)"),
        ("median", "a.median()", "numpy.median(x)"),
    )
]
