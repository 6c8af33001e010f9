"""The stub of the native module, `_C.pyi`: its types, the functions and methods of the rows, their named results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from opgen.operators import Form
from opgen.python_names import by_position, spellings
from opgen.python_table import Function, functions, python_name
from opgen.row import Row
from opgen.schema import Arg, Schema

_NAMESPACES = ("_nn", "_linalg", "_fft", "_special")
# Methods whose types are in `tensor.pyi`.
_BY_HAND = frozenset(
    re.findall(r"^    def (\w+)\(", (Path(__file__).parent / "tensor.pyi").read_text(), re.M)
)


def native_pyi(rows: list[Row]) -> str:
    """The stub: its types from `native.pyi` and `tensor.pyi`, then the functions and the Tensor methods."""
    folder = Path(__file__).parent
    table = functions(rows)
    flat = [f for f in table if not f.namespace]
    lines = [(folder / "native.pyi").read_text(), *_results(table), "", (folder / "tensor.pyi").read_text()]
    lines += [line for f in flat if f.function for line in _stubs(f, False, "")]
    for namespace in _NAMESPACES:
        lines += ["", f"class {namespace}:"]
        for f in (f for f in table if f.namespace == namespace and f.function):
            lines += _stubs(f, False, "    ", "@staticmethod")
    lines += ["", "class TensorOps:"]
    for f in (f for f in flat if f.method and f.name not in _BY_HAND):
        lines += _stubs(f, True, "    ")
    return "\n".join([*lines, ""])


def result_name(schema: Schema) -> str | None:
    """The class of an operator's named results, which `return_types` serves without the prefix; None for a tuple."""
    named = len(schema.rets) > 1 and schema.rets[0].name and not schema.rets[0].name.startswith("o")
    return f"_result_{schema.base}" if named else None


def _results(table: list[Function]) -> list[str]:
    """One named tuple for each operator with named results."""
    classes = {}
    for schema in (o.schema for f in table for o in f.overloads):
        if name := result_name(schema):
            classes[name] = [f"    {r.name}: {_type_of_result(r)}" for r in schema.rets]
    return [line for name in sorted(classes) for line in ("", f"class {name}(NamedTuple):", *classes[name])]


def _stubs(f: Function, method: bool, indent: str, *decorators: str) -> list[str]:
    """One definition for each overload."""
    overloads = f.methods if method else f.overloads
    lines = [*decorators, "@overload"] if len(overloads) > 1 else list(decorators)
    return [
        f"{indent}{line}"
        for o in overloads
        for line in (*lines, f"def {f.name}{_typed(o, method, f.name)}: ...")
    ]


def _typed(form: Form, method: bool, public: str) -> str:
    parts, starred = ["self"] if method else [], False
    spelled, loose = spellings(public, method), by_position(public)
    args = form.schema.args[1:] if method else form.schema.args
    for i, a in enumerate(args):
        if a.keyword_only and not loose and not starred:
            parts.append("*")
            starred = True
        default = " = ..." if a.default is not None or (a.optional and a.keyword_only) else ""
        name = python_name(a, spelled)
        if _may_be_spread(args, i):
            parts += [f"{name}: builtins.int | {_hint(a)}", "*more: builtins.int"]
            starred = True
        else:
            parts.append(f"{name}: {_hint(a)}{default}")
    named = []
    if any(a.name == "pin_memory" for a in args):
        named = ["requires_grad: builtins.bool = ...", "names: Sequence[str | None] | None = ..."]
    if form.row.out and not method and form.variant == "functional":
        named.append(f"out: {_out(form.schema)} = ...")
    parts += (["*"] if named and not starred else []) + named
    return f"({', '.join(parts)}) -> {_returned(form.schema)}"


def _may_be_spread(args: Sequence[Arg], i: int) -> bool:
    """`view(2, 3)`: a leading list of sizes may be written out where nothing positional follows."""
    return i == 0 and args[0].type == "int[]" and all(a.keyword_only for a in args[1:])


def _hint(a: Arg) -> str:
    """The type of an argument; the module's own `bool` is a dtype, and dimensions may be given by name."""
    hint = re.sub(r"\b(bool|int|float|complex)\b", r"builtins.\1", a.python_type)
    by_name = "dim" in a.name and a.type in ("int", "int[]")
    return hint.replace("builtins.int", "builtins.int | str") if by_name else hint


def _returned(schema: Schema) -> str:
    types = [_type_of_result(r) for r in schema.rets]
    if not types:
        return "None"
    return types[0] if len(types) == 1 else result_name(schema) or f"tuple[{', '.join(types)}]"


def _type_of_result(result: Arg) -> str:
    names = {"Tensor[]": "tuple[Tensor, ...]", "Scalar": "Number"}
    return names.get(result.type) or _hint(replace(result, optional=False))


def _out(schema: Schema) -> str:
    """The type of `out=`: a tensor, or a sequence of as many tensors as there are results."""
    return "Tensor | None" if len(schema.rets) == 1 else "Sequence[Tensor] | None"
