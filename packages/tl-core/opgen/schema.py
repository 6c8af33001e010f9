"""Operator schemas in the field's notation: `add.Tensor(Tensor self, Operand other, *, Scalar alpha=1) -> Tensor`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

# Type in a schema -> (kind in the C interface, Python type in a stub).
KINDS = {
    "Tensor": ("TENSOR", "Tensor"),
    "Tensor[]": ("TENSOR_LIST", "Sequence[Tensor]"),
    "Tensor?[]": ("OPTIONAL_TENSOR_LIST", "Sequence[Tensor | None]"),
    "Operand": ("OPERAND", "Tensor | Number"),
    "Scalar": ("SCALAR", "Number"),
    "Scalar[]": ("SCALAR_LIST", "Sequence[Number]"),
    "bool": ("BOOL", "bool"),
    "bool[]": ("BOOL_LIST", "Sequence[bool]"),
    "int": ("INT", "int"),
    "int[]": ("INT_LIST", "Sequence[int]"),
    "float": ("FLOAT", "float"),
    "float[]": ("FLOAT_LIST", "Sequence[float]"),
    "str": ("STRING", "str"),
    "ScalarType": ("DTYPE", "dtype"),
    "Device": ("DEVICE", "device | str | int"),
    "Layout": ("LAYOUT", "layout"),
    "MemoryFormat": ("MEMORY_FORMAT", "memory_format"),
    "Generator": ("GENERATOR", "Generator"),
    "Any": ("OBJECT", "object"),
}

_ARGUMENT = re.compile(
    r"(?P<type>\w+\??)(?P<alias>\((?P<set>[a-z])(?P<write>!)?\))?(?P<list>\[(?P<count>\d*)\]\??)?"
    r"(?: (?P<name>\w+))?(?:=(?P<default>.+))?$"
)


@dataclass(frozen=True)
class Arg:
    """One argument or result."""

    name: str
    type: str  # a key of KINDS
    optional: bool = False
    alias: str = ""  # the alias set's letter
    written: bool = False
    keyword_only: bool = False
    default: str | None = None  # as the schema writes it
    count: int = 0  # `int[2]`: a single int stands for that many

    @property
    def kind(self) -> str:
        return KINDS[self.type][0]

    @property
    def is_tensor(self) -> bool:
        return self.type in ("Tensor", "Operand")

    @property
    def is_tensor_list(self) -> bool:
        return self.type in ("Tensor[]", "Tensor?[]")

    @property
    def python_type(self) -> str:
        hint = KINDS[self.type][1]
        if self.count:
            hint += " | int"
        return hint + " | None" if self.optional else hint

    def schema(self) -> str:
        """The argument as the reference's notation writes it: an operand is a Tensor there."""
        base = "Tensor" if self.type == "Operand" else self.type
        mark = f"({self.alias}{'!' if self.written else ''})" if self.alias else ""
        if base.endswith("[]"):
            inner = base[:-2]
            count = str(self.count) if self.count else ""
            base = f"{inner}{mark}[{count}]"
        else:
            base += mark
        text = base + ("?" if self.optional else "")
        text += f" {self.name}" if self.name else ""
        return text + (f"={self.default}" if self.default is not None else "")


@dataclass(frozen=True)
class Schema:
    """A whole signature; `name` carries the overload after a dot."""

    name: str
    args: tuple[Arg, ...]
    rets: tuple[Arg, ...]

    @property
    def base(self) -> str:
        return self.name.split(".")[0]

    @property
    def overload(self) -> str:
        return self.name.partition(".")[2]

    def __str__(self) -> str:
        parts, starred = [], False
        for a in self.args:
            if a.keyword_only and not starred:
                parts.append("*")
                starred = True
            parts.append(a.schema())
        rets = ", ".join(r.schema() for r in self.rets)
        return f"{self.name}({', '.join(parts)}) -> {rets if len(self.rets) == 1 else f'({rets})'}"


def parse(text: str) -> Schema:
    """Reads a schema; raises ValueError naming the part that is wrong."""
    match = re.fullmatch(r"([\w.:]+)\((.*)\) -> (.+)", text)
    if not match:
        raise ValueError(f"a schema reads 'name(Type argument, ...) -> Type', got {text!r}")
    name, args, rets = match.groups()
    rets = rets[1:-1] if rets.startswith("(") else rets
    return Schema(
        name, tuple(_arguments(args, text)), tuple(_parse_one(r, False, text) for r in _split(rets))
    )


def _arguments(text: str, schema: str):
    keyword_only = False
    for part in _split(text):
        if part == "*":
            keyword_only = True
        else:
            yield _parse_one(part, keyword_only, schema)


def _parse_one(text: str, keyword_only: bool, schema: str) -> Arg:
    match = _ARGUMENT.fullmatch(text)
    if not match:
        raise ValueError(f"cannot read {text!r} in the schema {schema!r}")
    type_, list_ = match["type"], match["list"]
    optional = list_.endswith("?") if list_ else type_.endswith("?")
    if list_:
        type_ += "[]"
    elif optional:
        type_ = type_[:-1]
    if type_ not in KINDS:
        raise ValueError(f"unknown type {type_!r} in the schema {schema!r}")
    return Arg(
        name=match["name"] or "",
        type=type_,
        optional=optional,
        alias=match["set"] or "",
        written=bool(match["write"]),
        keyword_only=keyword_only,
        default=match["default"],
        count=int(match["count"] or 0) if list_ else 0,
    )


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text + ","):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [p for p in parts if p]


def inplace_of(schema: Schema) -> Schema:
    """`add_.Tensor(Tensor(a!) self, ...) -> Tensor(a!)`."""
    first = replace(schema.args[0], type="Tensor", alias="a", written=True)
    name = f"{schema.base}_" + (f".{schema.overload}" if schema.overload else "")
    return Schema(
        name, (first, *schema.args[1:]), (replace(schema.rets[0], alias="a", written=True, name=""),)
    )


def out_of(schema: Schema, name: str) -> Schema:
    """`add.out(Tensor self, ..., *, Tensor(a!) out) -> Tensor(a!)`; one out argument a result.

    The name may list its own names of the out arguments: `max.dim_max(max, max_values)`.
    """
    outs, rets = [], []
    name, _, listed = name.partition("(")
    own_names = _split(listed.rstrip(")"))
    for i, ret in enumerate(schema.rets):
        letter = "abcdefgh"[i]
        arg_name = "out" if len(schema.rets) == 1 else ret.name or f"out{i}"
        if any(a.name == arg_name for a in schema.args):
            arg_name = f"out{i}"
        arg_name = own_names[i] if own_names else arg_name
        outs.append(Arg(arg_name, "Tensor", alias=letter, written=True, keyword_only=True))
        rets.append(replace(ret, alias=letter, written=True))
    return Schema(name, (*schema.args, *outs), tuple(rets))
