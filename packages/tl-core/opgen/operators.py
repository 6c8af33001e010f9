"""The operator table: `generated/operators.cpp`, and the typed C++ calls: `generated/ops.h`."""

from __future__ import annotations

import json
from dataclasses import dataclass

from opgen.row import Row
from opgen.schema import Arg, Schema
from opgen.stored_dtypes import accepted, reported

CPP_ARGUMENT = {
    "Tensor": ("const Tensor&", "OptTensor"),
    "Tensor[]": ("TensorList", "std::optional<TensorList>"),
    "Tensor?[]": ("TensorList", "TensorList"),
    "Operand": ("const Operand&", "const std::optional<Operand>&"),
    "Scalar": ("const Scalar&", "const std::optional<Scalar>&"),
    "Scalar[]": ("std::span<const TlValue>", "std::optional<std::span<const TlValue>>"),
    "bool": ("bool", "std::optional<bool>"),
    "bool[]": ("std::span<const uint8_t>", "std::optional<std::span<const uint8_t>>"),
    "int": ("int64_t", "std::optional<int64_t>"),
    "int[]": ("IntSpan", "std::optional<IntSpan>"),
    "float": ("double", "std::optional<double>"),
    "float[]": ("std::span<const double>", "std::optional<std::span<const double>>"),
    "str": ("std::string_view", "std::optional<std::string_view>"),
    "ScalarType": ("DType", "std::optional<DType>"),
    "Device": ("Device", "std::optional<Device>"),
    "Layout": ("Layout", "std::optional<Layout>"),
    "MemoryFormat": ("MemoryFormat", "std::optional<MemoryFormat>"),
    "Generator": ("Generator*", "Generator*"),
}
CPP_RESULT = {"Tensor": "Tensor", "Tensor[]": "std::vector<Tensor>", "Scalar": "Scalar", "bool": "bool",
              "int": "int64_t", "float": "double", "ScalarType": "DType"}  # fmt: skip
# These arguments of a factory are one parameter in C++.
FACTORY_OPTIONS = [
    ("ScalarType", "dtype"),
    ("Layout", "layout"),
    ("Device", "device"),
    ("bool", "pin_memory"),
]
VARIANT = {"functional": "TL_FUNCTIONAL", "inplace": "TL_INPLACE", "out": "TL_OUT"}


class Form:
    """One operator of a row, with its place in the table."""

    def __init__(self, row: Row, variant: str, schema: Schema, index: int):
        self.row, self.variant, self.schema, self.index = row, variant, schema, index


def forms(rows: list[Row]) -> list[Form]:
    """Every operator of every row, numbered."""
    flat = [(row, variant, schema) for row in rows for variant, schema in row.forms()]
    return [Form(row, variant, schema, i) for i, (row, variant, schema) in enumerate(flat)]


def c_string(text: str) -> str:
    """A C string literal."""
    return json.dumps(text, ensure_ascii=True)


# ---- operators.cpp -------------------------------------------------------------------------------------------------


def operators_cpp(rows: list[Row], programs: dict[str, str]) -> str:
    """`programs` maps an operator's name to the C++ expression of its derivative program's address."""
    table = forms(rows)
    by_row = {(f.row.name, f.variant): f.index for f in table}
    by_name = {f.schema.name: f.index for f in table}
    kernels = sorted({k for r in rows for k in (r.kernel, sparse_kernel(r)) if k})
    lines = [
        '#include "dispatch/operator.h"',
        '#include "elementwise_defs.h"',
        '#include "programs.h"',
        "",
        "namespace tl {",
    ]
    lines += [f"int kernel_{k}(void*, const TlValue*, int, TlValue*, int) noexcept;" for k in kernels]
    lines.append("namespace {")
    for f in table:
        lines += _argument_tables(f)
    lines += ["}  // namespace", "extern const OperatorDef kOperatorDefs[] = {"]
    lines += [_definition(f, by_row, by_name, programs) for f in table]
    lines += [
        "};",
        f"extern const int kNumOperatorDefs = {len(table)};",
        f"Operator g_operators[{max(len(table), 1)}];",
        "extern const bool kReadsElements[];",
        f"const bool kReadsElements[] = {{{', '.join(str(f.row.reads_elements).lower() for f in table)}}};",
    ]
    return "\n".join([*lines, "}  // namespace tl", ""])


