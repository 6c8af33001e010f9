"""What the binding needs: `generated/python_table.cpp`, and the same facts for people: `_ops.json` and `_C.pyi`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from opgen import doc
from opgen.operators import Form, c_string, forms
from opgen.row import Row
from opgen.schema import Arg, Schema


@dataclass
class Function:
    """One Python name: its overloads in the order in which they are tried."""

    name: str
    namespace: str
    overloads: list[Form] = field(default_factory=list)
    function: bool = False
    method: bool = False

    @property
    def doc(self) -> str:
        """The text of the row that says it first."""
        return next((o.row.doc for o in self.overloads if o.row.doc), "")


def functions(rows: list[Row]) -> list[Function]:
    """Every Python function and method; `out=` forms belong to the functional name."""
    found: dict[tuple[str, str], Function] = {}
    for form in forms(rows):
        if form.variant == "out":
            continue
        for name in _public_names(form):
            f = found.setdefault((form.row.namespace, name), Function(name, form.row.namespace))
            f.overloads.append(form)
            f.function |= form.row.function and _is_function(form)
            f.method |= form.row.method and form.schema.args[:1] != () and form.schema.args[0].name == "self"
    return list(found.values())


def _public_names(form: Form) -> list[str]:
    tail = "_" if form.variant == "inplace" and not form.row.writes_self else ""
    return [form.schema.base, *(alias + tail for alias in form.row.aliases)]


def _is_function(form: Form) -> bool:
    """In-place forms of functions of one tensor are functions too, as in the reference (`torch.exp_`); a row that is
    nothing but in-place says so itself."""
    if form.variant == "functional" or form.row.writes_self:
        return True
    one_tensor = sum(a.is_tensor for a in form.schema.args) == 1
    return one_tensor or form.schema.base.startswith("_")


# ---- signatures ----------------------------------------------------------------------------------------------------


def signature(form: Form, method: bool) -> str:
    """The text inspect.signature reads."""
    if form.row.shown and not method and form.variant == "functional":
        return f"({readable(form.row.shown)})"
    parts = ["$self"] if method else []
    starred = False
    args = form.schema.args[1:] if method else form.schema.args
    for a in args:
        if a.keyword_only and not starred:
            parts.append("*")
            starred = True
        parts.append(_parameter(a))
    if form.row.out and not method and form.variant == "functional":
        parts += ([] if starred else ["*"]) + ["out=None"]
    return f"({', '.join(parts)})"


def readable(parameters: str) -> str:
    """What `inspect` can read: defaults that are constants (an omitted layout is as good as None)."""
    return re.sub(r"=torch\.\w+", "=None", parameters)


def _parameter(a: Arg) -> str:
    name = {"self": "input", "from": "from_"}.get(a.name, a.name)
    if a.default is None:
        return f"{name}=None" if a.optional and a.keyword_only else name
    default = a.default
    if default.startswith("["):
        items = [x.strip() for x in default[1:-1].split(",") if x.strip()]
        default = f"({', '.join(items)}{',' if items else ''})"
    return f"{name}={'None' if a.type == 'MemoryFormat' else default}"


def docstring(f: Function, method: bool) -> str:
    """Signature line for inspect, then the text."""
    signatures = [f.name + signature(o, method) for o in f.overloads]
    return f"{signatures[0]}\n--\n\n{doc.text(f.overloads, signatures)}"


# ---- C++ -----------------------------------------------------------------------------------------------------------


def python_table_cpp(rows: list[Row]) -> str:
    """The function table and one C entry point a name."""
    table = functions(rows)
    lines = ['#include "bind/function.h"', "", "namespace tl::bind {", "namespace {"]
    for i, f in enumerate(table):
        lines.append(f"const uint16_t overloads{i}[] = {{{', '.join(str(o.index) for o in f.overloads)}}};")
    lines += ["}  // namespace", "const FunctionDef kFunctions[] = {"]
    for i, f in enumerate(table):
        lines.append(
            f"    {{{c_string(f.name)}, {c_string(f.namespace)}, overloads{i}, {len(f.overloads)}, "
            f"{str(f.function).lower()}, {str(f.method).lower()}, {c_string(docstring(f, False))}, "
            f"{c_string(docstring(f, True))}, &entry_function<{i}>, "
            f"&entry_method<{i}>}},"
        )
    lines += [
        "};",
        f"const int kNumFunctions = {len(table)};",
        f"PyObject* g_function_objects[{len(table)}][2];",
    ]
    return "\n".join([*lines, "}  // namespace tl::bind", ""])


# ---- for people ----------------------------------------------------------------------------------------------------


def ops_json(rows: list[Row]) -> str:
    """[{name, kind, signature, doc, ...}] of every public function and method, for reference pages and tests."""
    entries = []
    for f in functions(rows):
        for kind, wanted in (("function", f.function), ("method", f.method)):
            if not wanted:
                continue
            entries.append({
                "name": f.name, "kind": kind, "namespace": f.namespace, "doc": f.doc,
                "signature": signature(f.overloads[0], kind == "method").replace("$self", "self"),
                "schemas": [str(o.schema) for o in f.overloads],
            })  # fmt: skip
    return json.dumps(entries, indent=1)


def native_pyi(rows: list[Row]) -> str:
    """The stub of the native module: its types from `native.pyi`, then the functions and the Tensor methods."""
    lines = [(Path(__file__).parent / "native.pyi").read_text()]
    table = [f for f in functions(rows) if not f.namespace]
    for f in table:
        if f.function:
            lines += _stubs(f, False, "")
    lines += ["", "class TensorOps:"]
    for f in table:
        if f.method:
            lines += _stubs(f, True, "    ")
    return "\n".join([*lines, ""])


def _stubs(f: Function, method: bool, indent: str) -> list[str]:
    marks = [f"{indent}@overload"] if len(f.overloads) > 1 else []
    return [line for o in f.overloads for line in [*marks, f"{indent}def {f.name}{_typed(o, method)}: ..."]]


def _typed(form: Form, method: bool) -> str:
    parts, starred = ["self"] if method else [], False
    args = form.schema.args[1:] if method else form.schema.args
    for i, a in enumerate(args):
        if a.keyword_only and not starred:
            parts.append("*")
            starred = True
        default = " = ..." if a.default is not None or (a.optional and a.keyword_only) else ""
        name = {"self": "input", "from": "from_"}.get(a.name, a.name)  # `from` is a word of the language
        if _may_be_spread(args, i):
            parts += [f"{name}: builtins.int | {_hint(a)}", "*more: builtins.int"]
            starred = True
        else:
            parts.append(f"{name}: {_hint(a)}{default}")
    if form.row.out and not method and form.variant == "functional":
        parts += ([] if starred else ["*"]) + ["out: Any = ..."]
    return f"({', '.join(parts)}) -> {_returned(form.schema)}"


def _may_be_spread(args: Sequence[Arg], i: int) -> bool:
    """`view(2, 3)`: a leading list of sizes may be written out where nothing positional follows."""
    return i == 0 and args[0].type == "int[]" and all(a.keyword_only for a in args[1:])


def _hint(a: Arg) -> str:
    """The type of an argument; the module's own `bool` is a dtype."""
    return re.sub(r"\b(bool|int|float|complex)\b", r"builtins.\1", a.python_type)


def _returned(schema: Schema) -> str:
    names = {"Tensor[]": "list[Tensor]", "Scalar": "Number"}
    types = [names.get(r.type) or _hint(replace(r, optional=False)) for r in schema.rets]
    if not types:
        return "None"
    return types[0] if len(types) == 1 else f"tuple[{', '.join(types)}]"
