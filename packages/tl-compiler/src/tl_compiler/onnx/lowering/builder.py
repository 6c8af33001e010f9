"""The builder of an ONNX graph, and the evaluator through which the function library calls it.

onnxscript's builder records the nodes and infers their shapes. This one creates values that compute, keeps names unique
in nested graphs, and knows how many outputs a node has.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import onnx
import onnx_ir as ir
from onnxscript import GraphBuilder, OnnxFunction, evaluator
from onnxscript.values import OnnxClosure, TracedOnnxFunction

from ..errors import UnsupportedOperatorError
from .values import Value, constant_of

__all__ = ["LATER", "OPSET", "Builder", "Recorder", "recording"]

OPSET = 18  # the operator set of the function library
_NUMBERS = (ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.INT32, ir.DataType.INT64, ir.DataType.BOOL)
LATER = "tl.later"  # the domain, until the end, of nodes that a later operator set has


class Builder(GraphBuilder):
    """Records nodes in a graph.

    Args:
        graph: the graph.
        parent: the builder of the graph around it.

    Args:
        innermost: of the outermost builder: the builder that records now.
        origin: texts about the operator that is lowered now. Each new node gets them.
    """

    def __init__(self, graph: Any, parent: Builder | None = None) -> None:
        super().__init__(graph, parent=parent)
        self.innermost: Builder = self
        self.origin: dict[str, str] = {}
        if parent is None:
            self._constants: dict[Any, Value] = {}
            self._names: dict[str, int] = {}
            self.shared_origin = self.origin

    # ---- names
    def unique(self, name: str) -> str:
        """A name that no other value or node of the model has.

        Args:
            name: the name, which is returned if it is free.
        """
        names = self.root._names
        count = names.get(name)
        names[name] = 0 if count is None else count + 1
        return name if count is None else self.unique(f"{name}_{count + 1}")

    def _generate_node_name(self, op_type: str) -> str:
        return self.unique(f"node_{op_type}")

    def _adapt_outputs(self, outputs: Any, op_type: str) -> Sequence[ir.Value]:
        if isinstance(outputs, int):
            return [self.value(self.unique("val")) for _ in range(outputs)]
        return [o if isinstance(o, ir.Value) else self.value(self.unique(o)) for o in outputs]

    def _qualify_value_name(self, name: str) -> str:
        return self.unique(name)

    def _annotate_node(self, node: Any) -> None:
        node.metadata_props.update(self.root.origin)

    # ---- values
    def value(self, name: str, type: Any = None, shape: Any = None, const_value: Any = None) -> Value:
        """A value of this builder.

        Args:
            name: the name.
            type: the type.
            shape: the shape.
            const_value: the tensor, if it is constant.
        """
        result = Value(name=name, type=type, shape=shape, const_value=const_value)
        result.builder = self
        return result

    def initializer(self, tensor: Any, name: str | None = None, *, qualify: bool = False) -> Value:
        """A tensor of the model.

        Args:
            tensor: the tensor.
            name: its name.
            qualify: ignored.
        """
        name = self.unique(name or tensor.name or "constant")
        tensor.name = name
        result = self.root.value(name, ir.TensorType(tensor.dtype), ir.Shape(tensor.shape), tensor)
        self.root.graph.register_initializer(result)
        return result

    def constant(self, value: Any, dtype: Any = None) -> Value:
        """A constant of the model: a number, a text, a list of them or an array.

        Args:
            value: the number, text, list or array.
            dtype: ONNX's element type. By default integers are INT64 and floats FLOAT.
        """
        if isinstance(value, (list, tuple)) and not value:
            dtype = ir.DataType.INT64 if dtype is None else dtype
        if isinstance(value, (bool, int, float, str, list, tuple)):
            key = (repr(value), dtype)
            if key not in self.root._constants:
                data = ir.tensor(list(value) if isinstance(value, tuple) else value, dtype=dtype)
                self.root._constants[key] = self.initializer(data, _constant_name(value))
            return self.root._constants[key]
        return self.initializer(ir.tensor(value, dtype=dtype))

    def _promote_constant(self, value: Any, dtype: Any) -> Value:
        if isinstance(value, ir.TensorProtocol):
            return self.initializer(value)
        if isinstance(value, (list, tuple)) and any(isinstance(v, ir.Value) for v in value):
            return self.vector(value, dtype)
        return self.constant(value, dtype)

    def vector(self, items: Sequence[Any], dtype: Any = None) -> Value:
        """One-dimensional value of numbers, some of which are values of the graph.

        Args:
            items: numbers and values.
            dtype: ONNX's element type of the numbers.
        """
        parts: list[Any] = []
        run: list[Any] = []
        for item in items:
            if isinstance(item, ir.Value):
                if run:
                    parts.append(self.constant(run, dtype or ir.DataType.INT64))
                    run = []
                flat = item.shape is not None and len(item.shape) == 1
                parts.append(item if flat else self.call_op("Reshape", (item, [-1]), {}))
            else:
                run.append(item)
        if run:
            parts.append(self.constant(run, dtype or ir.DataType.INT64))
        return parts[0] if len(parts) == 1 else self.call_op("Concat", parts, {"axis": 0})

    # ---- nodes
    @staticmethod
    @functools.cache
    def _schema(op_type: str, domain: str, version: int) -> Any:
        try:
            return onnx.defs.get_schema(op_type, version, domain)
        except onnx.defs.SchemaError:
            return None

    def _get_schema(self, op_type: str, domain: str, version: int | None) -> Any:
        return None if version is None else self._schema(op_type, domain, version)

    def _partition_inputs_attributes(self, schema: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Arguments are inputs and keywords attributes already, except for inputs that were named."""
        if schema is None or not kwargs:
            return args, kwargs
        positions = {p.name: i for i, p in enumerate(schema.inputs)}
        named = {positions[key]: key for key in kwargs if key in positions and key not in schema.attributes}
        if not named:
            return args, kwargs
        args, kwargs = list(args), dict(kwargs)
        for position, key in sorted(named.items()):
            args += [None] * (position + 1 - len(args))
            args[position] = kwargs.pop(key)
        return args, kwargs

    def call_op(
        self,
        op_type: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        /,
        domain: str = "",
        version: int | None = None,
        outputs: Any = 1,
        name: str | None = None,
    ) -> Any:
        """Records a node and returns its outputs. See onnxscript's `GraphBuilder.call_op`."""
        if version is None:
            version = self.graph.opset_imports.setdefault(domain, 1)
        elif domain not in self.graph.opset_imports:
            self.graph.opset_imports[domain] = version
        attributes = {key: value for key, value in kwargs.items() if value is not None}
        return super().call_op(
            op_type, args, attributes, domain=domain, version=version, outputs=outputs, name=name
        )

    # ---- nested graphs
    @contextlib.contextmanager
    def open_graph(self, name: str) -> Iterator[Builder]:
        """A builder of a graph inside this one, which records until the end of the block.

        Args:
            name: the name of the graph.
        """
        graph = ir.Graph([], [], nodes=[], opset_imports=dict(self.graph.opset_imports), name=name)
        inner, root = Builder(graph, self), self.root
        before, root.innermost = root.innermost, inner
        try:
            yield inner
        finally:
            root.innermost = before


