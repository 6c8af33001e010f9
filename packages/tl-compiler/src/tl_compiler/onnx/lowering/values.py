"""Values of an ONNX graph that compute: `x + 1` is a node. The function library needs such values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx_ir as ir

__all__ = ["Value", "constant_of"]


class Value(ir.Value):
    """A value of a graph under construction.

    Args:
        builder: the builder of the graph that contains the value.
    """

    builder: Any = None

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None."""
        return None if self.shape is None else len(self.shape)

    def _call(self, name: str, *args: Any) -> Any:
        return self.builder.root.innermost.call_op(name, args, {})

    def __eq__(self, other: Any) -> Any:
        if other is None or isinstance(other, ir.Value):
            return self is other
        return self._call("Equal", self, other)

    def __hash__(self) -> int:
        return id(self)

    def __ne__(self, other: Any) -> Any:
        if other is None or isinstance(other, ir.Value):
            return self is not other
        return self._call("Not", self == other)

    def __neg__(self) -> Any:
        return self._call("Neg", self)

    def __invert__(self) -> Any:
        return self._call("Not", self)

    def __bool__(self) -> bool:
        value = constant_of(self)
        if value is None:
            raise TypeError(f"the value {self.name} is unknown during the export, so no condition can use it")
        return bool(value)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, int):
            raise TypeError(f"values of a graph are indexed by integers only, got {index!r}")
        return self._call("Gather", self, index)


def _binary(name: str, reflected: bool = False) -> Callable[[Value, Any], Any]:
    def method(self: Value, other: Any) -> Any:
        args = (other, self) if reflected else (self, other)
        return self._call(name, *args)

    return method


for _method, _name in (
    *(("add", "Add"), ("sub", "Sub"), ("mul", "Mul"), ("truediv", "Div"), ("pow", "Pow"), ("mod", "Mod")),
    *(("matmul", "MatMul"), ("and", "And"), ("or", "Or"), ("xor", "Xor")),
):
    setattr(Value, f"__{_method}__", _binary(_name))
    setattr(Value, f"__r{_method}__", _binary(_name, reflected=True))
for _method, _name in (("lt", "Less"), ("le", "LessOrEqual"), ("gt", "Greater"), ("ge", "GreaterOrEqual")):
    setattr(Value, f"__{_method}__", _binary(_name))


def constant_of(value: Any) -> Any:
    """The array of a value that is constant, or None.

    Args:
        value: a value of a graph.
    """
    tensor = getattr(value, "const_value", None)
    return None if tensor is None else tensor.numpy()
