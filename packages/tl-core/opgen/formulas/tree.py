"""The typed tree of a formula.

A node has the kind of its value: tensor, operand (a tensor or a number), tensors, none, bool, int, float, dtype,
device, layout, list, or value, which is any plain value. Two parents may share a node.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from opgen.program_text import Word
from opgen.row import Row

TENSORS = ("tensor", "operand")
META_KIND = {
    "SHAPE": "list",
    "STRIDES": "list",
    "NDIM": "int",
    "NUMEL": "int",
    "OFFSET": "int",
    "DTYPE": "dtype",
    "DEVICE": "device",
    "LAYOUT": "layout",
    "IS_COMPLEX": "bool",
    "IS_FLOATING": "bool",
    "IS_TENSOR": "bool",
    "COUNT": "int",
}


@dataclass(frozen=True, eq=False)
class Node:
    """A part of a formula."""

    kind: str


# ---- values without steps ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Constant(Node):
    """A number, None, the name of a dtype or a tuple."""

    value: object


@dataclass(frozen=True, eq=False)
class Input(Node):
    """An operand of every run: a gradient, the list of gradients, or whether an argument needs one."""

    word: Word


@dataclass(frozen=True, eq=False)
class Variable(Node):
    """A value with a name: its steps run once."""


@dataclass(frozen=True, eq=False)
class Stored(Node):
    """An argument or a result of the call, or a property (a TlMeta) of it."""

    source: str  # ARG | RESULT | EXTRA
    index: int
    meta: str = "VALUE"
    element: Variable | None = None  # the position, if this is an element of a list of tensors

    def property(self, meta: str) -> Stored:
        """Another property of the same tensor or list."""
        return replace(self, meta=meta, kind=META_KIND[meta])


# ---- steps ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Property(Node):
    """A property of a computed tensor."""

    meta: str
    value: Node


@dataclass(frozen=True, eq=False)
class OperatorCall(Node):
    """A call of a row: operands in the order of evaluation, and for each argument the position of its operand."""

    row: Row
    operands: tuple[Node, ...]
    positions: dict[str, int]
    code: str = "CALL"  # CALL | CONJ | ARITH
    arith: str = "ADD"
    n_results: int = 1


@dataclass(frozen=True, eq=False)
class AllResults(Node):
    """The list of all results of a call."""

    call: OperatorCall


@dataclass(frozen=True, eq=False)
class Arithmetic(Node):
    """An operation on two or more plain values."""

    arith: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Unary(Node):
    """An operation on one plain value."""

    arith: str
    operand: Node


@dataclass(frozen=True, eq=False)
class Index(Node):
    """An element of a list."""

    value: Node
    index: Node


@dataclass(frozen=True, eq=False)
class Slice(Node):
    """A part of a list."""

    value: Node
    start: Node
    stop: Node


@dataclass(frozen=True, eq=False)
class Items(Node):
    """A list of its elements."""

    elements: tuple[Node, ...]


# ---- order and choice ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Bind(Node):
    """The steps of a variable's value."""

    variable: Variable
    value: Node


@dataclass(frozen=True, eq=False)
class After(Node):
    """A result after variables."""

    steps: tuple[Bind, ...]
    result: Node


@dataclass(frozen=True, eq=False)
class Junction(Node):
    """`and` or `or` of several values."""

    values: tuple[Node, ...]
    is_or: bool


@dataclass(frozen=True, eq=False)
class Choice(Node):
    """One of two values."""

    test: Node
    body: Node
    orelse: Node


@dataclass(frozen=True, eq=False)
class Source:
    """A list of a comprehension. Elements of stored tensors have no variable, because they are read in place."""

    value: Node
    length: Node
    bind: Bind | None  # the steps of the list, if it has any
    variable: Variable | None


@dataclass(frozen=True, eq=False)
class Loop(Node):
    """A comprehension over one list, or several in step."""

    position: Variable
    sources: tuple[Source, ...]
    conditions: tuple[Node, ...]
    element: Node


@dataclass(frozen=True)
class Body:
    """A whole formula: a node for each result, or one call with all of them."""

    steps: tuple[Bind, ...]
    results: tuple[Node, ...]