def _constant_name(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "constant_list"
    return "constant_text" if isinstance(value, str) else f"constant_{value}"


class Recorder:
    """The evaluator of onnxscript during an export: a call of an operator is a node.

    Args:
        builder: the outermost builder.
    """

    def __init__(self, builder: Builder) -> None:
        self.builder = builder

    def eval_op(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Records a node of an operator.

        Args:
            op: the operator.
            args: inputs.
            kwargs: attributes.
        """
        schema = op.op_schema
        attributes = {k: v for k, v in kwargs.items() if v is not None}
        if op.name == "Constant" and op.domain == "" and len(attributes) == 1:
            return self._constant(*attributes.popitem())
        outputs = attributes.pop("_outputs", None)
        if outputs is None:
            outputs = 1 if schema is None else _output_count(schema, args, attributes)
        attributes = {k: self._attribute(v) for k, v in attributes.items()}
        version = OPSET if op.domain == "" else op.opset.version
        return self.builder.innermost.call_op(
            op.name, args, attributes, domain=op.domain, version=version, outputs=outputs
        )

    def _constant(self, name: str, value: Any) -> Value:
        """A constant as a tensor of the model, which spares the optimizer a node."""
        value = value.value if isinstance(value, ir.Attr) else value
        if name == "value":
            tensor = ir.from_proto(value) if isinstance(value, onnx.TensorProto) else value
            if tensor.size == 1 and tensor.dtype in _NUMBERS:
                return self.builder.constant(tensor.numpy().tolist(), tensor.dtype)
            return self.builder.initializer(tensor)
        return self.builder.constant(value)

    def _attribute(self, value: Any) -> Any:
        if isinstance(value, OnnxClosure):
            return value.function_ir.graph.clone(allow_outer_scope_values=True)
        return value

    def eval_function(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Calls a function of the library: a traced function runs, a scripted one becomes a node.

        Args:
            function: the function.
            args: arguments.
            kwargs: arguments by name.
        """
        if isinstance(function, TracedOnnxFunction):
            return function.func(*args, **kwargs)
        if not isinstance(function, OnnxFunction):
            raise UnsupportedOperatorError(str(function), OPSET)
        builder = self.builder.innermost
        inputs, attributes = _split(function.op_signature, args, kwargs)
        builder.graph.opset_imports.setdefault(function.function_ir.domain, 1)
        return builder.call(function, *inputs, **attributes)


def _split(
    signature: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The inputs in order and the attributes by name."""
    inputs: list[Any] = []
    attributes: dict[str, Any] = {}
    for position, parameter in enumerate(signature.params):
        has_value = position < len(args) or parameter.name in kwargs
        value = args[position] if position < len(args) else kwargs.get(parameter.name)
        if parameter.is_param():
            inputs.append(value)
        elif has_value and value is not None:
            attributes[parameter.name] = value
        elif parameter.default is not None:
            attributes[parameter.name] = parameter.default
    while inputs and inputs[-1] is None:
        inputs.pop()
    return inputs, attributes


def _output_count(schema: Any, args: Sequence[Any], attributes: Mapping[str, Any]) -> int:
    name = schema.name
    if name == "Split":
        if attributes.get("num_outputs") is not None:
            return int(attributes["num_outputs"])
        sizes = args[1]
        if isinstance(sizes, (list, tuple)):
            return len(sizes)
        constant = constant_of(sizes)
        if constant is not None:
            return len(constant)
        if sizes.shape is not None and isinstance(sizes.shape[0], int):
            return int(sizes.shape[0])
        raise UnsupportedOperatorError("Split into an unknown number of parts", OPSET)
    if name == "BatchNormalization":
        return 3 if attributes.get("training_mode") else 1
    if name in ("Loop", "Scan"):
        body = attributes["body"]
        body = body.function_ir.graph if isinstance(body, OnnxClosure) else body
        return len(body.outputs) - (name == "Loop")
    if name == "If":
        return len(attributes["then_branch"].outputs)
    return len(schema.outputs)


@contextlib.contextmanager
def recording(builder: Builder) -> Iterator[None]:
    """Operators of onnxscript are recorded by a builder inside.

    Args:
        builder: the outermost builder.
    """
    with evaluator.default_as(Recorder(builder)):
        yield
