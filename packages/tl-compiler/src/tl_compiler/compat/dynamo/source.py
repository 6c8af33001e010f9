"""Where the inputs of a traced program come from, as text that names them."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

__all__ = [
    "AttrSource",
    "ChainedSource",
    "ConstantSource",
    "GetItemSource",
    "GlobalSource",
    "LocalSource",
    "NegateSource",
    "Source",
    "TensorProperty",
    "TensorPropertySource",
]


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a value comes from."""

    def name(self) -> str:
        """The text that names it."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class ConstantSource(Source):
    """A value with a name of its own."""

    source_name: str

    def name(self) -> str:
        """The name."""
        return self.source_name


@dataclasses.dataclass(frozen=True)
class LocalSource(Source):
    """A variable of the function."""

    local_name: str
    is_input: bool = False

    def name(self) -> str:
        """The text that names it."""
        return f"L[{self.local_name!r}]"


@dataclasses.dataclass(frozen=True)
class GlobalSource(Source):
    """A variable of the module."""

    global_name: str

    def name(self) -> str:
        """The text that names it."""
        return f"G[{self.global_name!r}]"


@dataclasses.dataclass(frozen=True)
class ChainedSource(Source):
    """A value that is reached from another one.

    Args:
        base: where the other one comes from.
    """

    base: Any


@dataclasses.dataclass(frozen=True)
class NegateSource(ChainedSource):
    """A number's negative."""

    def name(self) -> str:
        """The text that names it."""
        return f"{self.base.name()}.__neg__()"


@dataclasses.dataclass(frozen=True)
class AttrSource(ChainedSource):
    """An attribute of a value."""

    member: str

    def name(self) -> str:
        """The text that names it."""
        return f"{self.base.name()}.{self.member}"


@dataclasses.dataclass(frozen=True)
class GetItemSource(ChainedSource):
    """An item of a value."""

    index: Any

    def name(self) -> str:
        """The text that names it."""
        return f"{self.base.name()}[{self.index!r}]"


class TensorProperty(enum.Enum):
    """What of a tensor's geometry a number is."""

    SIZE = 0
    STRIDE = 1
    STORAGE_OFFSET = 2

    def method_name(self) -> str:
        """The method that gives it."""
        return {0: "size", 1: "stride", 2: "storage_offset"}[self.value]


@dataclasses.dataclass(frozen=True)
class TensorPropertySource(ChainedSource):
    """A number of a tensor's geometry.

    Args:
        base: where the tensor comes from.
        prop: size, stride or storage offset.
        idx: the dimension; None for the offset.
    """

    prop: TensorProperty
    idx: int | None = None

    def name(self) -> str:
        """The text that names it."""
        item = "" if self.idx is None else f"[{self.idx}]"
        return f"{self.base.name()}.{self.prop.method_name()}(){item}"