def _argument_tables(f: Form) -> list[str]:
    i, lines = f.index, []
    if f.schema.args:
        lines.append(f"const TlArgInfo args{i}[] = {{{', '.join(map(_arg_info, f.schema.args))}}};")
        defaults = []
        for k, a in enumerate(f.schema.args):
            if a.default and a.default.startswith("["):
                lines.append(f"const int64_t list{i}_{k}[] = {{{a.default[1:-1] or '0'}}};")
            defaults.append(_default(a, f"list{i}_{k}"))
        lines.append(f"const TlValue defaults{i}[] = {{{', '.join(defaults)}}};")
    if f.schema.rets:
        lines.append(f"const TlArgInfo rets{i}[] = {{{', '.join(map(_arg_info, f.schema.rets))}}};")
    return lines


def _arg_info(a: Arg) -> str:
    alias = ord(a.alias) - ord("a") + 1 if a.alias else 0
    flags = (a.optional, alias, a.written, a.keyword_only, a.default is not None)
    return f"{{{c_string(a.name)}, TL_ARG_{a.kind}, {', '.join(str(int(x)) for x in flags)}}}"


def _default(a: Arg, list_name: str) -> str:
    text = a.default
    if text is None or text == "None":
        return "{TL_NONE, 0, {0}}"
    if text in ("True", "False"):
        return f"{{TL_BOOL, 0, {{{int(text == 'True')}}}}}"
    if text.startswith("["):
        count = len([x for x in text[1:-1].split(",") if x.strip()])
        return f"{{TL_INT_LIST, {count}, {{.p = {list_name}}}}}"
    if a.type == "str":
        return f"{{TL_STRING, {len(text) - 2}, {{.p = {c_string(text[1:-1])}}}}}"
    if a.type == "MemoryFormat":
        return f"{{TL_MEMORY_FORMAT, 0, {{TL_{text.upper()}}}}}"
    if a.type == "int[]":
        raise ValueError(f"the default of {a.name} must be a list, got {text}")
    if a.type == "float" or any(c in text for c in ".e"):
        return f"{{TL_FLOAT, 0, {{.f = {float(text)!r}}}}}"
    return f"{{TL_INT, 0, {{{int(text)}}}}}"


def _definition(f: Form, by_row: dict, by_name: dict[str, int], programs: dict[str, str]) -> str:
    row, s = f.row, f.schema
    reason = (
        row.grad.removeprefix("none:") if isinstance(row.grad, str) and row.grad.startswith("none:") else ""
    )
    functional = by_row.get((row.name, "functional"), f.index)
    info = [
        c_string(s.name), c_string(str(s)), str(len(s.args)), str(len(s.rets)),
        f"args{f.index}" if s.args else "nullptr", f"rets{f.index}" if s.rets else "nullptr", VARIANT[f.variant],
        str(int(row.view)), str(int(row.random)), "nullptr", programs.get(s.name, "nullptr"),
        c_string(reason) if reason else "nullptr", str(int(row.composite)),
    ]  # fmt: skip
    ctx = _context(row, by_name)
    others = [functional] + [by_row.get((row.name, v), -1) for v in ("inplace", "out")]
    defaults = f"defaults{f.index}" if s.args else "nullptr"
    conj_neg_bits = (
        "Inherited"
        if row.view
        else "Visible"
        if row.marked or (row.composite and row.returns_views)
        else "Resolved"
    )
    sparse = sparse_kernel(row)
    devices = "Numbers" if row.elementwise and row.devices == "CpuMeta" else row.devices
    return (f"    {{{{{', '.join(info)}}}, {defaults}, kernel_{row.kernel}, {ctx}, Devices::{devices}, "
            f"ConjNegBits::{conj_neg_bits}, Autocast::{row.autocast.capitalize() or 'None'}, "
            f"{f'kernel_{sparse}' if sparse else 'nullptr'}, {', '.join(map(str, others))}, "
            f"{accepted(row):#x}, {c_string(reported(row))}}},")  # fmt: skip


