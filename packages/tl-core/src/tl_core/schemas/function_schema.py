"""What a schema says: `FunctionSchema` with its arguments and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tl_core.schemas.types import ListType, OptionalType, Type

__all__ = ["AliasInfo", "Argument", "FunctionSchema"]


class AliasInfo:
    """The set of values that may share memory with an argument, before and after a call.

    Args:
        is_write: whether the call writes it.
        before_set: the names before the call.
        after_set: those after it.
    """

    def __init__(self, is_write: bool, before_set: set[str], after_set: set[str]) -> None:
        self.is_write, self.before_set, self.after_set = is_write, before_set, after_set

    @property
    def is_wildcard(self) -> bool:
        """Whether any value may."""
        return "*" in self.after_set

    def __str__(self) -> str:
        before, after = ("|".join(sorted(s)) for s in (self.before_set, self.after_set))
        return f"({before}{'!' * self.is_write}{'' if before == after else f' -> {after}'})"

    __repr__ = __str__

    def _key(self) -> Any:
        return self.is_write, frozenset(self.before_set), frozenset(self.after_set)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AliasInfo) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def dtype_number(dtype: Any) -> int:
    """The number by which schemas name an element type.

    Args:
        dtype: the type.
    """
    from tl_core.dispatch.layers import DTYPES

    return next((number for number, candidate in DTYPES.items() if candidate is dtype), -1)


_NONE = object()  # no default, where None may be one


class Argument:
    """An argument, or a result, of an operator.

    Args:
        name: its name.
        type: its type as the schema says it.
        N: the length of a list, or None.
        default_value: the default, or None.
        kwarg_only: whether it is given by name only.
        alias_info: what it may share memory with, or None.
    """

    def __init__(
        self,
        name: str,
        type: Type,
        N: int | None = None,
        default_value: Any = _NONE,
        kwarg_only: bool = False,
        alias_info: AliasInfo | None = None,
    ) -> None:
        self.name, self.real_type, self.N = name, type, N
        self._default, self.kwarg_only, self.alias_info = default_value, kwarg_only, alias_info

    @property
    def type(self) -> Type:
        """The type; of what may be symbolic or is an enumeration, that of the numbers which stand for it."""
        return self.real_type.public_type()

    @property
    def default_value(self) -> Any:
        """The default, an element type by its number; None without one."""
        value = self.real_default
        return dtype_number(value) if type(value).__name__ == "dtype" else value

    @property
    def real_default(self) -> Any:
        """The default; None without one."""
        return None if self._default is _NONE else self._default

    def has_default_value(self) -> bool:
        """Whether the argument may be left out."""
        return self._default is not _NONE

    @property
    def is_write(self) -> bool:
        """Whether a call writes it."""
        return self.alias_info is not None and self.alias_info.is_write

    @property
    def is_out(self) -> bool:
        """Whether it is where results go."""
        return self.kwarg_only and self.is_write

    @property
    def is_inplace(self) -> bool:
        """Whether it is written by position."""
        return not self.kwarg_only and self.is_write

    def type_text(self) -> str:
        """The type with the aliases, as schemas write it."""
        return self.real_type.schema_text(str(self.alias_info) if self.alias_info else "")

    def __str__(self) -> str:
        text = self.type_text() + (f" {self.name}" if self.name else "")
        return text + (f"={_default_text(self._default)}" if self.has_default_value() else "")

    __repr__ = __str__

    def _key(self) -> Any:
        default = "" if self._default is _NONE else repr(self._default)
        return self.name, self.type_text(), self.N, default, self.has_default_value(), self.kwarg_only

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Argument) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _default_key(self) -> str:
        return repr(self._default) if self.has_default_value() else ""

    def _is_like(self, other: Argument) -> bool:
        return (self.name, self.N, self.alias_info) == (other.name, other.N, other.alias_info)

    def is_backward_compatible_with(self, old: Argument) -> bool:
        """Whether calls that were made for the older argument fit this one."""
        return (
            self._is_like(old)
            and self.kwarg_only <= old.kwarg_only
            and old.real_type.isSubtypeOf(self.real_type)
            and (not old.has_default_value() or self._default_key() == old._default_key())
        )

    def is_forward_compatible_with(self, old: Argument) -> bool:
        """Whether calls that are made for this argument fit the older one."""
        same = self._is_like(old) and self._default_key() == old._default_key()
        return same and old.kwarg_only <= self.kwarg_only and self.real_type.isSubtypeOf(old.real_type)


def _default_text(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_default_text, value))}]"
    if isinstance(value, (bool, int, float)) or value is None:
        return str(value)
    text = str(value).removeprefix("torch.")
    return f'"{text}"' if type(value).__name__ == "device" else text


class FunctionSchema:
    """A name with its arguments and results. What `torch.library.define` takes as text, parsed.

    Args:
        name: the operator's name with its namespace.
        overload_name: the overload, "" for the default.
        arguments: the arguments.
        returns: the results.
        is_vararg: whether further arguments are taken.
        is_varret: whether further results are given.
        tuple_return: whether the results are a tuple.
    """

    def __init__(
        self,
        name: str,
        overload_name: str,
        arguments: Sequence[Argument],
        returns: Sequence[Argument],
        is_vararg: bool = False,
        is_varret: bool = False,
        tuple_return: bool = False,
    ) -> None:
        self.name, self.overload_name = name, overload_name
        self.arguments, self.returns = list(arguments), list(returns)
        self.is_vararg, self.is_varret, self._tuple_return = is_vararg, is_varret, tuple_return

    @property
    def is_mutable(self) -> bool:
        """Whether a call writes an argument."""
        return any(a.is_write for a in self.arguments)

    def kind(self) -> str:
        """`functional`, `inplace`, `out` or `mutable`, by what is written."""
        mutated = [a for a in self.arguments if a.is_write]
        if not mutated:
            return "functional"
        if all(a.kwarg_only for a in mutated):
            return "out"
        base = self.name.rpartition("::")[2]
        return "inplace" if base.endswith("_") and not base.endswith("__") else "mutable"

    @property
    def full_name(self) -> str:
        """The name with the overload's."""
        return f"{self.name}.{self.overload_name}" if self.overload_name else self.name

    def _arguments_text(self) -> str:
        parts: list[str] = []
        for argument in self.arguments:
            if argument.kwarg_only and "*" not in parts:
                parts.append("*")
            parts.append(str(argument))
        return ", ".join(parts + ["..."] * self.is_vararg)

    def _returns_text(self) -> str:
        parts = [*map(str, self.returns), *["..."] * self.is_varret]
        several = len(parts) != 1 or self._tuple_return or (self.returns and self.returns[0].name and False)
        return f"({', '.join(parts)})" if several else parts[0]

    def __str__(self) -> str:
        return f"{self.full_name}({self._arguments_text()}) -> {self._returns_text()}"

    __repr__ = __str__

    def _key(self) -> Any:
        shape = self.name, self.overload_name, self.is_vararg, self.is_varret
        return *shape, tuple(self.arguments), tuple(self.returns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    # ---- older and newer schemas of one operator ------------------------------------------------------------------
    def is_backward_compatible_with(self, old_schema: FunctionSchema) -> bool:
        """Whether calls that were written for the older schema fit this one.

        Args:
            old_schema: the older one.
        """
        if not (self._has_shape_of(old_schema) and len(self.arguments) >= len(old_schema.arguments)):
            return False
        before, after = old_schema._first_out(), self._first_out()
        return (
            all(
                o.is_backward_compatible_with(r)
                for r, o in zip(self.returns, old_schema.returns, strict=True)
            )
            and before <= after
            and all(
                a.is_backward_compatible_with(o)
                for a, o in zip(self.arguments, old_schema.arguments[:before], strict=False)
            )
            and all(a.has_default_value() for a in self.arguments[before:after])
            and all(
                a.is_backward_compatible_with(o)
                for a, o in zip(self.arguments[after:], old_schema.arguments[before:], strict=False)
            )
        )

    def _has_shape_of(self, other: FunctionSchema) -> bool:
        mine = self.name, self.overload_name, self.is_vararg, self.is_varret, len(self.returns)
        return mine == (other.name, other.overload_name, other.is_vararg, other.is_varret, len(other.returns))

    def _first_out(self) -> int:
        """The index of the first argument to which results go."""
        return next((i for i, a in enumerate(self.arguments) if a.is_out), len(self.arguments))

    def check_forward_compatible_with(self, old_schema: FunctionSchema) -> tuple[bool, str]:
        """Whether calls that are written for this schema fit the older one, where nothing new is used; and why not.

        Args:
            old_schema: the older one.
        """
        if not self._has_shape_of(old_schema):
            return False, "Function schema should have the same name, number of results and variadic parts"
        before, after = old_schema._first_out(), self._first_out()
        if len(old_schema.arguments) - before != len(self.arguments) - after:
            return False, "Function schema should have the same number of out arguments"
        for a, o in zip(self.arguments[:after], old_schema.arguments[:before], strict=False):
            if not a.is_forward_compatible_with(o):
                return False, f"'{a.name}' is not forward compatible with the older version of the schema"
        for a in self.arguments[before:after]:
            new = "Function schema is not forward compatible since the new argument"
            if not a.has_default_value():
                return False, f"{new} '{a.name}' of type {a.type.str()} did not provide a default value."
            if isinstance(a.default_value, (list, tuple, dict)):
                return (
                    False,
                    f"{new} '{a.name}' of type {a.type.str()} has a container type as its default value.",
                )
        for a, o in zip(self.arguments[after:], old_schema.arguments[before:], strict=True):
            if not a.is_forward_compatible_with(o):
                return False, f"Out argument '{a.name}' is not FC with the older version of the schema"
        return True, ""


def is_list(t: Type) -> bool:
    """Whether a type is a list, or a list or None."""
    return isinstance(t.elements[0] if isinstance(t, OptionalType) else t, ListType)


def base_type(t: Type) -> Type:
    """The type of the elements, below lists and None."""
    while isinstance(t, (ListType, OptionalType)):
        t = t.elements[0]
    return t
