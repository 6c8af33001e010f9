"""The arguments of a translation, from those of a node: by the operator's schema and the function's signature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import onnx_ir as ir
from onnxscript.values import Opset, TracedOnnxFunction

import tl_core
from tl_core.operators.packets import OpOverload
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from ...fx.node import Node
from ..dtypes import onnx_dtype
from .values import constant_of

__all__ = ["Arguments", "accepts", "named_arguments", "promote", "result_dtype", "signature_of"]

_DEVICES = (tl_core.device, tl_core.layout, tl_core.memory_format)
_NUMBERS = (bool, int, float, complex)


def named_arguments(node: Node) -> dict[str, Any] | None:
    """The arguments of a node by the names of its operator's schema; None if it has no schema.

    Args:
        node: the node.
    """
    target: Any = node.target
    if not isinstance(target, OpOverload):
        return None
    arguments = target._schema.arguments
    names = [a.name for a in arguments if not a.kwarg_only]
    named = dict(zip(names, node.args, strict=False))
    return {**named, **node.kwargs}


def schema_defaults(node: Node) -> dict[str, Any]:
    """The defaults of an operator's schema by name.

    Args:
        node: a node that calls the operator.
    """
    target: Any = node.target
    return {a.name: a.default_value for a in target._schema.arguments if a.has_default_value()}


def result_dtype(node: Node) -> Any:
    """The element type of a node's result, or of the first of several; None if it is no tensor.

    Args:
        node: the node.
    """
    value = node.meta.get("val")
    while isinstance(value, (tuple, list)) and value:
        value = value[0]
    if isinstance(value, tl_core.Tensor):
        return value.dtype
    return None


class Arguments:
    """Converts the arguments of a node for a function of the library.

    Args:
        node: the node.
        builder: the builder of the graph.
        values: the values of the model, by node.
        is_complex: whether the function takes complex numbers as pairs.
    """

    def __init__(
        self, node: Node, builder: Any, values: Mapping[Node, Any], is_complex: bool = False
    ) -> None:
        self.node, self.builder, self.values, self.is_complex = node, builder, values, is_complex

    def plain(self, value: Any) -> Any:
        """An argument in which nodes are values and element types numbers. Devices and layouts become None.

        Args:
            value: the argument.
        """
        if isinstance(value, Node):
            return self.values[value]
        if isinstance(value, tl_core.dtype):
            return int(onnx_dtype(value))
        if isinstance(value, _DEVICES):
            return None
        if isinstance(value, (list, tuple)):
            return [self.plain(v) for v in value]
        return value

    # ---- the library's functions
    def for_signature(self, signature: Any) -> dict[str, Any]:
        """The arguments by the names of a function's parameters.

        Args:
            signature: the signature of the function.
        """
        arguments = self._by_parameter(signature)
        dtypes = self._bound_types(signature, arguments)
        result = {}
        for parameter in signature.params:
            if parameter.name not in arguments:
                continue
            value = self.plain(arguments[parameter.name])
            if self.is_complex and parameter.is_param():
                value = self._pair(value, arguments[parameter.name], parameter.name)
            if parameter.is_param():
                result[parameter.name] = self._input(value, parameter, dtypes)
            elif value is not None:
                result[parameter.name] = self._attribute(value)
        return result

    def _pair(self, value: Any, argument: Any, name: str) -> Any:
        """An argument of a function of complex numbers: real tensors and numbers become pairs."""
        if isinstance(argument, (list, tuple)):
            metas = [a.meta.get("val") for a in argument if isinstance(a, Node)]
            if not any(isinstance(m, tl_core.Tensor) and m.dim() for m in metas):
                return value  # sizes
            return [self._pair(v, a, name) for v, a in zip(value, argument, strict=True)]
        dtype = result_dtype(self.node)
        if isinstance(value, _NUMBERS) and self._is_operand(name):
            kind = ir.DataType(onnx_dtype(dtype.to_real() if dtype.is_complex else dtype))
            return self.builder.constant([complex(value).real, complex(value).imag], kind)
        meta = argument.meta.get("val") if isinstance(argument, Node) else None
        if not isinstance(meta, tl_core.Tensor) or meta.dtype.is_complex:
            return value
        call = self.builder.call_op
        column = call("Unsqueeze", (value, [-1]), {})
        zero = call("Mul", (column, 0), {})
        return call("Concat", (column, zero), {"axis": -1})

    def _is_operand(self, name: str) -> bool:
        """Whether the operator's schema calls an argument a tensor or number, and not a size or dimension."""
        types = {a.name: str(a.type) for a in self.node.target._schema.arguments}  # type: ignore[union-attr]  # an operator
        return types.get(name, "").rstrip("?") in ("Tensor", "Scalar", "number")

    def _by_parameter(self, signature: Any) -> dict[str, Any]:
        parameters = [p.name for p in signature.params]
        named = named_arguments(self.node)
        if named is None:
            return {**dict(zip(parameters, self.node.args, strict=False)), **self.node.kwargs}
        unknown = [n for n in named if n not in parameters]
        if unknown:
            order = [a.name for a in self.node.target._schema.arguments]  # type: ignore[union-attr]  # an operator
            for name in unknown:
                position = order.index(name)
                if position < len(parameters) and parameters[position] not in order:
                    named[parameters[position]] = named[name]
                del named[name]
        defaults = schema_defaults(self.node)
        for parameter in signature.params:
            needed = parameter.required and not parameter.has_default()
            if needed and parameter.name not in named and parameter.name in defaults:
                named[parameter.name] = defaults[parameter.name]
        return named

    def _bound_types(self, signature: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """ONNX's element type of each type variable that parameters share, as the operator promotes them."""
        groups: dict[str, list[Any]] = {}
        for parameter in signature.params:
            if parameter.is_param() and parameter.name in arguments:
                groups.setdefault(parameter.type_constraint.name, []).append(arguments[parameter.name])
        result = {}
        outputs = [p.type_constraint.name for p in signature.outputs[:1]]
        for name, members in groups.items():
            dtype = self._common_dtype(members)
            out = result_dtype(self.node)
            if name in outputs and out is not None and dtype is not None and not out.is_complex:
                dtype = out
            if dtype is not None and not dtype.is_complex:
                result[name] = ir.DataType(onnx_dtype(dtype))
        return result

    def _common_dtype(self, members: Sequence[Any]) -> Any:
        operands = [m for m in _leaves(members) if isinstance(m, (tl_core.Tensor, *_NUMBERS))]
        tensors = [m for m in operands if isinstance(m, tl_core.Tensor)]
        if not tensors:
            return None
        dtype = tensors[0].dtype
        if all(t.dtype == dtype for t in tensors) and len(tensors) == len(operands):
            return dtype
        return promote(operands)

    def _input(self, value: Any, parameter: Any, dtypes: Mapping[str, Any]) -> Any:
        dtype = dtypes.get(parameter.type_constraint.name)
        if isinstance(value, ir.Value):
            return self._cast(value, dtype)
        if isinstance(value, (list, tuple)):
            if parameter.variadic or _is_sequence(parameter) or None in value:
                return [self._cast(v, dtype) for v in value]
            if any(isinstance(v, ir.Value) for v in value):
                tensors = all(isinstance(v, ir.Value) and v.shape is not None and len(v.shape) for v in value)
                return list(value) if tensors else self.builder.vector(value, ir.DataType.INT64)
            return list(value)
        if isinstance(value, _NUMBERS) and dtype is not None:
            return self.builder.constant(value, dtype)
        return value

    def _cast(self, value: Any, dtype: Any) -> Any:
        if not isinstance(value, ir.Value) or dtype is None or value.dtype is None or value.dtype == dtype:
            return value
        if value.dtype in (ir.DataType.STRING, ir.DataType.COMPLEX64, ir.DataType.COMPLEX128):
            return value
        return self.builder.call_op("Cast", (value,), {"to": int(dtype)})

    def _attribute(self, value: Any) -> Any:
        if isinstance(value, ir.Value):
            constant = constant_of(value)
            return value if constant is None else constant.tolist()
        if isinstance(value, list):
            return [self._attribute(v) for v in value]
        return value


def _is_sequence(parameter: Any) -> bool:
    return any(isinstance(t, ir.SequenceType) for t in parameter.type_constraint.allowed_types)


def _leaves(members: Any) -> Iterator[Any]:
    for member in members:
        if isinstance(member, (list, tuple)):
            yield from _leaves(member)
        elif isinstance(member, Node):
            yield from _leaves([member.meta.get("val")])
        elif isinstance(member, SymInt):
            yield 1
        elif isinstance(member, SymFloat):
            yield 1.0
        elif isinstance(member, SymBool):
            yield True
        else:
            yield member


def promote(operands: Sequence[Any]) -> Any:
    """The element type in which an operator computes with tensors and numbers.

    Args:
        operands: tensors, fakes and numbers.
    """
    states = [
        tl_core.empty((1,) if o.dim() else (), dtype=o.dtype, device="meta")
        if isinstance(o, tl_core.Tensor)
        else o
        for o in operands
    ]
    total = states[0]
    for other in states[1:]:
        dtype = tl_core.result_type(total, other)
        dims = max((s.dim() for s in (total, other) if isinstance(s, tl_core.Tensor)), default=-1)
        total = (
            tl_core.empty((1,) * max(dims, 0), dtype=dtype, device="meta")
            if dims >= 0
            else max(
                (total, other),
                key=lambda n: (isinstance(n, complex), isinstance(n, float), isinstance(n, int)),
            )
        )
    return total.dtype


def signature_of(function: Any) -> Any:
    """The signature of a function of onnxscript, or of a plain function by its annotations.

    Args:
        function: the function.
    """
    if hasattr(function, "op_signature"):
        return function.op_signature
    return TracedOnnxFunction(Opset("tl.user", 1), function).op_signature


def accepts(signature: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether the inputs of a function accept the element types of values.

    Args:
        signature: the signature of the function.
        args: the values.
        kwargs: those by keyword.
    """
    named = {**dict(zip((p.name for p in signature.params), args, strict=False)), **kwargs}
    for parameter in signature.params:
        value = named.get(parameter.name)
        kind = value.type if parameter.is_param() and isinstance(value, ir.Value) else None
        if kind is not None and kind not in parameter.type_constraint.allowed_types:
            return False
    return True
