"""The graph that symbolic functions get as their first argument."""

from __future__ import annotations

from typing import Any

from .errors import UnsupportedOperatorError

__all__ = ["SymbolicGraph"]

_KINDS = ("_i", "_f", "_s", "_t", "_g")


class SymbolicGraph:
    """The graph of a symbolic function: `g.op("Add", x, y)` records a node.

    Args:
        lowering: the lowering of the graph.
        node: the node that the function translates.

    Args:
        lowering: as above.
        builder: the builder of the model's graph.
        original_node: the node that the function translates.
    """

    def __init__(self, lowering: Any, node: Any) -> None:
        self.lowering, self.builder, self.original_node = lowering, lowering.builder, node

    @property
    def opset(self) -> int:
        """The operator set of the recorded nodes."""
        return int(self.builder.graph.opset_imports[""])

    def op(self, opname: str, *raw_args: Any, outputs: int = 1, **kwargs: Any) -> Any:
        """Records a node.

        Args:
            opname: the operator, `name` or `domain::name`.
            raw_args: the inputs: values, or numbers, which become constants.
            outputs: the number of outputs.
            kwargs: attributes, whose names end with their kind: `axis_i`, `alpha_f`, `mode_s`, `value_t`.

        Returns:
            The output, or a tuple of the outputs.
        """
        domain, _, name = opname.rpartition("::")
        domain = "" if domain == "onnx" else domain
        attributes = {
            _plain_name(key): _plain_value(value) for key, value in kwargs.items() if value is not None
        }
        result = self.builder.call_op(name, raw_args, attributes, domain=domain, outputs=outputs)
        return tuple(result) if outputs > 1 else result

    def at(self, operator: str, *args: Any, overload_name: str = "", **kwargs: Any) -> Any:
        """Records a node of the domain `aten`, which runtimes of PyTorch's former exporter knew.

        Args:
            operator: the name of the operator.
            args: the inputs.
            overload_name: the overload.
            kwargs: attributes as for `op`.
        """
        return self.op(f"aten::{operator}", *args, overload_name_s=overload_name, **kwargs)

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Records what an operator becomes.

        Args:
            name: the name of the operator in aten.
            args: its arguments.
            kwargs: its arguments by name.

        Raises:
            UnsupportedOperatorError: the operator has no translation.
        """
        library = self.lowering.table.library
        names = [n for n in library if n == f"aten::{name}" or n.startswith(f"aten::{name}.")]
        if not names:
            raise UnsupportedOperatorError(f"aten::{name}", self.opset)
        function = library[min(names, key=len)][0]
        if hasattr(function, "func"):
            return function.func(*args, **kwargs)
        return self.lowering.recorder.eval_function(function, args, kwargs)


def _plain_name(key: str) -> str:
    if key.endswith(_KINDS):
        return key[:-2]
    raise ValueError(f"g.op(): the attribute {key!r} must end with one of {', '.join(_KINDS)}")


def _plain_value(value: Any) -> Any:
    import onnx_ir as ir

    import tl_core

    if isinstance(value, tl_core.Tensor):
        from .lowering.tensors import model_tensor

        return model_tensor(value, "")
    if isinstance(value, (list, tuple)):
        return [_plain_value(v) for v in value]
    return int(value) if isinstance(value, (bool, ir.DataType)) else value
