"""Tracing of programs with asserts and annotated assignments: both are rewritten into calls that can be recorded."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import tl_nn
from tl_compiler.fx._symbolic_trace import Tracer
from tl_compiler.fx.annotate import annotate
from tl_compiler.fx.graph import Graph
from tl_core.base.public_names import own_module_of
from tl_core.functions.checks import recordable_assert

__all__ = ["AST_Rewriter", "RewritingTracer"]

# What the rewritten code calls, as arguments of a function around it.
_CALLED = {"_fx_assert": recordable_assert, "_fx_annotate": annotate}


class AST_Rewriter(ast.NodeTransformer):
    """Rewrites the code of a function: `assert` becomes a call of `torch._assert`, `x: T = v` one of `annotate`.

    Example:
        >>> type(AST_Rewriter()).__name__
        'AST_Rewriter'
    """

    def rewrite(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The function with rewritten code.

        Args:
            fn: a function whose code can be read, or a method.

        Returns:
            A function; of a method, the function that it is made of.
        """
        plain = inspect.unwrap(getattr(fn, "__func__", fn))
        # As a block, since lines of texts in the function may stand further to the left than the function.
        tree: Any = ast.parse("if True:\n" + inspect.getsource(plain))
        inner = tree.body[0].body
        defined = self.visit(inner[0] if inner else tree.body[1])
        defined.decorator_list = []
        free = plain.__code__.co_freevars
        names = [*_CALLED, *free]
        arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
        returned = ast.Return(ast.Name(defined.name, ast.Load()))
        around = ast.FunctionDef("_around", arguments, [defined, returned], [])
        if "type_params" in ast.FunctionDef._fields:
            vars(around)["type_params"] = []
        module = ast.fix_missing_locations(ast.Module([around], []))
        scope: dict[str, Any] = {}
        exec(compile(module, f"<rewritten {plain.__qualname__}>", "exec"), plain.__globals__, scope)
        values = dict(zip(free, (cell for cell in plain.__closure__ or ()), strict=True))
        factory = scope["_around"](*_CALLED.values(), *(None for _ in free))
        cells = tuple(
            values.get(name, cell)
            for name, cell in zip(factory.__code__.co_freevars, factory.__closure__ or (), strict=True)
        )
        rewritten = FunctionType(
            factory.__code__, plain.__globals__, plain.__name__, plain.__defaults__, cells or None
        )
        rewritten.__kwdefaults__ = plain.__kwdefaults__
        rewritten.__annotations__ = plain.__annotations__
        return rewritten

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """`assert test, message` as a call.

        Args:
            node: the statement.

        Returns:
            The new statement.
        """
        message = node.msg or ast.Constant("")
        call = ast.Call(ast.Name("_fx_assert", ast.Load()), [node.test, message], [])
        return ast.copy_location(ast.Expr(call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """`x: T = v` as `x = annotate(v, T)`.

        Args:
            node: the statement.

        Returns:
            The new statement.
        """
        if node.value is None:
            return node
        call = ast.Call(ast.Name("_fx_annotate", ast.Load()), [node.value, node.annotation], [])
        return ast.copy_location(ast.Assign([node.target], call), node)


class RewritingTracer(Tracer):
    """Traces programs after rewriting their asserts and annotated assignments.

    Args:
        autowrap_modules: modules whose functions are recorded as calls.
        autowrap_functions: functions that are.
        param_shapes_constant: whether shapes of parameters are numbers instead of nodes.

    Example:
        >>> def checked(x):
        ...     assert x.shape[0] > 0
        ...     return x
        >>> [str(n) for n in RewritingTracer().trace(checked).find_nodes(op="call_function")][-1]  # doctest: +SKIP
        '_assert'
    """

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """Runs a module or function with proxies and records what it does.

        Args:
            root: the module or function.
            concrete_args: arguments that are no inputs.

        Returns:
            The graph.
        """
        return super().trace(_rewritten(root), concrete_args)


def _rewritten(root: Any) -> Any:
    """A function, or a module and those in it that users wrote, with rewritten code."""
    if not isinstance(root, tl_nn.Module):
        return AST_Rewriter().rewrite(root)
    copied = copy.copy(root)
    copied.__dict__ = {name: copy.copy(value) for name, value in root.__dict__.items()}
    kind = type(root)
    if own_module_of(kind).partition(".")[0] not in ("tl_nn", "tl_quantization"):
        forward = AST_Rewriter().rewrite(kind.forward)
        copied.__class__ = type(kind.__name__, (kind,), {"forward": forward, "__module__": kind.__module__})
        children = {name: child and _rewritten(child) for name, child in root._modules.items()}
        copied.__dict__["_modules"] = type(root._modules)(children)
    return copied
