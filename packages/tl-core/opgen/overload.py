"""Which row a name in a formula means."""

from __future__ import annotations

from opgen.row import Row
from opgen.schema import Arg

NAMED = {"dtype": "ScalarType", "device": "Device", "layout": "Layout"}


class Resolver:
    """Finds rows by public name and binds a call's arguments to them. A value needs a `kind`, see `fits`."""

    def __init__(self, rows: list[Row]):
        self.by_name: dict[str, list[Row]] = {}
        for row in rows:
            for name in (row.base, *row.aliases):
                self.by_name.setdefault(name, []).append(row)

    def bind(self, name: str, args: list, keywords: dict) -> tuple[Row, dict]:
        """The first overload that takes the arguments, and the arguments by name; raises LookupError.

        Only a name that ends in an underscore means a row that writes its first argument.
        """
        candidates = [r for r in self.by_name.get(name, ()) if name.endswith("_") or not r.writes_self]
        if not candidates:
            raise LookupError(f"calls {name!r}: there is no such row")
        for row in candidates:
            bound = _bind(row, args, keywords)
            if bound is not None:
                return row, bound
        shown = ", ".join([a.kind for a in args] + [f"{k}={v.kind}" for k, v in keywords.items()])
        raise LookupError(
            f"no overload of {name!r} takes ({shown}): {', '.join(str(r.schema) for r in candidates)}"
        )


def _bind(row: Row, args: list, keywords: dict) -> dict | None:
    positional = [a for a in row.args if not a.keyword_only]
    if len(args) > len(positional):
        return None
    bound = {a.name: v for a, v in zip(positional, args)}
    if bound.keys() & keywords.keys() or keywords.keys() - {a.name for a in row.args}:
        return None
    bound.update(keywords)
    for a in row.args:
        if a.name in bound:
            if not fits(a, bound[a.name].kind):
                return None
        elif a.default is None and not (a.optional and a.keyword_only):
            return None
    return bound


def fits(arg: Arg, kind: str) -> bool:
    """Whether an argument takes a value known to be a tensor, operand, tensors, none, bool, int, float,
    dtype, device, layout, list or value."""
    if kind == "none":
        return arg.optional
    if kind == "value":
        return not arg.is_tensor_list and arg.type != "Tensor"
    if kind in ("tensor", "operand"):
        return arg.is_tensor
    if kind == "tensors":
        return arg.is_tensor_list
    if kind == "list":
        return arg.type.endswith("[]")
    if kind in NAMED:
        return arg.type == NAMED[kind]
    numbers = {"bool": ("bool",), "int": ("int", "float", "bool"), "float": ("float",)}[kind]
    return arg.type in (*numbers, "Scalar", "Operand", "Any") or (kind == "int" and arg.count > 0)
