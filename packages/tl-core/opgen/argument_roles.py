"""The meaning of an argument for rules of batches, where dimensions are counted."""

from __future__ import annotations

from opgen.row import Row
from opgen.schema import Arg

DIM_NAMES = ("dim", "dim0", "dim1", "dim2", "dimension", "axis")
DIMS_NAMES = ("dim", "dims", "axes")
SIZE_NAMES = ("size", "sizes", "shape", "input_sizes")


def role(arg: Arg, row_name: str) -> str:
    """A `TlArgRole` without its prefix."""
    if arg.type == "int" and arg.name in DIM_NAMES:
        return "DIM"
    if arg.type == "int[]" and arg.name in DIMS_NAMES:
        none_are_all = arg.optional or arg.default is not None or row_name == "logsumexp"
        return "DIMS" if arg.name == "dim" and none_are_all else "SOME"
    if arg.type == "int[]" and (arg.name in SIZE_NAMES or (arg.name == "input_size" and arg.count >= 3)):
        return "SIZES"
    return "PLAIN"


def roles(row: Row) -> list[str]:
    """The role of each argument of a row."""
    return [role(arg, row.name) for arg in row.args]