def sparse_kernel(row: Row) -> str:
    """The symbol of the function that runs the row for sparse tensors; "" where it is refused."""
    return row.kernel if row.sparse == "itself" else row.sparse


def _context(row: Row, by_name: dict[str, int]) -> str:
    """What the kernel is given to know which of its rows is called."""
    if row.elementwise:
        return f"&kElementwise_{row.elementwise.function}_{row.schema.base}"
    return f"&g_operators[{by_name[row.each]}]" if row.each else "nullptr"


# ---- ops.h ---------------------------------------------------------------------------------------------------------


def ops_h(rows: list[Row]) -> str:
    """`tl::ops::add(self, other, alpha)`: the typed C++ call of every operator."""
    declared = [f"{_typed_head(f, defaults=True)};" for f in _typed(rows)]
    return _in_ops(["#pragma once", '#include "dispatch/operator.h"'], declared)


def ops_cpp(rows: list[Row]) -> str:
    """Their definitions, apart: a hundred files read the header, and each would compile them all."""
    return _in_ops(['#include "ops.h"'], [_typed_call(f) for f in _typed(rows)])


def _typed(rows: list[Row], declared: bool = True) -> list[Form]:
    chosen = [f for f in forms(rows) if f.row.declared == declared]
    return [f for f in chosen if all(a.type in CPP_ARGUMENT for a in f.schema.args)]


def _in_ops(head: list[str], lines: list[str]) -> str:
    return "\n".join([*head, "", "namespace tl::ops {", *lines, "}  // namespace tl::ops", ""])


def cpp_name(schema: Schema) -> str:
    """`add` for add.Tensor, `sum_dim_IntList` for sum.dim_IntList."""
    overload = "" if schema.overload in ("", "Tensor") else schema.overload
    return schema.base + (f"_{overload}" if overload else "")


def _result_type(schema: Schema) -> str:
    types = [CPP_RESULT[r.type] for r in schema.rets]
    if not types:
        return "void"
    return types[0] if len(types) == 1 else f"std::tuple<{', '.join(types)}>"


@dataclass(frozen=True)
class Parameter:
    """A parameter of an operator's C++ function: one argument of the schema, or all that are factory options."""

    type: str
    name: str
    default: str | None
    index: int  # of its first argument
    arguments: list[str]  # how its arguments are read from it


def _parameters(schema: Schema) -> list[Parameter]:
    kinds = [(a.type, a.name) for a in schema.args]
    found, i = [], 0
    while i < len(kinds):
        if kinds[i : i + len(FACTORY_OPTIONS)] == FACTORY_OPTIONS:
            fields = [f"options.{name}" for _, name in FACTORY_OPTIONS]
            found.append(Parameter("const FactoryOptions&", "options", "{}", i, fields))
            i += len(FACTORY_OPTIONS)
            continue
        a = schema.args[i]
        name = f"{a.name}_" if a.name in ("from", "new", "default") else a.name
        found.append(Parameter(CPP_ARGUMENT[a.type][a.optional], name, _cpp_default(a), i, [name]))
        i += 1
    return found


def _typed_head(f: Form, defaults: bool) -> str:
    parameters = _parameters(f.schema)
    texts = [f"{p.type} {p.name}" for p in parameters]
    for i in range(len(texts) - 1, -1, -1) if defaults else ():
        default = parameters[i].default
        if default is None:
            break
        texts[i] += f" = {default}"
    return f"{_result_type(f.schema)} {cpp_name(f.schema)}({', '.join(texts)})"


