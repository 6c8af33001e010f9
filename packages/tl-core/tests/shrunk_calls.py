"""Calls every operator with a tensor whose storage was made smaller, and prints those that answered.

A process of its own runs this: what reads on behind a storage's end may end it.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import tl_core as tl

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from opgen import collect  # noqa: E402
from opgen.row import Row  # noqa: E402
from recorded_calls import as_given, recorded  # noqa: E402

PLAIN = {
    "int": 0,
    "int[]": [1],
    "float": 0.5,
    "Scalar": 1,
    "bool": False,
    "bool[]": [True],
    "str": "mean",
    "Scalar[]": [1],
}


def filled(shape: list[int], dtype: str) -> tl.Tensor:
    """A tensor that lies alone on its storage."""
    return tl.ones(shape).to(getattr(tl, dtype)).clone()


def guessed(row: Row) -> list[Any]:
    """Arguments that many operators take."""
    source: list[Any] = []
    for a in row.args:
        if a.keyword_only or a.default is not None:
            break
        if a.is_tensor_list:
            source.append([filled([2, 3], "float32"), filled([2, 3], "float32")])
        elif a.is_tensor:
            source.append(filled([2, 3], "float32"))
        else:
            source.append(None if a.optional else PLAIN.get(a.type))
    return source


def calls() -> dict[str, list[list[Any]]]:
    """Arguments by the operator's name."""
    result = defaultdict(list)
    for name, arguments in recorded():
        result[name].append([as_given(tl, a, filled) for a in arguments])
    for row in collect.rows():
        for _, schema in row.forms():
            if schema.name == row.name:
                result[row.name].append(guessed(row))
    return result


def call(name: str, arguments: list[Any]) -> Any:
    """The results, or the error."""
    schema = next(s for row in ROWS.get(name.partition(".")[0], []) for _, s in row.forms() if s.name == name)
    positional = [a for a, described in zip(arguments, schema.args) if not described.keyword_only]
    keywords = {d.name: a for a, d in zip(arguments, schema.args) if d.keyword_only}
    try:
        return tl._C._call_operator((name,), *positional, **keywords)
    except Exception as error:
        return error


ROWS: dict[str, list[Row]] = defaultdict(list)
for _row in collect.rows():
    ROWS[_row.base].append(_row)


def shrunk_ones(arguments: list[Any]):
    """The arguments again, a tensor at a time on a storage of no byte."""
    indices = [(i, None) for i, a in enumerate(arguments) if isinstance(a, tl.Tensor)]
    lists = [(i, a) for i, a in enumerate(arguments) if isinstance(a, list)]
    indices += [(i, k) for i, a in lists for k, t in enumerate(a) if isinstance(t, tl.Tensor)]
    for i, k in indices:
        fresh = [copied(a) for a in arguments]
        choice = fresh[i] if k is None else fresh[i][k]
        if choice.numel() == 0 or choice.layout is not tl.strided:
            continue
        choice.untyped_storage().resize_(0)
        yield fresh


def copied(value: Any) -> Any:
    """With memory of its own."""
    if isinstance(value, tl.Tensor):
        return value.clone()
    return [copied(v) for v in value] if isinstance(value, list) else value


def main() -> None:
    """Prints the name of each call before it is made, and whether it answered."""
    warnings.simplefilter("ignore")
    count = 0
    for name, several in calls().items():
        for arguments in several:
            if isinstance(call(name, [copied(a) for a in arguments]), Exception):
                continue
            for shrunk in shrunk_ones(arguments):
                count += 1
                print("call", name, flush=True)
                end = call(name, shrunk)
                if not isinstance(end, Exception):
                    print("answered", name)
                elif "out of bounds for storage of size" not in str(end):
                    print("other", name, type(end).__name__, str(end)[:100])
    print("asked", count)


if __name__ == "__main__":
    main()
