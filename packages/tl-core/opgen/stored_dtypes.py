"""The element types that are stored but not computed with: the rows that accept them, and the errors of all others.

Views and rows that are made of other operators accept all of them. The field `stored` of a row that only creates or
moves elements names the kinds that it accepts, or is `all`. An elementwise row accepts the float8 types of `dtypes`.
"""

from __future__ import annotations

from opgen.row import FLOAT8, Row

# In the order of the bits of `Stored` in dispatch/stored_dtypes.h.
KINDS = ("float8", "float4", "bits", "quantized", "narrow")
ALL = (1 << len(KINDS)) - 1  # the bits of a row that accepts every kind


def accepted(row: Row) -> int:
    """A bit for each kind that the row accepts."""
    if row.elementwise and set(row.elementwise.dtypes) & set(FLOAT8):
        kinds = ("float8",)
    elif row.stored:
        kinds = KINDS if row.stored == "all" else tuple(row.stored.split())
    else:
        kinds = KINDS if row.composite or row.view else ()
    if unknown := set(kinds) - set(KINDS):
        raise ValueError(
            f"{row.where}: the row {row.name} has stored={row.stored!r}; unknown are {', '.join(unknown)}"
        )
    return sum(1 << KINDS.index(kind) for kind in kinds)


def reported(row: Row) -> str:
    """The kernel's name in the error about an element type."""
    return row.reported or f"{row.base.strip('_')}_cpu"
