"""Epochs of a DataLoader, and how long workers take to the first batch. They count too: the clock is the wall's."""

from __future__ import annotations

from tools.bench.cases import Case, Group

LOADING = Group("loading")

START = """\
from tools.bench.samples import Blobs, Objects
data = torch.utils.data
"""
ROWS = (
    START
    + """\
x, y = torch.rand(10_000, 16), torch.arange(10_000)
dataset = data.TensorDataset(x, y)
"""
)
EPOCH = """\
for batch in loader:
    pass
"""


def loader(dataset: str, options: str) -> str:
    """The statement that makes a loader."""
    return f"loader = data.DataLoader({dataset}, {options})\n"


PLAIN = """\
order = torch.randperm(10_000)
for i in range(0, 10_000, 256):
    rows = order[i : i + 256]
    x[rows], y[rows]
"""

CASES = [
    Case(
        LOADING,
        "TensorDataset of 10,000 rows, batch 256",
        ROWS + loader("dataset", "batch_size=256"),
        EPOCH,
        bound=0.05,
    ),
    Case(
        LOADING,
        "the same shuffled, against plain indexing",
        ROWS + loader("dataset", "batch_size=256, shuffle=True"),
        EPOCH,
        bound=2.0,
        peer=PLAIN,
    ),
    Case(LOADING, "objects, 0 workers", START + loader("Objects(10_000)", "batch_size=64"), EPOCH, bound=0.7),
    Case(
        LOADING,
        "objects, 2 workers",
        START + loader("Objects(20_000)", "batch_size=64, num_workers=2"),
        EPOCH,
        bound=0.7,
        rounds=2,
        clock="wall",
    ),
    Case(
        LOADING,
        "100 KB samples, 2 workers",
        START + loader("Blobs(torch.__name__, 2_000)", "batch_size=32, num_workers=2"),
        EPOCH,
        bound=0.7,
        rounds=2,
        clock="wall",
    ),
    Case(
        LOADING,
        "2 workers to the first batch",
        ROWS + loader("dataset", "batch_size=256, num_workers=2"),
        "iterator = iter(loader); next(iterator)",
        before="iterator = None",
        bound=0.6,
        clock="wall",
    ),
]
