"""The tracer of the graph mode: layers and modules that the user names are one call each."""

from __future__ import annotations

import operator
from typing import Any

from tl_compiler.fx import Tracer
from tl_compiler.fx.proxy import Scope, ScopeContextManager

from ..nn.intrinsic.modules.fused import _FusedModule
from ..packed.half import HalfLinear
from ..packed.linear import PackedLinear
from ..packed.windows import ConvolutionWindows

__all__ = ["QuantizationTracer", "Scope", "ScopeContextManager"]

# Operators that write their first operand, and those that PyTorch records for them: a quantized sum is a new tensor.
_WITHOUT_WRITE = {
    operator.iadd: operator.add,
    operator.imul: operator.mul,
    operator.isub: operator.sub,
    operator.imatmul: operator.matmul,
}


_PACKED = (PackedLinear, HalfLinear, ConvolutionWindows)


class QuantizationTracer(Tracer):
    """Records a model, with layers, fused layers and named modules as single calls.

    Args:
        skipped_module_names: the modules that are one call, by name.
        skipped_module_classes: the classes whose modules are one call.

    Example:
        >>> import tl_nn
        >>> model = tl_nn.Sequential(tl_nn.Linear(2, 2), tl_nn.ReLU())
        >>> [node.op for node in QuantizationTracer([], []).trace(model).nodes]
        ['placeholder', 'call_module', 'call_module', 'output']
    """

    def __init__(self, skipped_module_names: list[str], skipped_module_classes: list[Any]) -> None:
        super().__init__()
        self.skipped_module_names = skipped_module_names
        self.skipped_module_classes = skipped_module_classes
        self.record_stack_traces = True

    def create_node(self, kind: str, target: Any, *args: Any, **kwargs: Any) -> Any:
        """Records a node; `y += x` is `y + x`.

        Args:
            kind: the kind of the node.
            target: the function, the method's name or the module's.
            *args: further arguments of `Tracer.create_node`.
            **kwargs: those by keyword.
        """
        target = _WITHOUT_WRITE.get(target, target) if kind == "call_function" else target
        return super().create_node(kind, target, *args, **kwargs)

    def create_arg(self, a: Any) -> Any:
        """An argument as the graph has it. A packed weight of the model is read by its name.

        Args:
            a: the argument.
        """
        if isinstance(a, _PACKED):
            name = next((name for name, value in vars(self.root).items() if value is a), None)
            if name is not None:
                return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Whether a module is one call.

        Args:
            m: the module.
            module_qualified_name: its name.
        """
        return (
            super().is_leaf_module(m, module_qualified_name)
            or module_qualified_name in self.skipped_module_names
            or type(m) in self.skipped_module_classes
            or isinstance(m, _FusedModule)
        )
