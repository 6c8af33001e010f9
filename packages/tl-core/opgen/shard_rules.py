"""The placements of distributed tensors that a row allows: the kind `shards` of `_facts.json`.

A text is a base, then clauses behind semicolons.

| base | the placements |
|---|---|
| `elementwise` | every dimension of the result, with broadcasting |
| `front` | the dimensions before the last two |
| `fold` | the first dimension |
| `dims A B?` | the dimensions that the arguments do not name. `?`: None names all. `+`: the result has it alone |
| `view`, `view NAME` | the dimensions that keep size and stride, as the view of that name |
| `random` | every dimension: the result is a piece of the draw for the whole |
| `sizes` | those of the first operand if the result has its size |
| `ik, kj -> ij` | a pattern |
| `/` | separates alternatives, `[NAME=VALUE]` is a condition on arguments |
| `replicate` | whole operands only |
| `function` | a function of tl-distributed's table of placements |

In a pattern, a letter is a dimension that can be cut, and `_` one that cannot. `...` is a run of dimensions that can be
cut, with broadcasting, and `*` a run that cannot. `{NAME}` is as many dimensions that cannot be cut as a list has, and
`-` a whole operand. A letter that a result lacks gives terms. `+` marks a summand, a term with the others.

| clause | meaning |
|---|---|
| `terms: A B` | linear in A and B together: terms of sums pass. A bar separates alternatives |
| `reduce: KIND` | a dimension that goes gives terms of this kind; without it, it can't be cut |
| `padded: NAME` | the dimensions that a list of pairs counts from the last |

A row without a text derives one from `batch`. A linear row (`jvp="linear"`) passes terms in its differentiable
arguments. Composite rows have none, as their parts do. Rows with `batch="refuse"` may be left without one: a call with
a distributed tensor then raises, and names the operator.
"""

from __future__ import annotations

from opgen.argument_roles import role
from opgen.row import Row
from opgen.shard_texts import SHARDS

_DERIVED = ("elementwise", "front", "fold", "dims", "random")


def shards_of(row: Row) -> str:
    """The text of a row; raises ValueError for a row that says nothing and derives nothing."""
    text = row.shards or SHARDS.get(row.name, "")
    kind = row.batch.partition(":")[0]
    if row.shards and row.name in SHARDS:
        raise ValueError(
            f"{row.where}: the row {row.name} has shards=, and opgen/shard_texts.py has it as well"
        )
    if not text:
        text = _derive(row, kind)
    base, _, clauses = text.partition(";")
    if base.strip() == "dims":
        base = _dims(row)
    text = "; ".join(part.strip() for part in (base, clauses) if part.strip())
    return (
        text
        if "terms:" in text or not _is_linear(row)
        else f"{text}; terms: {' '.join(_differentiable(row))}"
    )


def takes_tensors(row: Row) -> bool:
    """Whether an argument is a tensor or a list of tensors."""
    return any(a.is_tensor or a.is_tensor_list or a.type in ("Operand", "Tensor?[]") for a in row.args)


def _derive(row: Row, kind: str) -> str:
    if row.view or row.family == "view":
        return "view"
    if row.family == "view_copy":
        return f"view {row.name.replace('_copy', '')}"
    if row.elementwise is not None:
        return "elementwise"
    if kind in _DERIVED:
        return kind
    raise ValueError(
        f"{row.where}: the row {row.name} with batch={kind!r} derives no placements; write shards= in the row, or a "
        "line of opgen/shard_texts.py"
    )


def _dims(row: Row) -> str:
    names = []
    for arg in row.args:
        kind = role(arg, row.name)
        if kind in ("DIM", "DIMS", "SOME"):
            is_new = row.base in ("stack", "unbind_backward", "select_backward")
            is_all = kind == "DIMS" or (kind == "DIM" and arg.optional)
            names.append(arg.name + "?" * is_all + "+" * is_new)
    return " ".join(["dims", *names])


def _is_linear(row: Row) -> bool:
    return row.jvp == "linear" and bool(_differentiable(row))


def _differentiable(row: Row) -> list[str]:
    keys = row.grad if isinstance(row.grad, dict) else {}
    return [name.strip() for key in keys for name in key.split(",")]
