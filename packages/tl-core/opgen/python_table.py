"""What the binding needs: `generated/python_table.cpp`, and the same facts for people: `_ops.json`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace

from opgen import doc
from opgen.operators import Form, c_string, forms
from opgen.python_names import SHOWN_METHOD, by_position, spellings, standard_keyword
from opgen.row import Row
from opgen.schema import Arg


@dataclass
class Function:
    """One Python name: its overloads in the order in which they are tried."""

    name: str
    namespace: str
    overloads: list[Form] = field(default_factory=list)
    function: bool = False
    method: bool = False

    @property
    def methods(self) -> list[Form]:
        """The overloads that a tensor's method reaches."""
        return [o for o in self.overloads if _is_method(o)]

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
            f.function |= (form.row.function and _is_function(form)) or name in _FUNCTIONS
            f.method |= _is_method(form)
    for namespace, name, first in _second_names(rows):
        overloads = [o for o in found["", first].overloads if _is_function(o)]
        found[namespace, name] = Function(name, namespace, overloads, function=True)
    return list(found.values())


def _second_names(rows: list[Row]) -> list[tuple[str, str, str]]:
    """(namespace, name, the operator's name): of torch.special, first names that the operator has as well."""
    names = []
    for row in rows:
        for name in row.second_names:
            module, _, rest = name.partition("_")
            names.append((module == "linalg", rest != row.base, name, f"_{module}", row.base))
    return [(namespace, name, base) for *_, name, namespace, base in sorted(names)]


def _is_method(form: Form) -> bool:
    return form.row.method and bool(form.schema.args) and form.schema.args[0].name == "self"


def _public_names(form: Form) -> list[str]:
    tail = "_" if form.variant == "inplace" and not form.row.writes_self else ""
    return [form.schema.base, *(alias + tail for alias in form.row.aliases)]


# In-place forms of functions of several tensors that the reference has as functions.
_FUNCTIONS = frozenset(
    {"addmv_", "as_strided_", "clamp_max_", "clamp_min_", "gcd_", "lcm_", "ldexp_", "xlogy_"}
)


def _is_function(form: Form) -> bool:
    """In-place forms of functions of one tensor are functions too, as in the reference (`torch.exp_`); a row that is
    nothing but in-place says so itself."""
    if form.variant == "functional" or form.row.writes_self:
        return True
    one_tensor = sum(a.is_tensor for a in form.schema.args) == 1
    return one_tensor or form.schema.base.startswith("_")


# ---- signatures ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """One parameter as Python shows it."""

    name: str
    default: str | None = None  # None: it must be given
    keyword_only: bool = False

    def __str__(self) -> str:
        return self.name if self.default is None else f"{self.name}={self.default}"


def signature(form: Form, method: bool, name: str) -> str:
    """One overload, under a public name."""
    if form.row.shown and not method and form.variant == "functional":
        return f"({readable(form.row.shown)})"
    return shown(parameters(form, method, name), method)


def merged_signature(f: Function, method: bool) -> str:
    """The text inspect.signature reads: one list that covers all overloads."""
    overloads = f.methods if method else f.overloads
    if method and f.name in SHOWN_METHOD:
        return f"($self, {SHOWN_METHOD[f.name]})"
    listed = merged([parameters(o, method, f.name) for o in overloads])
    more = [] if method else standard_keywords(f.name, listed)
    if not method and overloads[0].row.shown and overloads[0].variant == "functional":
        text = signature(overloads[0], method, f.name).removesuffix(")")
        return ", ".join([text, *map(str, more)]) + ")"
    return shown([*listed, *more], method)


def standard_keywords(name: str, listed: list[Parameter]) -> list[Parameter]:
    """The array API's keywords beside `dim` and `keepdim`, where these are optional."""
    optional = [(standard_keyword(name, p.name), p) for p in listed if p.default is not None]
    return [Parameter(keyword, p.default, keyword_only=True) for keyword, p in optional if keyword]


def merged(lists: list[list[Parameter]]) -> list[Parameter]:
    """The positional parameters of the longest list, then all others as keywords; what one list lacks is optional."""
    positional = [[p for p in one if not p.keyword_only] for one in lists]
    main = max(positional, key=len)
    found = {p.name: replace(p, keyword_only=False) for p in main}
    for p in (p for one in lists for p in one):
        found.setdefault(p.name, replace(p, keyword_only=True))
    optional, made = False, []
    for p in found.values():
        same = [q for one in lists for q in one if q.name == p.name]
        default = next((q.default for q in same if q.default is not None), None)
        optional = optional and not p.keyword_only
        if default is None and (optional or len(same) < len(lists)):
            default = "None"
        optional = optional or default is not None
        made.append(replace(p, default=default))
    return [p for p in made if p.name != "out"] + [p for p in made if p.name == "out"]


