"""The functions of `at::` and the methods of `at::Tensor`, one line each, for extensions in C++."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from opgen.row import Row
from opgen.schema import Arg, Schema

# Type in a schema -> (parameter, parameter that may be None). The short names are macros of the headers.
PARAMETERS = {
    "Tensor": ("tlT", "tlTo"),
    "Tensor[]": ("tlL", "std::optional<tlL>"),
    "Tensor?[]": ("tlLo", "tlLo"),
    "Scalar": ("tlS", "tlSo"),
    "Scalar[]": ("ArrayRef<Scalar>", "ArrayRef<Scalar>"),
    "bool": ("bool", "std::optional<bool>"),
    "bool[]": ("ArrayRef<bool>", "ArrayRef<bool>"),
    "int": ("tlI", "tlIo"),
    "int[]": ("tlA", "tlAo"),
    "float": ("double", "std::optional<double>"),
    "float[]": ("ArrayRef<double>", "std::optional<ArrayRef<double>>"),
    "str": ("tlC", "std::optional<tlC>"),
    "ScalarType": ("ScalarType", "tlDo"),
    "Device": ("Device", "std::optional<Device>"),
    "Layout": ("Layout", "std::optional<Layout>"),
    "MemoryFormat": ("MemoryFormat", "tlMo"),
    "Generator": ("tlGo", "tlGo"),
}
MACROS = {
    "tlT": "const Tensor&",
    "tlTo": "const std::optional<Tensor>&",
    "tlL": "TensorList",
    "tlLo": "const OptionalTensorList&",
    "tlS": "const Scalar&",
    "tlSo": "const std::optional<Scalar>&",
    "tlI": "int64_t",
    "tlIo": "std::optional<int64_t>",
    "tlA": "IntArrayRef",
    "tlAo": "OptionalIntArrayRef",
    "tlC": "std::string_view",
    "tlDo": "std::optional<ScalarType>",
    "tlMo": "std::optional<MemoryFormat>",
    "tlGo": "std::optional<Generator>",
    "tlX": "options.dtype_,options.layout_,options.device_,options.pinned_",
}
RESULTS = {"Tensor": "Tensor", "Tensor[]": "std::vector<Tensor>", "Scalar": "Scalar", "bool": "bool", "int": "tlI",
           "float": "double", "ScalarType": "ScalarType"}  # fmt: skip
# The four arguments that C++ takes as one, of TensorOptions.
OPTIONS = [("ScalarType", "dtype"), ("Layout", "layout"), ("Device", "device"), ("bool", "pin_memory")]
_KEYWORDS = """
default register operator new delete and or not xor int float double bool char union class template this continue break
switch
"""
KEYWORDS = frozenset(_KEYWORDS.split())
# Functions that tensor.hpp writes by hand, because their parameters in C++ are not those of the operator.
_BY_HAND = """
to data contiguous is_contiguous item size stride requires_grad_ retain_grad set_data is_complex is_floating_point
is_signed
is_conj is_neg is_inference type_as dim numel cpu cuda storage_offset element_size
"""
BY_HAND = frozenset(_BY_HAND.split())
# Functions that are no methods.
FUNCTION_PREFIXES = ("fft_", "special_", "linalg_", "_")
METHODS = ("_to_copy",)  # that begin like these, and are called as methods
# Functions over lists that no extension calls: their text would take a tenth of the header.
LEFT_OUT = ("_foreach_",)


@dataclass
class Parameter:
    """A parameter of a function in C++.

    Args:
        type: its type.
        name: its name.
        default: the text after its name, such as `=1`, or "".
        value: what stands for it in the list of arguments, in braces.
    """

    type: str
    name: str
    default: str
    value: str


@dataclass
class Headers:
    """The lines of the two headers."""

    functions: list[str] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)
    _signatures: set[tuple[str, ...]] = field(default_factory=set)

    def add(self, kind: str, name: str, parameters: list[Parameter], line: str) -> bool:
        """Adds a line, unless a function with the same required and all parameters is there.

        Args:
            kind: "functions" or "methods".
            name: the name of the function.
            parameters: its parameters.
            line: the line, with `{parameters}` in it.
        """
        types = tuple(p.type.removeprefix("const ") for p in parameters)
        if (kind, name, "all", *types) in self._signatures:
            return False
        self._signatures.add((kind, name, "all", *types))
        # Of two functions that could be called with the same arguments, the second has fewer defaults.
        while (kind, name, "required", *self._required(parameters)) in self._signatures:
            first = next((p for p in parameters if p.default), None)
            if first is None:
                return False
            first.default = ""
        self._signatures.add((kind, name, "required", *self._required(parameters)))
        texts = ",".join(f"{p.type} {p.name}{p.default}" for p in parameters)
        getattr(self, kind).append(line.replace("{parameters}", texts))
        return True

    @staticmethod
    def _required(parameters: list[Parameter]) -> tuple[str, ...]:
        return tuple(p.type for p in parameters if not p.default)


def functions_hpp(rows: list[Row]) -> str:
    """The header with the functions of `at::`.

    Args:
        rows: the operators.
    """
    return _header("Functions of `at::`", "FUNCTIONS", _headers(rows).functions, namespace=True)


def spaces_hpp(rows: list[Row]) -> str:
    """The header with the functions of `torch::fft`, `torch::linalg` and `torch::special`, under their short names.

    Args:
        rows: the operators.
    """
    functions = _headers(rows).functions
    spaces: dict[str, list[str]] = {}
    for line in functions:
        match = re.match(r"(tl[FWNO]\((?:[^,(]*,)?)(fft|linalg|special)_(\w+)(?=,\")", line)
        if match and match[3] not in KEYWORDS:
            spaces.setdefault(match[2], []).append(f"{match[1]}{match[3]}{line[match.end() :]}")
    lines = []
    for space, listed in spaces.items():
        lines += [f"namespace {space}{{", *listed, "}"]
    return _header("Functions of `torch::fft` and others", "SPACES", lines, namespace=True)


def methods_hpp(rows: list[Row]) -> str:
    """The header with the methods, which `class Tensor` includes.

    Args:
        rows: the operators.
    """
    return _header("Methods of `at::Tensor`", "METHODS", _headers(rows).methods, namespace=False)


def _header(title: str, name: str, lines: list[str], namespace: bool) -> str:
    start = [f"// {title}, from the operators' rows. Written by opgen.", "// clang-format off"]
    start += [f"#define {macro} {text}" for macro, text in MACROS.items()]
    start.append("#define tlP(...) __VA_ARGS__")  # a type with commas
    end = [f"#undef {macro}" for macro in (*MACROS, "tlP")]
    call = "static face::Slot slot_{O,nullptr};"
    write = "face::write(slot_,{*this,##__VA_ARGS__});"
    out = "face::write(slot_,{__VA_ARGS__,out});"

    def new(first: str) -> str:
        return f"face::call<Tensor>(slot_,{{{first}__VA_ARGS__}})"

    if namespace:
        start += [
            f"#define tlF(R,N,O,P,...) inline R N P{{{call}return face::call<R>(slot_,{{__VA_ARGS__}});}}",
            f"#define tlN(N,O,P,...) inline Tensor N P{{{call}return face::finish({new('')},options);}}",
            f"#define tlW(R,N,O,P,V,...) inline R N P{{{call}face::write(slot_,{{__VA_ARGS__}});return V;}}",
            f"#define tlO(N,O,P,...) inline Tensor& N##_out P{{{call}{out}return out;}}",
            "#define tlG(R,N,P,...) inline R N P{return self.N(__VA_ARGS__);}",
            "namespace at{TL_FACE{",
        ]
        end = ["}}", *(f"#undef {m}" for m in ("tlF", "tlN", "tlW", "tlO", "tlG")), *end]
    else:
        start += [
            f"#define tlM(R,N,O,P,...) R N P const{{{call}return face::call<R>(slot_,{{*this,##__VA_ARGS__}});}}",
            f"#define tlI_(N,O,P,...) Tensor& N P const{{{call}{write}return const_cast<Tensor&>(*this);}}",
            f"#define tlN(N,O,P,...) Tensor N P const{{{call}return face::finish({new('*this,##')},options);}}",
        ]
        end = [*(f"#undef {m}" for m in ("tlM", "tlI_", "tlN")), *end]
    return "\n".join([*start, *lines, *end]) + "\n"


def _headers(rows: list[Row]) -> Headers:
    headers = Headers()
    for row in rows:
        for variant, schema in row.forms():
            if "::" not in schema.name and all(a.type in (*PARAMETERS, "Operand") for a in schema.args):
                for name in _names(row, variant, schema):
                    _add_form(headers, variant, schema, name)
    return headers


def _names(row: Row, variant: str, schema: Schema) -> tuple[str, ...]:
    """The name of a form, and the second names of it."""
    tail = "_" if variant == "inplace" and not row.writes_self else ""
    functions = row.second_names if variant != "inplace" else ()
    return (schema.base, *(f"{alias}{tail}" for alias in row.aliases), *functions)


def _add_form(headers: Headers, variant: str, schema: Schema, base: str) -> None:
    if base in KEYWORDS or base in BY_HAND or base.startswith(("__", *LEFT_OUT)):
        return
    for kinds in _operand_kinds(schema):
        parameters = _parameters(schema, kinds)
        order = [p.value for p in parameters]
        if variant == "out":
            _add_out(headers, schema, base, parameters, order)
            continue
        _trim_defaults(parameters)
        if (
            schema.args
            and schema.args[0].name == "self"
            and parameters[0].type == "tlT"
            and (base in METHODS or not base.startswith(FUNCTION_PREFIXES))
        ):
            _add_method(headers, variant, schema, base, parameters, order)
        else:
            _add_function(headers, variant, schema, base, parameters, order)


def _operand_kinds(schema: Schema) -> Iterator[dict[str, str]]:
    """For each way to choose tensors and numbers for the operands: the type of each."""
    operands = [a.name for a in schema.args if a.type == "Operand"]
    tensors = any(
        a.type in ("Tensor", "Tensor[]") and not (a.written and a.keyword_only) for a in schema.args
    )
    for choice in product(("Tensor", "Scalar"), repeat=len(operands)):
        if tensors or not operands or "Tensor" in choice:
            yield dict(zip(operands, choice, strict=True))


def _parameters(schema: Schema, kinds: dict[str, str]) -> list[Parameter]:
    parameters: list[Parameter] = []
    args = list(schema.args)
    i = 0
    while i < len(args):
        if [(a.type, a.name) for a in args[i : i + 4]] == OPTIONS:
            default = "={}" if args[i].default is not None else ""
            parameters.append(Parameter("const TensorOptions&", "options", default, "tlX"))
            i += 4
            continue
        parameters.append(_parameter(args[i], kinds))
        i += 1
    if any(p.name == "options" for p in parameters):
        for p in parameters:
            if p.type == "tlMo":
                p.value = f"face::format_of(options,{p.name})"
    return parameters


def _parameter(arg: Arg, kinds: dict[str, str]) -> Parameter:
    type_ = kinds.get(arg.name, arg.type)
    text = PARAMETERS[type_][arg.optional]
    name = arg.name + "_" if arg.name in KEYWORDS else arg.name
    value = f"face::numbers({name})" if arg.type == "Scalar[]" else name
    return Parameter(text, name, _default(arg, text), value)


def _default(arg: Arg, type_: str) -> str:
    text = arg.default
    if text is None:
        return ""
    if text == "None":
        return "=std::nullopt" if type_ == "tlGo" else "={}"
    if text in ("True", "False"):
        return "=" + text.lower()
    if text.startswith("["):
        return "={" + text[1:-1].replace(" ", "") + "}"
    if arg.type == "MemoryFormat":
        return "=MemoryFormat::" + text.rpartition(".")[2].removesuffix("_format").title().replace("_", "")
    if arg.type == "str":
        return f'="{text[1:-1]}"'
    return "=" + text


def _trim_defaults(parameters: list[Parameter]) -> None:
    """Leaves the defaults at the end, where C++ allows them."""
    for i, p in enumerate(parameters):
        if any(not q.default for q in parameters[i:]):
            p.default = ""


def _result(schema: Schema) -> str | None:
    results = [RESULTS.get(r.type) for r in schema.rets]
    if None in results:
        return None
    return (
        "void"
        if not results
        else results[0]
        if len(results) == 1
        else f"std::tuple<{','.join(map(str, results))}>"
    )


def _call(name: str, macro: str, head: str, schema: Schema, values: list[str]) -> str:
    rest = "".join(f",{v}" for v in values)
    head = f"{head}," if head else ""
    return f'{macro}({head}{name},"{schema.name}",({{parameters}}){rest})'


def _add_method(
    headers: Headers,
    variant: str,
    schema: Schema,
    base: str,
    parameters: list[Parameter],
    order: list[str],
) -> None:
    own = parameters[1:]
    new = any(p.name == "options" for p in own)
    written = variant == "inplace"
    result = "Tensor&" if written else _result(schema)
    if result is None or (written and len(schema.rets) > 1):
        return
    if "," in result:
        result = _alias(result)
    values = order[1:]
    if written:
        line = _call(base, "tlI_", "", schema, values)
    elif new:
        line = _call(base, "tlN", "", schema, values)
    else:
        line = _call(base, "tlM", result, schema, values)
    if headers.add("methods", base, own, line):
        names = "".join(f",{p.name}" for p in own)
        headers.add("functions", base, parameters, f"tlG({result},{base},({{parameters}}){names})")


def _alias(result: str) -> str:
    """A tuple of tensors alone by its short name; the commas of others would separate arguments of a macro."""
    n = result.count(",") + 1
    if result == f"std::tuple<{','.join(['Tensor'] * n)}>":
        return f"face::Tensors<{n}>"
    return f"tlP({result})"


def _add_function(
    headers: Headers,
    variant: str,
    schema: Schema,
    base: str,
    parameters: list[Parameter],
    order: list[str],
) -> None:
    result = _result(schema)
    written = [a for a in schema.args if a.written]
    if variant == "inplace" or (schema.rets and all(r.written for r in schema.rets)):
        if len(written) == 1 and written[0].type == "Tensor" and len(schema.rets) == 1:
            line = _call(base, "tlF", "void", schema, order)
            value = f"const_cast<Tensor&>({written[0].name})"
            line = line.replace("tlF(void,", "tlW(Tensor&,").replace(
                "({parameters})", f"({{parameters}}),{value}", 1
            )
        else:
            line = _call(base, "tlF", "void", schema, order)
    elif result is None:
        return
    else:
        result = _alias(result) if "," in result else result
        new = any(p.name == "options" for p in parameters)
        line = _call(base, "tlN" if new else "tlF", "" if new else result, schema, order)
    headers.add("functions", base, parameters, line)


def _add_out(
    headers: Headers, schema: Schema, base: str, parameters: list[Parameter], order: list[str]
) -> None:
    names = [a.name for a in schema.args if a.written]
    if any(a.type != "Tensor" for a in schema.args if a.written):
        return
    outs = [p for p in parameters if p.name in names]
    for p in outs:
        p.type, p.default = "Tensor&", ""
    parameters = [*outs, *(p for p in parameters if p.name not in names)]
    _trim_defaults(parameters)
    if len(outs) == 1 and order[-1] == "out":
        line = _call(base, "tlO", "", schema, order[:-1])
    else:
        names = ",".join(p.name for p in outs)
        line = _call(f"{base}_out", "tlW", f"face::References<{len(outs)}>", schema, order)
        line = line.replace("({parameters})", f"({{parameters}}),face::references({names})", 1)
        if len(outs) == 1:
            line = line.replace("face::References<1>", "Tensor&").replace(f"face::references({names})", names)
    headers.add("functions", f"{base}_out", parameters, line)
