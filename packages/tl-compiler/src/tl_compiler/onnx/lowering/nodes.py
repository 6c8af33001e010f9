"""The nodes of a graph of operators, each as nodes of an ONNX graph."""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import onnx_ir as ir
from onnxscript import OnnxFunction

import tl_core
from tl_core.operators.packets import OpOverload
from tl_core.schemas.tags import Tag

from ...fx.node import Node
from ..dtypes import DTYPE_OF_ONNX
from ..errors import OnnxExporterError
from ..symbolic_graph import SymbolicGraph
from .arguments import Arguments, accepts, result_dtype, signature_of
from .builder import LATER, OPSET, Builder, Recorder
from .function_table import Function, FunctionTable, names_of_node
from .shapes import describe, element_type
from .tensors import model_tensor

__all__ = ["GraphLowering", "NodeError"]

_CHECKS = frozenset(
    [
        "aten::_assert_async",
        "aten::_assert_scalar",
        "aten::_assert_tensor_metadata",
        "aten::sym_constrain_range",
        "aten::sym_constrain_range_for_size",
        "aten::_check_is_size",
    ]
)


class NodeError(OnnxExporterError):
    """A node has no translation, or its translation failed.

    Args:
        node: the node.
        reason: the reason.

    Args:
        node: the node.
        reason: the reason.
        names: the names of its operator.
    """

    def __init__(self, node: Node, reason: str) -> None:
        self.node, self.reason, self.names = node, reason, names_of_node(node)
        super().__init__(
            f"the node {node.name} ({node.target}) can't be exported to ONNX: {reason}{line_of(node)}"
        )


def line_of(node: Node) -> str:
    """The line of the program that called the operator of a node, as the end of a message.

    Args:
        node: the node.
    """
    stack = str(node.meta.get("stack_trace") or "").rstrip().splitlines()
    positions = [i for i, text in enumerate(stack) if text.lstrip().startswith("File ")]
    users = [i for i in positions if "/tl_nn/" not in stack[i] and "/tl_core/" not in stack[i]]
    if not positions:
        return ""
    start = (users or positions)[-1]
    text = "\n".join(stack[start : start + 2])
    return f"\nThe operator is called here:\n{text}"