def shown(listed: list[Parameter], method: bool) -> str:
    """`($self, dim, *, out=None)`."""
    parts, starred = ["$self"] if method else [], False
    for p in listed:
        if p.keyword_only and not starred:
            parts.append("*")
            starred = True
        parts.append(str(p))
    return f"({', '.join(parts)})"


def parameters(form: Form, method: bool, name: str) -> list[Parameter]:
    """What one overload takes under a public name."""
    spelled, loose = spellings(name, method), by_position(name)
    args = form.schema.args[1:] if method else form.schema.args
    made = [Parameter(python_name(a, spelled), _shown_default(a), a.keyword_only and not loose) for a in args]
    if any(a.name == "pin_memory" for a in form.schema.args):
        made.append(Parameter("requires_grad", "False", True))
    if form.row.out and not method and form.variant == "functional":
        made.append(Parameter("out", "None", True))
    return made


def python_name(a: Arg, spelled: dict[str, str]) -> str:
    """A list of tensors is called self even in a function; `from` is a word of the language."""
    if a.name in spelled:
        return spelled[a.name]
    if a.name == "self" and not a.is_tensor_list:
        return "input"
    return "from_" if a.name == "from" else a.name


def readable(parameters: str) -> str:
    """What `inspect` can read: defaults that are constants (an omitted layout is as good as None)."""
    return re.sub(r"=torch\.\w+", "=None", parameters)


def _shown_default(a: Arg) -> str | None:
    if a.default is None:
        return "None" if a.optional and a.keyword_only else None
    if a.default.startswith("["):
        items = [x.strip() for x in a.default[1:-1].split(",") if x.strip()]
        return f"({', '.join(items)}{',' if items else ''})"
    return "None" if a.type == "MemoryFormat" else a.default


def docstring(f: Function, method: bool) -> str:
    """Signature line for inspect, then the text."""
    overloads = f.methods if method else f.overloads
    if not overloads:
        return ""
    signatures = [f.name + signature(o, method, f.name) for o in overloads]
    return f"{f.name}{merged_signature(f, method)}\n--\n\n{doc.text(overloads, signatures, spellings(f.name, method))}"


# ---- C++ -----------------------------------------------------------------------------------------------------------


def python_table_cpp(rows: list[Row]) -> str:
    """The function table and one C entry point a name."""
    table = functions(rows)
    lines = ['#include "bind/function.h"', "", "namespace tl::bind {", "namespace {"]
    for i, f in enumerate(table):
        lines.append(f"const uint16_t overloads{i}[] = {{{', '.join(str(o.index) for o in f.overloads)}}};")
        lines += [_spellings(f, i, method) for method in (False, True) if spellings(f.name, method)]
    lines += ["}  // namespace", "const FunctionDef kFunctions[] = {"]
    for i, f in enumerate(table):
        lines.append(
            f"    {{{c_string(f.name)}, {c_string(f.namespace)}, overloads{i}, {len(f.overloads)}, "
            f"{str(f.function).lower()}, {str(f.method).lower()}, {_spelled(f, i)}, "
            f"{str(by_position(f.name)).lower()}, {c_string(docstring(f, False))}, "
            f"{c_string(docstring(f, True))}, &entry_function<{i}>, "
            f"&entry_method<{i}>}},"
        )
    lines += [
        "};",
        f"const int kNumFunctions = {len(table)};",
        f"PyObject* g_function_objects[{len(table)}][2];",
    ]
    return "\n".join([*lines, "}  // namespace tl::bind", ""])


def _spellings(f: Function, i: int, method: bool) -> str:
    """The table of the manual's names, ended by a null."""
    pairs = [f"{{{c_string(to)}, {c_string(name)}}}" for name, to in spellings(f.name, method).items()]
    return f"const Spelling spelled{i}_{int(method)}[] = {{{', '.join(pairs)}, {{nullptr, nullptr}}}};"


def _spelled(f: Function, i: int) -> str:
    tables = [f"spelled{i}_{int(m)}" if spellings(f.name, m) else "nullptr" for m in (False, True)]
    return ", ".join(tables)


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
                "signature": merged_signature(f, kind == "method").replace("$self", "self"),
                "schemas": [str(o.schema) for o in f.overloads],
            })  # fmt: skip
    return json.dumps(entries, indent=1)
