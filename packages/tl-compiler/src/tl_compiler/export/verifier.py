"""Checks of exported programs."""

from __future__ import annotations

from typing import Any, ClassVar

from tl_core.operators.packets import OpOverload

from ..fx.node import Node
from ..symbolic.python_operators import PYTHON_OPERATORS, ROUNDING
from .graph_signature import ConstantArgument, InputKind, OutputKind

__all__ = ["SpecViolationError", "TrainingIRVerifier", "Verifier", "load_verifier"]


class SpecViolationError(Exception):
    """An exported program is not well formed."""


class Verifier:
    """Checks that a program holds only operators, and that its signature fits its graph."""

    dialect: ClassVar[str] = "ATEN"
    _dialects: ClassVar[dict[str, type[Verifier]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Verifier._dialects.setdefault(cls.dialect, cls)

    def allowed_builtin_ops(self) -> tuple[Any, ...]:
        """The functions of Python that a graph may call.

        Returns:
            The functions.
        """
        return (*PYTHON_OPERATORS.values(), *ROUNDING.values())

    def allowed_op_types(self) -> tuple[type, ...]:
        """The classes of operators that a graph may call.

        Returns:
            The classes.
        """
        from ..higher_order.base import HigherOrderOperator

        return (OpOverload, HigherOrderOperator)

    def check_valid_op(self, op: Any) -> None:
        """Raises for an operator that may not stand in a graph; subclasses refuse more.

        Args:
            op: the operator.
        """

    def check_additional(self, gm: Any) -> None:
        """Further checks of subclasses.

        Args:
            gm: the graph module.
        """

    def check(self, ep: Any) -> None:
        """Checks a program.

        Args:
            ep: the program.

        Raises:
            SpecViolationError: it is not well formed.
        """
        self._check_graph_module(ep.graph_module)
        _check_signature(ep)

    def _check_graph_module(self, gm: Any) -> None:
        gm.graph.lint()
        for node in gm.graph.nodes:
            if node.op == "call_method":
                raise SpecViolationError(f"call_method can't be used in exported programs: {node.target}")
            if node.op == "call_module":
                raise SpecViolationError(
                    f"call_module is not valid: got a class '{node.target}', which is not allowed"
                )
            if node.op == "call_function":
                self._check_target(node)
        self.check_additional(gm)

    def _check_target(self, node: Node) -> None:
        from tl_core.symbolic import arithmetic as symbolic

        target = node.target
        if isinstance(target, self.allowed_op_types()):
            self.check_valid_op(target)
            return
        if any(target is f for f in self.allowed_builtin_ops()):
            return
        name = getattr(target, "__name__", "")
        if getattr(target, "__module__", "") == symbolic.__name__ or name.startswith(("sym_", "_sym_")):
            return
        raise SpecViolationError(
            f"Operator '{target}' is not an allowed operator type: {self.allowed_op_types()}\n"
            f"Valid builtin ops: {self.allowed_builtin_ops()}"
        )


class TrainingIRVerifier(Verifier):
    """Checks programs that may still be differentiated, and write to their inputs."""

    dialect: ClassVar[str] = "TRAINING"


Verifier._dialects["ATEN"] = Verifier


def load_verifier(dialect: str) -> type[Verifier]:
    """The verifier of a dialect.

    Args:
        dialect: its name.
    """
    return Verifier._dialects.get(dialect, Verifier)


def _check_signature(ep: Any) -> None:
    signature, graph = ep.graph_signature, ep.graph
    inputs = [n.name for n in graph.nodes if n.op == "placeholder"]
    if len(inputs) != len(signature.input_specs):
        raise SpecViolationError(
            f"Number of inputs in the graph ({len(inputs)}) does not match the signature ({len(signature.input_specs)})"
        )
    for spec, name in zip(signature.input_specs, inputs, strict=True):
        if spec.kind is not InputKind.USER_INPUT and spec.arg.name != name:
            raise SpecViolationError(f"Input {name} is {spec.arg.name} in the signature")
        if spec.kind is InputKind.PARAMETER and spec.target not in ep.state_dict:
            raise SpecViolationError(f"Parameter {spec.target} is not in the state dict.")
        if spec.kind is InputKind.BUFFER:
            tensors = ep.state_dict if spec.persistent else ep.constants
            if spec.target not in tensors:
                raise SpecViolationError(f"Buffer {spec.target} is not in the state dict.")
        if spec.kind is InputKind.CONSTANT_TENSOR and spec.target not in ep.constants:
            raise SpecViolationError(f"Constant {spec.target} is not among the constants.")
    outputs = list(graph.output_node().args[0])
    if len(outputs) != len(signature.output_specs):
        raise SpecViolationError(
            f"Number of output nodes {len(outputs)} is different from the number of outputs in the signature "
            f"{len(signature.output_specs)}"
        )
    for spec, node in zip(signature.output_specs, outputs, strict=True):
        if isinstance(spec.arg, ConstantArgument):
            continue
        if not isinstance(node, Node) or node.name != spec.arg.name:
            raise SpecViolationError(f"Output {node} is {spec.arg.name} in the signature")
        if spec.kind is OutputKind.BUFFER_MUTATION and spec.target not in signature.buffers:
            raise SpecViolationError(f"Buffer output {spec.target} does not point to a buffer that exists.")