class GraphLowering:
    """Lowers a graph of operators to an ONNX graph.

    Args:
        builder: the builder of the ONNX graph.
        table: the translations.
        module: the module with the graph and its subgraphs.
        names: names that the user chose for symbols of sizes.
    """

    def __init__(self, builder: Builder, table: FunctionTable, module: Any, names: Mapping[Any, str]) -> None:
        self.builder, self.table, self.module, self.names = builder, table, module, names
        self.values: dict[Node, Any] = {}
        self.recorder = Recorder(builder.root)

    def run(self) -> tuple[Any, ...]:
        """Lowers all nodes. The inputs must have values.

        Returns:
            The values of the outputs; numbers and None stay as they are.
        """
        for node in self.module.graph.nodes:
            if node.op == "output":
                result = Arguments(node, self.builder, self.values).plain(node.args[0])
                return tuple(result) if isinstance(result, list) else (result,)
            if node.op == "get_attr":
                self.values[node] = self._attribute(node)
            elif node.op == "call_function":
                self._lower(node)
            elif node.op != "placeholder":
                raise NodeError(node, f"nodes of kind {node.op} have no translation")
        return ()

    def _attribute(self, node: Node) -> Any:
        value: Any = self.module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if isinstance(value, tl_core.Tensor):
            return self.builder.initializer(model_tensor(value, str(node.target)))
        return value

    def _lower(self, node: Node) -> None:
        if node.target is operator.getitem and self._item(node):
            return
        if names_of_node(node)[-1].partition(".")[0] in _CHECKS:
            self.values[node] = None
            return
        root = self.builder.root
        before, root.origin = root.origin, origin_of(node)
        try:
            self.values[node] = self._describe_result(node, self._call(node))
        except NodeError:
            raise
        except Exception as error:
            raise NodeError(node, f"{type(error).__name__}: {error}") from error
        finally:
            root.origin = before

    def _item(self, node: Node) -> bool:
        """Whether the node takes one of several results, whose value is then known."""
        several = self.values.get(node.args[0])
        if not isinstance(several, (tuple, list)):
            return False
        self.values[node] = several[node.args[1]]
        return True

    # ---- the call
    def _call(self, node: Node) -> Any:
        from .control_flow import CONTROL_FLOW  # which lowers subgraphs by this class

        name = names_of_node(node)[-1]
        if name in CONTROL_FLOW and name not in self.table.custom:
            return CONTROL_FLOW[name](self, node)
        is_complex = _has_complex(node)
        function = self.table.of_node(node, is_complex)
        if function is None and _is_constant(node):
            return self.builder.initializer(model_tensor(node.target(*node.args, **node.kwargs), node.name))  # type: ignore[operator]  # an operator
        if function is None:
            kind = " for complex tensors" if is_complex else ""
            raise NodeError(node, f"the operator has no translation to ONNX's operators{kind}")
        return self._call_function(node, function)

    def _call_function(self, node: Node, function: Function) -> Any:
        arguments = Arguments(node, self.builder, self.values, function.is_complex)
        if function.kind == "library":
            return self._call_signature(
                function.call, arguments, arguments.for_signature(function.call.op_signature)
            )
        args = tuple(arguments.plain(a) for a in node.args)
        kwargs = {k: arguments.plain(v) for k, v in node.kwargs.items()}
        if function.kind == "own":
            return function.call(Call(self, node), *args, **kwargs)
        if function.kind == "symbolic":
            return function.call(SymbolicGraph(self, node), *args, *_placeless(kwargs).values())
        return self._call_custom(function.call, arguments, args, kwargs)

    def _call_custom(self, functions: list[Any], arguments: Arguments, args: Any, kwargs: Any) -> Any:
        """Calls the first of the user's functions whose parameters accept the arguments."""
        for function in functions:
            signature = signature_of(function)
            if len(functions) > 1 and not accepts(signature, args, kwargs):
                continue
            if hasattr(function, "op_signature"):
                return self._call_signature(function, arguments, arguments.for_signature(signature))
            return function(*args, **_placeless(kwargs))
        dtypes = [str(a.dtype) for a in args if isinstance(a, ir.Value)]
        raise TypeError(
            f"none of the {len(functions)} functions of the table accepts the element types {dtypes}"
        )

    def _call_signature(self, function: Any, arguments: Arguments, named: dict[str, Any]) -> Any:
        if isinstance(function, OnnxFunction):
            return self.recorder.eval_function(function, (), named)
        return function.func(**named)

    # ---- the result
    def _describe_result(self, node: Node, result: Any) -> Any:
        """The result as values of the builder, with type, shape and name of the node."""
        meta = node.meta.get("val")
        if (
            isinstance(meta, (tuple, list))
            and isinstance(result, ir.Value)
            and len(meta) == 1
            and not _is_sequence(result)
        ):
            result = [result]
        if isinstance(result, Sequence) and not isinstance(result, (str, ir.Value)):
            metas = meta if isinstance(meta, (tuple, list)) else [None] * len(result)
            parts = [self._value(r) for r in result]
            for i, (value, each) in enumerate(zip(parts, metas, strict=False)):
                self._name(value, f"{node.name}_{i}", each)
            return parts if isinstance(meta, (tuple, list)) or len(parts) != 1 else parts[0]
        value = self._value(result)
        self._name(value, node.name, meta)
        return value

    def _value(self, result: Any) -> Any:
        if result is None or isinstance(result, ir.Value):
            return result
        if isinstance(result, (bool, int, float)):
            return self.builder.constant(result)
        return result

    def _name(self, value: Any, name: str, meta: Any) -> None:
        if not isinstance(value, ir.Value) or value.producer() is None:
            return
        if isinstance(meta, (tuple, list)):
            return
        describe(value, meta, self.names)
        if value.name is None or value.name.startswith("val"):
            value.name = self.builder.unique(name)


