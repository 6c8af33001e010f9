"""From the text of a schema to what it says: `name.overload(Tensor(a!) self, *, int[2]? k=None) -> (Tensor, int)`."""

from __future__ import annotations

import ast
import functools
import re
from typing import Any, NoReturn

from tl_core.schemas.function_schema import AliasInfo, Argument, FunctionSchema, base_type, is_list
from tl_core.schemas.types import (
    AwaitType,
    ClassType,
    DictType,
    FutureType,
    ListType,
    OptionalType,
    RRefType,
    TupleType,
    Type,
    UnionType,
    VarType,
    named_type,
)

__all__ = ["parse_name", "parse_schema"]

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?j?)
    |(?P<word>[A-Za-z_][\w.]*(?:::[\w.]+)*)
    |(?P<mark>->|\.\.\.|::|[-()\[\]{},=?!*|]))""",
    re.VERBOSE,
)
_PARAMETRIC = {
    "Future": FutureType,
    "Await": AwaitType,
    "RRef": RRefType,
    "Dict": DictType,
}
_OF_SEVERAL = {"Tuple": TupleType, "Union": UnionType}
_HINTS = {
    **dict.fromkeys(("int64_t", "int32_t", "long"), ". Use `SymInt` or `int`"),
    "double": ". Use `float`",
}
_NUMBERS = {"True": True, "False": False, "None": None, "inf": float("inf"), "nan": float("nan")}


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        self.at = 0
        offset = 0
        while text[offset:].strip():
            match = _TOKEN.match(text, offset)
            if not match:
                self._fail(f"unexpected character {text[offset:].strip()[0]!r}", offset)
            kind = match.lastgroup or ""
            self.tokens.append((kind, match[kind], match.start(kind)))
            offset = match.end()

    # ---- tokens ---------------------------------------------------------------------------------------------------
    def _fail(self, what: str, offset: int | None = None) -> NoReturn:
        if offset is None:
            offset = self.tokens[self.at][2] if self.at < len(self.tokens) else len(self.text)
        raise RuntimeError(f"{what} in the schema:\n{self.text}\n{' ' * offset}~ <--- HERE")

    def peek(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.tokens[at][1] if at < len(self.tokens) else ""

    def kind(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self, expected: str = "") -> str:
        token = self.peek()
        if not token or (expected and token != expected):
            self._fail(f"expected {expected or 'more text'} but found {token or 'the end'} here")
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() != token:
            return False
        self.at += 1
        return True

    def word(self, what: str) -> str:
        if self.kind() != "word":
            self._fail(f"expected {what} but found {self.peek() or 'the end'} here")
        return self.take()

    # ---- a whole schema -------------------------------------------------------------------------------------------
    def schema(self) -> FunctionSchema:
        name, overload = split_overload(self.word("the name of an operator"), self._fail)
        self.take("(")
        arguments, vararg = self.arguments()
        self.take("->")
        returns, varret, in_tuple = self.returns()
        if self.at < len(self.tokens):
            self._fail(f"unexpected {self.peek()!r} after the results")
        return FunctionSchema(name, overload, arguments, returns, vararg, varret, in_tuple)

    def arguments(self) -> tuple[list[Argument], bool]:
        result: list[Argument] = []
        keyword_only = False
        while not self.accept(")"):
            if self.accept("..."):
                self.take(")")
                if any(a.has_default_value() for a in result):
                    self._fail("schemas with vararg (...) can't have default value args")
                return result, True
            if self.accept("*"):
                if keyword_only:
                    self._fail("a second '*'")
                keyword_only = True
            else:
                result.append(self.argument(keyword_only, named=True))
            if self.peek() != ")":
                self.take(",")
        return result, False

    def returns(self) -> tuple[list[Argument], bool, bool]:
        if self.accept("..."):
            return [], True, False
        if not self.accept("("):
            return [self.argument(False, named=False)], False, False
        results: list[Argument] = []
        while not self.accept(")"):
            if self.accept("..."):
                self.take(")")
                return results, True, True
            results.append(self.argument(False, named=False))
            if self.peek() != ")":
                self.take(",")
        return results, False, len(results) == 1

    def argument(self, keyword_only: bool, named: bool) -> Argument:
        kind, alias = self.type()
        size = kind.size if isinstance(kind, ListType) else None
        name = self.word("the name of an argument") if named or self.kind() == "word" else ""
        options: dict[str, Any] = {"N": size, "kwarg_only": keyword_only, "alias_info": alias}
        if named and self.accept("="):
            options["default_value"] = self.default(kind)
        return Argument(name, kind, **options)

    # ---- types ----------------------------------------------------------------------------------------------------
    def type(self) -> tuple[Type, AliasInfo | None]:
        kind = self.base_type()
        alias = self.alias()
        while True:
            if self.accept("?"):
                kind = OptionalType(kind)
            elif self.peek() == "[":
                self.take()
                size = int(self.take()) if self.kind() == "number" else None
                self.take("]")
                kind = ListType(kind, size)
                alias = self.alias() or alias
            else:
                return kind, alias

    def base_type(self) -> Type:
        if self.accept("("):
            return TupleType(self.types(")"))
        word = self.word("a type")
        if word in _OF_SEVERAL and self.peek() and self.peek() in "([":
            return _OF_SEVERAL[word](self.types({"(": ")", "[": "]"}[self.take()]))
        if word in _PARAMETRIC and self.peek() and self.peek() in "([":
            return _PARAMETRIC[word](*self.types({"(": ")", "[": "]"}[self.take()]))
        if word.startswith("__torch__."):
            return ClassType(word)
        if len(word) <= 3 and word[0].islower() and word not in ("int", "str"):
            return VarType(word)
        try:
            return named_type(word)
        except KeyError:
            self.at -= 1
            self._fail(f"unknown type specifier {word!r}{_HINTS.get(word, '')}")

    def types(self, end: str) -> list[Type]:
        kinds = []
        while not self.accept(end):
            kind, _ = self.type()
            if self.kind() == "word":  # a name, which nobody asks for
                self.take()
            kinds.append(kind)
            if self.peek() != end:
                self.take(",")
        return kinds

    def alias(self) -> AliasInfo | None:
        if self.peek() != "(":
            return None
        self.take()
        before = self.alias_set()
        is_write = self.accept("!")
        after = self.alias_set() if self.accept("->") else set(before)
        self.take(")")
        return AliasInfo(is_write, before, after)

    def alias_set(self) -> set[str]:
        names: set[str] = set()
        while self.kind() == "word" or self.peek() == "*":
            names.add(self.take())
            if not self.accept("|"):
                break
        return names

    # ---- defaults -------------------------------------------------------------------------------------------------
    def default(self, kind: Type) -> Any:
        if self.accept("["):
            values = []
            while not self.accept("]"):
                values.append(self.default(base_type(kind)))
                if self.peek() != "]":
                    self.take(",")
            return values
        value = self.one_default(base_type(kind))
        if (
            is_list(kind)
            and isinstance(kind, ListType)
            and kind.size
            and isinstance(value, (bool, int, float))
        ):
            return [value] * kind.size  # one number stands for all
        return value

    def one_default(self, kind: Type) -> Any:
        sort = self.kind()
        token = self.take()
        if token == "-":
            return -self.one_default(kind)
        if sort == "string":
            return _of_string(ast.literal_eval(token), kind)
        if sort == "number":
            value = ast.literal_eval(token)
            return float(value) if kind.name in ("float", "SymFloat") else _of_number(value, kind)
        if sort == "word":
            if token in _NUMBERS:
                return _NUMBERS[token]
            return _of_word(token, kind, self)
        self.at -= 1
        self._fail(f"{token!r} is no default")


def _of_string(text: str, kind: Type) -> Any:
    if kind.name != "Device":
        return text
    from tl_core import device

    return device(text)


def _of_number(value: Any, kind: Type) -> Any:
    """Enumerations may be given by number."""
    if kind.name == "ScalarType" and isinstance(value, int):
        from tl_core.dispatch.layers import DTYPES

        return DTYPES[value]
    return value


def _of_word(word: str, kind: Type, parser: Any) -> Any:
    import tl_core

    name = {"Mean": 1, "Sum": 2}.get(word, word)  # kinds of reduction
    if isinstance(name, int):
        return name
    aliases = {"long": "int64", "double": "float64", "float": "float32", "int": "int32", "half": "float16",
               "contiguous": "contiguous_format", "preserve": "preserve_format"}  # fmt: skip
    value = getattr(tl_core, aliases.get(word, word), None)
    if type(value).__name__ in ("dtype", "layout", "memory_format"):
        return value
    parser.at -= 1
    parser._fail(f"{word!r} is no default of the type {kind.schema_text()}")


def split_overload(name: str, fail: Any) -> tuple[str, str]:
    """`ns::name.overload` → (`ns::name`, `overload`)."""
    space, colons, rest = name.rpartition("::")
    base, dot, overload = rest.partition(".")
    if dot and overload == "default":
        fail("'default' is not a name for an overload")
    if dot and (not overload or overload.startswith("__")):
        fail(f"{overload!r} is not a legal overload name for aten operators")
    return space + colons + base, overload


@functools.lru_cache(maxsize=4096)
def parse_schema(schema: str) -> FunctionSchema:
    """What the text of a schema says.

    Args:
        schema: the text.

    Raises:
        RuntimeError: it is no schema; the message points at the offset.

    Example:
        >>> s = parse_schema("my::scale(Tensor x, *, float by=2.0) -> Tensor")
        >>> s.name, [a.name for a in s.arguments], s.arguments[1].default_value
        ('my::scale', ['x', 'by'], 2.0)
        >>> s
        my::scale(Tensor x, *, float by=2.0) -> Tensor
    """
    return _Parser(schema).schema()


def parse_name(schema: str) -> str:
    """The name of the operator that a text of a schema begins with."""
    return schema.partition("(")[0].strip()
