"""What a schema says: `FunctionSchema` with its arguments and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tl_core.library.schema_types import ListType, OptionalType, Type

__all__ = ["AliasInfo", "Argument", "FunctionSchema"]


class AliasInfo:
    """The set of values that may share memory with an argument, before and after a call."""

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


_NONE = object()  # no default, where None may be one


class Argument:
    """An argument, or a result, of an operator."""

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
        return self.real_type.seen()

    @property
    def default_value(self) -> Any:
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

    def is_backward_compatible_with(self, old: Argument) -> bool:
        """Whether calls that were made for the older argument fit this one."""
        return (
            (self.name == old.name or not old.name)
            and self.kwarg_only <= old.kwarg_only
            and self.alias_info == old.alias_info
            and self.N == old.N
            and old.real_type.isSubtypeOf(self.real_type)
            and (not old.has_default_value() or repr(self._default) == repr(old._default))
        )


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
    """A name with its arguments and results. What `torch.library.define` takes as text, parsed."""

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
        written = [a for a in self.arguments if a.is_write]
        if not written:
            return "functional"
        if all(a.kwarg_only for a in written):
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
        same = (
            self.name == old_schema.name
            and self.overload_name == old_schema.overload_name
            and self.is_vararg == old_schema.is_vararg
            and self.is_varret == old_schema.is_varret
            and len(self.returns) == len(old_schema.returns)
            and len(self.arguments) >= len(old_schema.arguments)
        )
        return same and self._results_fit(old_schema) and self._arguments_fit(old_schema)

    def check_forward_compatible_with(self, old_schema: FunctionSchema) -> tuple[bool, str]:
        """Whether calls that are written for this schema fit the older one, where nothing new is used; and why not.

        Args:
            old_schema: the older one.
        """
        if not self.is_backward_compatible_with(old_schema):
            return False, "the newer schema does not take calls of the older one"
        known = {a.name for a in old_schema.arguments}
        for a in self.arguments:
            if a.name in known or a.is_out:
                continue
            new = f"Function schema is not forward compatible since the new argument '{a.name}' of type {a.type}"
            if not a.has_default_value():
                return False, f"{new} did not provide a default value."
            if isinstance(a.default_value, (list, tuple)) and a.default_value:
                return False, f"{new} has a container type as its default value."
        return True, ""

    def _results_fit(self, old: FunctionSchema) -> bool:
        return all(
            mine.name == other.name
            and mine.real_type.isSubtypeOf(other.real_type)
            and mine.alias_info == other.alias_info
            for mine, other in zip(self.returns, old.returns, strict=True)
        )

    def _arguments_fit(self, old: FunctionSchema) -> bool:
        positional = [a for a in self.arguments if not a.kwarg_only]
        old_positional = [a for a in old.arguments if not a.kwarg_only]
        by_name = {a.name: a for a in self.arguments}
        if len(old_positional) > len(positional):
            return False
        pairs = list(zip(positional, old_positional, strict=False))
        for keyword in old.arguments:
            if keyword.kwarg_only:
                if keyword.name not in by_name:
                    return False
                pairs.append((by_name[keyword.name], keyword))
        matched = {id(mine) for mine, _ in pairs}
        fits = all(mine.is_backward_compatible_with(other) for mine, other in pairs)
        return fits and all(a.has_default_value() or id(a) in matched for a in self.arguments)


def is_list(t: Type) -> bool:
    """Whether a type is a list, or a list or None."""
    return isinstance(t.elements[0] if isinstance(t, OptionalType) else t, ListType)


def base_type(t: Type) -> Type:
    """The type of the elements, below lists and None."""
    while isinstance(t, (ListType, OptionalType)):
        t = t.elements[0]
    return t
