"""The facts of rows that Python reads: `_facts.json`, by kind, then by operator.

| kind | entries |
|---|---|
| `core` | the operators of PyTorch's core set: 1 |
| `numbers` | the operators that return a number which elements decide: 1 |
| `sizes` | the operators with sizes that elements decide: whether a kernel decides them |
| `inplace_views` | the operators that change sizes or strides of their input in place: 1 |
| `mask_reads`, `mask_writes` | the operators that read or write at indices, which may be masks: 1 |
| `second_names` | the first name of each other public name, with in-place forms |
| `array_api` | the operator of each elementwise function of the array API standard, and its number of arrays |
| `dimensions` | the public operators of a private one, by the number of dimensions of the grid |
| `shards` | the placements of distributed tensors (`shard_rules.py`), of an out form `out NAME` |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from opgen.row import Row
from opgen.shape_rules import DATA
from opgen.shard_rules import shards_of, takes_tensors
from opgen.shard_texts import SHARDS

Entry = tuple[str, Any]


def returns_number(row: Row) -> bool:
    """Whether a result is a number that is computed from elements."""
    numbers = any(not (r.is_tensor or r.is_tensor_list) for r in row.rets)
    return numbers and row.family != "sparse"


def has_data_shape(row: Row) -> bool:
    """Whether elements decide the sizes of the results."""
    return row.shape == DATA and not row.composite


def _core(row: Row) -> Iterator[Entry]:
    for name in row.core.split() if isinstance(row.core, str) else [row.name] * row.core:
        yield name, 1


def _numbers(row: Row) -> Iterator[Entry]:
    return ((schema.name, 1) for _, schema in row.forms() if returns_number(row))


def _sizes(row: Row) -> Iterator[Entry]:
    return ((schema.name, not row.composite) for _, schema in row.forms() if row.shape == DATA)


def _inplace_views(row: Row) -> Iterator[Entry]:
    if row.writes_self and (row.family == "view" or not row.reads_elements):
        yield row.name, 1


def _mask_reads(row: Row) -> Iterator[Entry]:
    return _at_indices(row, writes=False)


def _mask_writes(row: Row) -> Iterator[Entry]:
    return _at_indices(row, writes=True)


def _at_indices(row: Row, writes: bool) -> Iterator[Entry]:
    takes = {a.name for a in row.args if a.type == "Tensor?[]"}
    if "indices" in takes and row.args[0].name == "self":
        is_write = any(a.name == "values" for a in row.args)
        yield from ((schema.name, 1) for _, schema in row.forms() if is_write == writes)


def _second_names(row: Row) -> Iterator[Entry]:
    inplace = {schema.base for variant, schema in row.forms() if variant == "inplace"}
    for name in row.aliases:
        if not row.writes_self:
            yield name, row.base
        if inplace:
            yield f"{name.rstrip('_')}_", min(inplace)


def _array_api(row: Row) -> Iterator[Entry]:
    if row.array_api:
        yield row.array_api, [row.base, sum(a.is_tensor for a in row.args)]


def _dimensions(row: Row) -> Iterator[Entry]:
    if row.dimensions:
        yield row.name, row.dimensions


def _shards(row: Row) -> Iterator[Entry]:
    is_left = row.batch.startswith("refuse") and row.name not in SHARDS and not row.shards
    is_inplace_view = row.family == "view" and row.writes_self
    if row.composite or is_left or is_inplace_view or not takes_tensors(row):
        return
    for variant, schema in row.forms():
        yield schema.name, f"out {row.name}" if variant == "out" else shards_of(row)


KINDS: dict[str, Callable[[Row], Iterator[Entry]]] = {
    "core": _core,
    "numbers": _numbers,
    "sizes": _sizes,
    "inplace_views": _inplace_views,
    "mask_reads": _mask_reads,
    "mask_writes": _mask_writes,
    "second_names": _second_names,
    "array_api": _array_api,
    "dimensions": _dimensions,
    "shards": _shards,
}


def facts_json(rows: list[Row]) -> str:
    """{kind: {operator: fact}}; raises ValueError if two rows disagree."""
    table: dict[str, dict[str, Any]] = {}
    for kind, facts_of in KINDS.items():
        entries: dict[str, Any] = {}
        for row in rows:
            for name, fact in facts_of(row):
                if entries.setdefault(name, fact) != fact:
                    raise ValueError(f"{row.where}: another row has {kind} {entries[name]!r} of {name}")
        table[kind] = entries
    return json.dumps(table, indent=1)