def _typed_call(f: Form) -> str:
    arguments = [text for p in _parameters(f.schema) for text in p.arguments]
    call = f"call_typed<{_result_type(f.schema)}>({', '.join([f'g_operators[{f.index}]', *arguments])})"
    return f"{_typed_head(f, defaults=False)} {{ return {call}; }}"


def _cpp_default(a: Arg) -> str | None:
    if a.default is None:
        return None
    if a.default == "None":
        return (
            "nullptr"
            if a.type in ("Tensor", "Generator")
            else "{}"
            if a.type == "Tensor?[]"
            else "std::nullopt"
        )
    if a.default.startswith("["):
        return "IntSpan()" if a.default == "[]" else None
    if a.type == "str":
        return c_string(a.default[1:-1])
    if a.type == "MemoryFormat":
        return f"MemoryFormat::{''.join(w.title() for w in a.default.split('_'))}"
    text = {"True": "true", "False": "false"}.get(a.default, a.default)
    return f"Scalar({text})" if a.type == "Scalar" else text


# ---- kernel_args.h -------------------------------------------------------------------------------------------------

MANY_ARGUMENTS = 8


def kernel_args_h(rows: list[Row], declared: bool = True) -> str:
    """`tl::XArgs`: the arguments of each row with many, as one struct that its kernel function takes.

    Args:
        rows: the operators.
        declared: whether the rows are those of ops.h, or the others.
    """
    kernels = [f for f in _typed(rows, declared) if f.variant == "functional" or f.row.writes_self]
    many = [f for f in kernels if len(_parameters(f.schema)) >= MANY_ARGUMENTS]
    head = ["#pragma once", '#include "dispatch/operator.h"', "", "namespace tl {"]
    public = {cpp_name(f.schema) for f in many}
    structs = [line for f in many for line in _args_struct(f, _args_name(cpp_name(f.schema), public))]
    return "\n".join([*head, *structs, "}  // namespace tl", ""])


def _args_name(operator: str, operators: set[str]) -> str:
    """`XArgs` for x and _x; `XCoreArgs` for an _x beside an x."""
    core = "Core" if operator.startswith("_") and operator[1:] in operators else ""
    return "".join(w[:1].upper() + w[1:] for w in operator.split("_")) + core + "Args"


def _field_type(type_: str) -> str:
    """The type of a field. A tensor lies in the call, and other values are read from it as temporary ones."""
    is_value = type_.startswith("const ") and type_ != "const Tensor&"
    return type_.removeprefix("const ").removesuffix("&") if is_value else type_


def _args_struct(f: Form, name: str) -> list[str]:
    """The struct, and how it is read from a call; trailing `want_*` booleans are its gradient mask."""
    parameters = _parameters(f.schema)
    first_want = len(parameters)
    while first_want and parameters[first_want - 1].name.startswith("want_"):
        first_want -= 1
    fields = [f"  {_field_type(p.type)} {p.name};" for p in parameters[:first_want]]
    if first_want < len(parameters):
        wants = ", ".join(p.name.removeprefix("want_") for p in parameters[first_want:])
        fields += ["  struct GradMask {", f"    bool {wants};", "  } want;"]
    reads = [f"Unbox<detail::Bare<{p.type}>>::get(a[{p.index}])" for p in parameters]
    mask = [f"{{{', '.join(reads[first_want:])}}}"] if first_want < len(parameters) else []
    return [
        f"struct {name} {{", *fields, "};",
        "template <>", f"struct Unbox<{name}> {{",
        f"  static {name} get(const TlValue& first) {{",
        "    const TlValue* a = &first;",
        f"    return {{{', '.join(reads[:first_want] + mask)}}};",
        "  }", "};",
    ]  # fmt: skip
