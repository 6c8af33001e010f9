"""Derivatives in the first form: what to save by one function, gradients as a dictionary by another."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, NoReturn

from tl_core import Tensor, is_grad_enabled
from tl_core.dispatch import registrations
from tl_core.dispatch.layers import AutoDispatchBelowAutograd
from tl_core.library import derivatives
from tl_core.library.libraries import Library
from tl_core.pytree import tree_flatten, tree_leaves, tree_unflatten
from tl_core.schemas.function_schema import base_type, is_list

__all__ = ["forget", "install", "part"]

_parts: dict[str, dict[str, Any]] = {}
_libraries: dict[str, Library] = {}


def install(custom_op: Any) -> None:
    """Refuses gradients of an operator as long as nobody registers a derivative.

    Args:
        custom_op: the operator.
    """
    _register(custom_op._lib, custom_op._ophandle)


def _register(lib: Library, op: Any) -> None:
    parts = _parts[op._name] = {"op": op}
    formula = derivatives.Formula(_Backward(parts), _Saving(parts))
    recorded = derivatives._Recorded(op, formula, "derivative")

    def call(*args: Any, **kwargs: Any) -> Any:
        needed = is_grad_enabled() and any(
            isinstance(x, Tensor) and x.requires_grad for x in tree_leaves((args, kwargs))
        )
        if not needed:
            with AutoDispatchBelowAutograd():
                return op(*args, **kwargs)
        have = [name for name in ("save_for_backward", "backward") if name in parts]
        if not have:
            raise RuntimeError(f"Autograd has not been implemented for operator {op._name}")
        if len(have) == 1:
            missing = "backward" if have == ["save_for_backward"] else "save_for_backward"
            raise RuntimeError(
                f"We found a '{have[0]}' registration for {op._name} but were unable to find a '{missing}' "
                f"registration. "
                f"To use the CustomOp API to register a backward formula, please provide us both a backward function "
                f"and "
                f"a 'save for backward' function via `impl_backward` and `impl_save_for_backward` respectively."
            )
        return recorded(*args, **kwargs)

    lib._register(op, call, "Autograd")


def forget(qualname: str) -> None:
    """Forgets what was registered for an operator.

    Args:
        qualname: its name.
    """
    _parts.pop(qualname, None)
    if (lib := _libraries.pop(qualname, None)) is not None:
        lib._destroy()


def part(op: Any, name: str, differentiable: Any = None) -> Callable[[Any], Any]:
    """A decorator that registers one of the two functions.

    Args:
        op: the operator.
        name: `save_for_backward` or `backward`.
        differentiable: for each result, whether it has a gradient.
    """
    if op._name not in _parts or _parts[op._name]["op"] is not op:
        forget(op._name)
        _check_can_have_derivative(op)
        lib = _libraries[op._name] = Library(op.namespace, "FRAGMENT")
        _register(lib, op)
    if differentiable is not None:
        _check_differentiable(op, differentiable)

    def inner(f: Any) -> Any:
        _parts[op._name][name] = f
        if name == "backward":
            _parts[op._name]["differentiable"] = differentiable
        return f

    return inner


def _check_can_have_derivative(op: Any) -> None:
    schema = op._schema

    def refuse(what: str) -> NoReturn:
        raise RuntimeError(
            f"Cannot use torch._custom_ops APIs to register backward formula for {what}. Got operator {op._name} with "
            f"schema: {schema}"
        )

    if any(a.is_write for a in schema.arguments):
        refuse("non-functional operator")
    if not schema.returns:
        refuse("operator with no returns")
    if any(r.alias_info for r in schema.returns):
        refuse("operator that returns views")
    for key in ("CompositeImplicitAutograd", "Autograd", "AutogradCPU", "AutogradCUDA"):
        if registrations.of(op._native_name, key):
            raise RuntimeError(
                f"impl_backward/impl_save_for_backward: the operator {op._name} already has an implementation for "
                f"autograd via a pre-existing registration to DispatchKey::{key}."
            )


def _check_differentiable(op: Any, flags: Any) -> None:
    schema = op._schema
    rule = f"a list of bools with {len(schema.returns)} elements, one for each output of {op._name}"
    if (
        not isinstance(flags, list)
        or not all(isinstance(d, bool) for d in flags)
        or len(flags) != len(schema.returns)
    ):
        raise RuntimeError(
            f"impl_backward(output_differentiability): expected output_differentiability to be {rule}, got {flags!r}"
        )


# ---- forward --------------------------------------------------------------------------------------------------------
class _Saving:
    """`setup_context` of the formula."""

    def __init__(self, parts: dict[str, Any]) -> None:
        self.parts = parts

    def __call__(self, ctx: Any, inputs: tuple, output: Any, keyword_only_inputs: Any = None) -> None:
        schema = self.parts["op"]._schema
        named = namedtuple(f"{schema.name.rpartition('::')[2]}_args", [a.name for a in schema.arguments])  # type: ignore[misc]
        self.mark(ctx, output)
        saved = self.parts["save_for_backward"](named(*inputs, **(keyword_only_inputs or {})), output)
        leaves, ctx._saved_spec = tree_flatten(saved)
        ctx._plain = [None if isinstance(x, Tensor) else (x,) for x in leaves]
        ctx.save_for_backward(*(x for x in leaves if isinstance(x, Tensor)))
        ctx._structure = [len(x) if isinstance(x, (list, tuple)) else None for x in inputs]

    def mark(self, ctx: Any, output: Any) -> None:
        flags = self.parts.get("differentiable")
        if flags is None:
            return
        outputs = output if isinstance(output, tuple) else (output,)
        without: list[Any] = []
        for i, (value, differs) in enumerate(zip(outputs, flags, strict=True)):
            tensors = value if isinstance(value, (list, tuple)) else [value]
            if differs and not all(isinstance(t, Tensor) for t in tensors):
                raise RuntimeError(
                    f"With output_differentiability={flags}. At idx {i}, we received an object of type {type(value)} "
                    f"that "
                    "is not a Tensor, so it cannot have be marked as differentiable in output_differentiability."
                )
            if not differs:
                without.extend(t for t in tensors if isinstance(t, Tensor))
        ctx.mark_non_differentiable(*without)


# ---- backward -------------------------------------------------------------------------------------------------------
def _is_tensor_like(argument: Any) -> bool:
    return base_type(argument.real_type).name == "Tensor"


class _Backward:
    """`backward` of the formula: a dictionary in the order of the arguments."""

    def __init__(self, parts: dict[str, Any]) -> None:
        self.parts = parts

    def __call__(self, ctx: Any, *grads: Any) -> Any:
        tensors = iter(ctx.saved_tensors)
        leaves = [next(tensors) if plain is None else plain[0] for plain in ctx._plain]
        grad_inputs = self.parts["backward"](ctx, tree_unflatten(leaves, ctx._saved_spec), *grads)
        schema = self.parts["op"]._schema
        self.check(grad_inputs, schema)
        positional = [a for a in schema.arguments if not a.kwarg_only]
        ordered = [
            self.gradient(a, grad_inputs.get(a.name), n)
            for a, n in zip(positional, ctx._structure, strict=True)
        ]
        return tuple(ordered)

    def fail(self, what: str) -> NoReturn:
        raise RuntimeError(f"In the backward function defined for {self.parts['op']._name}: {what}")

    def check(self, grads: Any, schema: Any) -> None:
        if not isinstance(grads, dict):
            self.fail(f"expected the output of the backward function to be a dict but got {type(grads)}")
        expected = {a.name for a in schema.arguments if _is_tensor_like(a)}
        non_tensors = {a.name for a in schema.arguments} - expected
        if set(grads) & non_tensors:
            self.fail(
                f"expected the returned grad_input dict to have keys {expected} but got {set(grads)}. The backward "
                f"function must return a gradient (can be None) for each arg to the CustomOp that may be a Tensor or "
                f"Sequence[Tensor]. Args declared to be non-Tensor-like types should not appear in the grad_input dict"
            )
        if set(grads) != expected:
            self.fail(
                f"expected the returned grad_input dict to have keys {expected} but got {set(grads)}. The backward "
                "function must return a gradient (can be None) for each arg to the CustomOp that may be a Tensor or "
                "Sequence[Tensor]."
            )

    def gradient(self, argument: Any, grad: Any, n: int | None) -> Any:
        if not _is_tensor_like(argument):
            return None
        if not is_list(argument.real_type):
            if grad is not None and not isinstance(grad, Tensor):
                self.fail(
                    f"got object of type {type(grad)} as the gradient for input '{argument.name}', but expected the "
                    "gradient to be either None or a Tensor"
                )
            return grad
        if not isinstance(grad, (list, tuple)):
            self.fail(
                f"for input '{argument.name}' expected the grad_input dict to hold a list of gradients but got object "
                f"of "
                f"type {type(grad)}."
            )
        if len(grad) != n:
            self.fail(
                f"for input '{argument.name}' expected the grad_input dict to hold a list of {n} gradients but "
                f"got "

                      f"{len(grad)}")  # fmt: skip
        for g in grad:
            if g is not None and not isinstance(g, Tensor):
                self.fail(
                    f"for input '{argument.name}' expected the grad_input dict to hold a list of None or Tensor "
                    f"gradients "
                    f"but got object of {type(g)}"
                )
        return list(grad)