class Call:
    """What a translation of tl's own gets: the operators of ONNX as attributes, and the node.

    Args:
        lowering: the lowering of the graph.
        node: the node.
    """

    def __init__(self, lowering: GraphLowering, node: Node) -> None:
        self.lowering, self.node, self.builder = lowering, node, lowering.builder

    @property
    def meta(self) -> Any:
        """The tensor, fake or number that the node returned."""
        return self.node.meta.get("val")

    def meta_of(self, position: int) -> Any:
        """The tensor, fake or number that an argument of the node stands for.

        Args:
            position: the position of the argument.
        """
        argument = self.node.args[position]
        return argument.meta.get("val") if isinstance(argument, Node) else argument

    def library(self, name: str, /, **named: Any) -> Any:
        """Calls a function of the library.

        Args:
            name: the name of the operator that it translates.
            named: its arguments.
        """
        function = self.lowering.table.library[name][0]
        if isinstance(function, OnnxFunction):
            return self.lowering.recorder.eval_function(function, (), named)
        return function.func(**named)

    def constant(self, value: Any, like: Any = None) -> Any:
        """A constant, of the element type of a value.

        Args:
            value: the number or list.
            like: the value.
        """
        return self.builder.constant(value, None if like is None else like.dtype)

    def like(self, value: Any, other: Any) -> Any:
        """A number as a constant of the element type of a value; a value is cast to it.

        Args:
            value: the number or value.
            other: the value with the element type.
        """
        if not isinstance(value, ir.Value):
            return self.builder.constant(value, other.dtype)
        return value if value.dtype == other.dtype else self.Cast(value, to=int(other.dtype))

    def size(self, value: Any, dim: int) -> Any:
        """A size of a value, as a vector of one integer.

        Args:
            value: the value.
            dim: the dimension.
        """
        rank = len(value.shape)
        number = value.shape[dim]
        if isinstance(number, int):
            return self.builder.constant([number])
        start = dim % rank
        return self.Shape(value, start=start, end=start + 1)

    @property
    def kind(self) -> Any:
        """ONNX's element type of the result."""
        return element_type(result_dtype(self.node))

    def limit(self, value: Any) -> float:
        """The greatest number of a value's element type.

        Args:
            value: the value.
        """
        return float(tl_core.finfo(DTYPE_OF_ONNX[int(value.dtype)]).max)

    def give_shape(self, value: Any, like: Any, shape: Any) -> Any:
        """A value with a type and shape that inference may have missed.

        Args:
            value: the value.
            like: a value of the same element type.
            shape: the shape.
        """
        value.type, value.shape = like.type, shape
        return value

    def later(self, name: str, version: int, *args: Any, **attributes: Any) -> Any:
        """Records a node of an operator that the function library's operator set lacks.

        Args:
            name: the operator.
            version: the first operator set that has it.
            args: inputs.
            attributes: attributes.
        """
        return self.builder.call_op(name, args, attributes, domain=LATER, version=version)

    def __getattr__(self, name: str) -> Any:
        def record(*args: Any, _outputs: int = 1, **attributes: Any) -> Any:
            builder = self.builder.root.innermost
            return builder.call_op(name, args, attributes, version=OPSET, outputs=_outputs)

        return record


def origin_of(node: Node) -> dict[str, str]:
    """Texts about a node for those of the ONNX graph: module, line and operator.

    Args:
        node: the node.
    """
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    names = [str(path) for path, _ in stack]
    classes = [c if isinstance(c, str) else f"{c.__module__}.{c.__qualname__}" for _, c in stack]
    scopes = [f"{n}: {c}" for n, c in zip(names, classes, strict=True)]
    return {
        "namespace": "/".join([*scopes, f"{node.name}: {node.target}"]),
        "pkg.torch.onnx.class_hierarchy": json.dumps([*classes, str(node.target)]),
        "pkg.torch.onnx.name_scopes": json.dumps([*names, node.name]),
        "pkg.torch.onnx.fx_node": node.format_node() or str(node),
        "pkg.torch.onnx.stack_trace": str(node.meta.get("stack_trace") or ""),
    }


def _has_complex(node: Node) -> bool:
    def is_complex(value: Any) -> bool:
        if isinstance(value, Node):
            value = value.meta.get("val")
        if isinstance(value, (list, tuple)):
            return any(map(is_complex, value))
        return isinstance(value, tl_core.Tensor) and value.dtype.is_complex

    return any(map(is_complex, (*node.args, *node.kwargs.values())))


def _is_constant(node: Node) -> bool:
    """Whether a node is a tensor that follows from numbers, such as the indices of a triangle."""
    target: Any = node.target
    meta = node.meta.get("val")
    return (
        isinstance(target, OpOverload)
        and not node.all_input_nodes
        and isinstance(meta, tl_core.Tensor)
        and not meta.dtype.is_complex
        and Tag.nondeterministic_seeded not in target.tags
    )


def _is_sequence(value: Any) -> bool:
    return isinstance(value.type, ir.SequenceType)


def _placeless(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in kwargs.items() if k not in ("device", "layout", "pin_memory", "memory_format")}
