"""Numbers that aren't known while a program is traced: what is computed with them stays an expression.

Each holds a node, an object that knows the expression and answers what it is made into: tl_compiler has them. A method
such as `__add__` asks the node's `add`; a comparison gives a `SymBool`, and asking whether that is true is a guard.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import _C

__all__ = ["SymBool", "SymFloat", "SymInt"]


def _wrapped(node: Any) -> Any:
    """The number of a node; a plain one where its value is known without a guard."""
    if node.constant is not None:
        return node.constant
    for kind in (SymBool, SymInt, SymFloat):
        if node.pytype is kind._plain:
            return kind(node)
    raise TypeError(f"a symbolic number is an int, float or bool, got {node.pytype}")


def _node_like(node: Any, other: Any) -> Any:
    """The node of an operand, or None where it is no number."""
    if isinstance(other, (SymInt, SymFloat, SymBool)):
        return other.node
    if isinstance(other, bool):
        return node.wrap_bool(other)
    if isinstance(other, int):
        return node.wrap_int(other)
    return node.wrap_float(other) if isinstance(other, float) else None


class _Symbolic:
    """What the three have in common."""

    __slots__ = ("__weakref__", "node")
    _plain: type

    def __init__(self, node: Any) -> None:
        self.node = node

    def __repr__(self) -> str:
        return str(self.node)

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __copy__(self) -> Any:
        return self

    def __sym_hint__(self) -> Any:
        """The plain number that stands for it where a program runs on examples."""
        return self.node.example()

    def __hash__(self) -> int:
        constant = self.node.maybe_as_constant()
        if constant is None:
            raise TypeError(f"unhashable type: symbolic number {self}, whose value isn't known")
        return hash(constant)

    def _sympy_(self) -> Any:
        return self.node.expr


def _binary(name: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        node = _node_like(self.node, other)
        if node is None:
            return NotImplemented
        a, b = (node, self.node) if reflected else (self.node, node)
        return _wrapped(getattr(a, name)(b))

    return method


def _unary(name: str) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        return _wrapped(getattr(self.node, name)())

    return method


class SymInt(_Symbolic):
    """An int whose value isn't known while a program is traced, such as the size of a dynamic dimension.

    Args:
        node: what knows the expression.

    Example:
        >>> from tl_core.symbolic.numbers import SymInt
        >>> issubclass(SymInt, int)
        False
    """

    __slots__ = ()
    _plain = int

    def __bool__(self) -> bool:
        return bool(self.node.ne(self.node.wrap_int(0)).guard_bool("", 0))

    def __int__(self) -> int:
        return int(self.node.int_())

    def __index__(self) -> int:
        return int(self.node.int_())

    def __float__(self) -> float:
        return float(self.node.guard_float("", 0))

    def __sym_int__(self) -> Any:
        return self

    def __round__(self, ndigits: int | None = None) -> Any:
        return self

    def __trunc__(self) -> Any:
        return self

    def __floor__(self) -> Any:
        return self

    def __ceil__(self) -> Any:
        return self

    def __pow__(self, other: Any) -> Any:
        node = _node_like(self.node, other)
        if node is None:
            return NotImplemented
        if node.pytype is float:
            return _wrapped(self.node.sym_float().float_pow(node))
        if _wrapped(node) >= 0:
            return _wrapped(self.node.pow_by_natural(node))
        return _wrapped(self.node.sym_float().float_pow(node.sym_float()))

    def __rpow__(self, other: Any) -> Any:
        node = _node_like(self.node, other)
        if node is None:
            return NotImplemented
        if node.pytype is float:
            return _wrapped(node.float_pow(self.node.sym_float()))
        if self >= 0:  # type: ignore[operator]
            return _wrapped(node.pow_by_natural(self.node))
        return _wrapped(node.sym_float().float_pow(self.node.sym_float()))

    def as_integer_ratio(self) -> tuple[SymInt, int]:
        """The number as a fraction: itself over one.

        Returns:
            The number and 1.
        """
        return self, 1

    def bit_length(self) -> int:
        """The number of bits that the number takes; its value becomes a guard.

        Returns:
            The number of bits.
        """
        return self.node.int_().bit_length()


class SymFloat(_Symbolic):
    """A float whose value isn't known while a program is traced.

    Args:
        node: what knows the expression.

    Example:
        >>> from tl_core.symbolic.numbers import SymFloat
        >>> SymFloat.__name__
        'SymFloat'
    """

    __slots__ = ()
    _plain = float

    def __bool__(self) -> bool:
        return bool(self.node.ne(self.node.wrap_float(0.0)).guard_bool("", 0))

    def __int__(self) -> int:
        return int(self.node.guard_float("", 0))

    def __float__(self) -> float:
        return float(self.node.guard_float("", 0))

    def __sym_int__(self) -> Any:
        return _wrapped(self.node.trunc())

    def __sym_float__(self) -> Any:
        return self

    def __round__(self, ndigits: int | None = None) -> Any:
        return _wrapped(self.node.round(ndigits))

    __trunc__ = _unary("trunc")
    __floor__ = _unary("floor")
    __ceil__ = _unary("ceil")

    def __pow__(self, other: Any) -> Any:
        node = _node_like(self.node, other)
        return NotImplemented if node is None else _wrapped(self.node.float_pow(node.sym_float()))

    def __rpow__(self, other: Any) -> Any:
        node = _node_like(self.node, other)
        return NotImplemented if node is None else _wrapped(node.sym_float().float_pow(self.node))

    def is_integer(self) -> Any:
        """Whether it is a whole number.

        Returns:
            A symbolic bool.
        """
        return _wrapped(self.node.is_integer())

    def as_integer_ratio(self) -> tuple[int, int]:
        """The number as a fraction of ints; its value becomes a guard.

        Returns:
            Numerator and denominator.
        """
        return float(self).as_integer_ratio()

    def conjugate(self) -> SymFloat:
        """The number itself, as it is real.

        Returns:
            The number.
        """
        return self

    def hex(self) -> str:
        """The number as hexadecimal text; its value becomes a guard.

        Returns:
            The text.
        """
        return float(self).hex()


class SymBool(_Symbolic):
    """A bool whose value isn't known while a program is traced. Asking whether it is true is a guard.

    Args:
        node: what knows the condition.

    Example:
        >>> from tl_core.symbolic.numbers import SymBool
        >>> SymBool.__name__
        'SymBool'
    """

    __slots__ = ()
    _plain = bool

    def __bool__(self) -> bool:
        return bool(self.node.bool_())

    def __int__(self) -> int:
        return int(self.node.bool_())

    __and__ = _binary("sym_and")
    __rand__ = _binary("sym_and", reflected=True)
    __or__ = _binary("sym_or")
    __ror__ = _binary("sym_or", reflected=True)
    __invert__ = _unary("sym_not")

    def __sym_int__(self) -> Any:
        return _wrapped(self.node.sym_int())

    def __sym_float__(self) -> Any:
        return _wrapped(self.node.sym_int().sym_float())


# The functions of `math` that take symbolic numbers: `arithmetic._sym_sqrt` is one of them.
_OF_ANGLES = ("cos", "sin", "tan")
FUNCTIONS_OF_ONE = (
    *("sqrt", "exp", "log", "log2", "log10"),
    *(prefix + name + suffix for name in _OF_ANGLES for prefix, suffix in (("", ""), ("", "h"), ("a", ""))),
)
_ARITHMETIC = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "truediv",
    "floordiv": "floordiv",
    "mod": "mod",
    "lshift": "lshift",
    "rshift": "rshift",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}
for _special, _name in _ARITHMETIC.items():
    for _kind in (SymInt, SymFloat):
        if _kind is SymFloat and _special in ("lshift", "rshift", "and", "or", "xor"):
            continue
        setattr(_kind, f"__{_special}__", _binary(_name))
        setattr(_kind, f"__r{_special}__", _binary(_name, reflected=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    for _kind in (SymInt, SymFloat):
        setattr(_kind, f"__{_name}__", _binary(_name))
for _name in ("eq", "ne"):
    setattr(SymBool, f"__{_name}__", _binary(_name))
for _kind in (SymInt, SymFloat):
    _kind.__neg__ = _unary("neg")  # type: ignore[operator]
    _kind.__abs__ = _unary("abs")  # type: ignore[union-attr]
    _kind.__pos__ = lambda self: self  # type: ignore[operator]
    _kind.__sym_max__ = _binary("sym_max")  # type: ignore[union-attr]
    _kind.__sym_min__ = _binary("sym_min")  # type: ignore[union-attr]
SymInt.__sym_float__ = _unary("sym_float")  # type: ignore[attr-defined]
SymBool.__sym_not__ = _unary("sym_not")  # type: ignore[attr-defined]
for _name in FUNCTIONS_OF_ONE:
    for _kind in (SymInt, SymFloat):
        setattr(_kind, f"__sym_{_name}__", _unary(f"sym_{_name}"))


def _ite(self: SymBool, t: Any, f: Any) -> Any:
    return _wrapped(self.node.sym_ite(_node_like(self.node, t), _node_like(self.node, f)))


SymBool.__sym_ite__ = _ite  # type: ignore[attr-defined]
for _kind in (SymInt, SymFloat, SymBool):  # type: ignore[assignment]
    _kind.__hash__ = _Symbolic.__hash__  # type: ignore[method-assign]  # a class that defines __eq__ has none


_C._set_symbolic_types(SymInt, SymFloat, SymBool)
