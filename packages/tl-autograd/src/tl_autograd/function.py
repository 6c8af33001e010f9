"""`Function`: operations whose derivative is written in Python."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from tl_autograd import _C
from tl_core import Tensor, is_grad_enabled
from tl_core.base.open_parameters import open_parameters
from tl_core.pytree import tree_flatten, tree_leaves, tree_unflatten

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "InplaceFunction",
    "NestedIOFunction",
    "once_differentiable",
]


class FunctionCtx:
    """The context of a call of a `Function`: `forward` stores in it and `backward` reads it.

    Example:
        >>> import tl_core
        >>> class Square(Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * grad
        ...
        >>> x = tl_core.tensor([3.0], requires_grad=True)
        >>> Square.apply(x).sum().backward()
        >>> x.grad
        tensor([6.])
    """

    to_save: tuple = ()
    dirty_tensors: tuple = ()
    non_differentiable: tuple = ()
    materialize_grads: bool = True
    _materialize_non_diff_grads: bool = True  # of outputs that are marked as not differentiable
    needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Stores inputs or outputs of `forward` for `backward`, which reads `saved_tensors`. Call it once."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Stores tensors for `jvp`, the forward mode."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Marks the inputs that `forward` changed in place. `forward` must return each of them."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Marks the outputs that have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Sets whether `backward` receives zeros (the default) or None for outputs without a gradient."""
        self.materialize_grads = value


class BackwardCFunction(_C.ContextBase, FunctionCtx):
    """The context of one call of a `Function`, which is also its node in the graph.

    Example:
        >>> import tl_core
        >>> class Double(Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        ...
        >>> y = Double.apply(tl_core.ones(2, requires_grad=True))
        >>> isinstance(y.grad_fn, BackwardCFunction), y.grad_fn.name()
        (True, 'DoubleBackward')
    """

    _forward_cls: type

    @property
    def saved_variables(self) -> Any:
        """The deprecated name of `saved_tensors`."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2
        )
        return self.saved_tensors

    def apply(self, *grads: Any) -> Any:
        """Runs the function's `backward`."""
        return self._apply_backward(*grads)

    def apply_jvp(self, *tangents: Any) -> Any:
        """Runs the function's `jvp`."""
        return self._forward_cls.jvp(self, *tangents)  # type: ignore[attr-defined]

    def _apply_backward(self, *grads: Any) -> Any:
        function: Any = self._forward_cls
        if function.vjp is not Function.vjp and function.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not "
                "allowed. You should only implement one of them."
            )
        return (function.vjp if function.vjp is not Function.vjp else function.backward)(self, *grads)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


class _FunctionMeta(type):
    """Adds the class of its contexts, named like a node, to every function class."""

    def __init__(cls, name: str, bases: tuple, attrs: dict):
        super().__init__(name, bases, attrs)
        cls._backward_cls = type(
            name + "Backward", (BackwardCFunction,), {"_forward_cls": cls, "__module__": cls.__module__}
        )


class Function(FunctionCtx, metaclass=_FunctionMeta):
    """A differentiable operation with its own derivative.

    Subclass it, write `forward` and `backward` as static methods, and call `MyFunction.apply(...)`.
    `forward(ctx, ...)` may save tensors for `backward(ctx, *grad_outputs)` in `ctx`. Alternatively, `forward(...)`
    takes no context and `setup_context(ctx, inputs, output)` fills it. `backward` returns a gradient, or None, for each
    argument of `forward`.

    Example::

        >>> class Exp(tl_autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         result = x.exp()
        ...         ctx.save_for_backward(result)
        ...         return result
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (result,) = ctx.saved_tensors
        ...         return grad * result
        >>> x = tl_core.tensor(0.0, requires_grad=True)
        >>> Exp.apply(x).backward()
        >>> x.grad
        tensor(1.)
    """

    generate_vmap_rule = False
    _backward_cls: type

    def __init__(self, *args: Any, **kwargs: Any):
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function is deprecated.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Write `forward` as a static "
            "method and call the class's `apply`."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The operation; must be overridden."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    @open_parameters
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> Any:
        """Fills the context when `forward` takes none."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    @open_parameters
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The vector-Jacobian product; must be overridden (here or as `vjp`) to differentiate."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    @open_parameters
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The Jacobian-vector product, for the forward mode."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    @open_parameters
    def vmap(info: Any, in_dims: tuple, *args: Any) -> Any:
        """The operation on batches, for `vmap`."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap "
            "staticmethod or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Calls `forward` and records it. Inside of a transform, the level of the transform calls it.

        Arguments that wrap tensors of an ended transform become these tensors.
        """
        if _C.concerns_levels(args):
            return in_transform[0](cls, args, kwargs)
        return apply_recorded(cls, args, kwargs)


class _SingleLevelFunction(Function):
    """A `Function` that is recorded on the tensors themselves inside of transforms too, for rules of one level."""

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        return apply_recorded(cls, args, kwargs)


# The function that `apply` calls for levels and wrappers of levels. `func`, which begins all transforms, registers it.
in_transform: list[Callable[[Any, tuple, dict], Any]] = []


def apply_recorded(cls: Any, args: tuple, kwargs: dict) -> Any:
    """Calls `forward` of a class and records it on the tensors themselves."""
    return apply_with_context(cls, args, kwargs)[1]


def apply_with_context(cls: Any, args: tuple, kwargs: dict) -> tuple[Any, Any]:
    """(context, output) of a recorded call."""
    ctx = cls._backward_cls()
    separate = cls.setup_context is not Function.setup_context
    ctx.needs_input_grad = needs = _C.needs_input_grad(args)
    recording = is_grad_enabled() and True in needs
    state = _C.begin_unrecorded()
    try:
        if separate:
            output = cls.forward(*args, **kwargs)
            cls.setup_context(ctx, inputs_with_defaults(cls.forward, args), output)
        else:
            output = cls.forward(ctx, *args, **kwargs)
    finally:
        _C.end_unrecorded(state)
    return ctx, record_outputs(ctx, args, output) if recording else _view_inputs(ctx, args, output)


def inputs_with_defaults(forward: Callable, args: tuple) -> tuple:
    """The arguments, with the defaults of missing ones."""
    defaults = getattr(forward, "__defaults__", None)
    if not defaults:
        return args
    bound = inspect.signature(forward).bind(*args)
    bound.apply_defaults()
    return bound.args


def backward_of(cls: Any) -> Any:
    """The method of `backward` and `vjp` that a class overrides."""
    return cls.vjp if cls.vjp is not Function.vjp else cls.backward


def record_outputs(ctx: Any, args: tuple, output: Any) -> Any:
    """The outputs of a call, with its context as their node."""
    outputs = output if isinstance(output, tuple) else (output,)
    for dirty in ctx.dirty_tensors:
        if not any(dirty is o for o in outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not "
                "returned as output. The inputs "
                "that are modified inplace must all be outputs of the Function: "
                f"{type(ctx).__name__}"
            )
    results = _C.finish_function(
        ctx,
        args,
        outputs,
        tuple(ctx.to_save),
        tuple(ctx.dirty_tensors),
        tuple(ctx.non_differentiable),
        bool(ctx.materialize_grads),
        bool(ctx._materialize_non_diff_grads),
    )
    ctx.to_save = ()
    if not isinstance(output, tuple):
        return results[0]
    return results if type(output) is tuple else type(output)(*results)


def _view_inputs(ctx: Any, args: tuple, output: Any) -> Any:
    """The outputs, with views in place of inputs that are returned unchanged, as in a recorded call."""
    dirty = {id(d) for d in ctx.dirty_tensors}
    inputs = {id(a) for a in args if isinstance(a, Tensor)} - dirty
    if isinstance(output, Tensor):
        return _view(output) if id(output) in inputs else output
    if type(output) is tuple and any(id(o) in inputs for o in output):
        return tuple(_view(o) if id(o) in inputs else o for o in output)
    return output


def _view(x: Tensor) -> Tensor:
    state = _C.begin_unrecorded()
    try:
        return x.view_as(x)
    finally:
        _C.end_unrecorded(state)


def once_differentiable(fn: Callable) -> Callable:
    """Decorates a `backward` that cannot be differentiated. A second derivative through it raises.

    Example:
        >>> import tl_core
        >>> class Cube(Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x**3
        ...     @staticmethod
        ...     @once_differentiable
        ...     def backward(ctx, grad):
        ...         return 3 * ctx.saved_tensors[0] ** 2 * grad
        ...
        >>> x = tl_core.tensor([2.0], requires_grad=True)
        >>> Cube.apply(x).backward()
        >>> x.grad
        tensor([12.])
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        state = _C.begin_unrecorded()
        try:
            outputs = fn(ctx, *args)
        finally:
            _C.end_unrecorded(state)
        if not is_grad_enabled() or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        many = outputs if isinstance(outputs, tuple) else (outputs,)
        many = _C.delayed_error(
            "trying to differentiate twice a function that was marked with @once_differentiable", many
        )
        return many if isinstance(outputs, tuple) else many[0]

    return wrapper


class InplaceFunction(Function):
    """A `Function` with a flag `inplace`, for older programs.

    Example:
        >>> InplaceFunction(inplace=True).inplace
        True
    """

    def __init__(self, inplace: bool = False):
        self.inplace = inplace


class _NestedContext(BackwardCFunction):
    """A context whose saved tensors keep the structure of lists and dictionaries."""

    def save_for_backward(self, *tensors: Any) -> None:
        leaves, self._spec = tree_flatten(tensors)
        super().save_for_backward(*leaves)

    @property
    def saved_tensors(self) -> Any:  # type: ignore[override]
        """The arguments of `save_for_backward`."""
        return tree_unflatten(super().saved_tensors, self._spec)


class NestedIOFunction(Function):
    """A `Function` whose arguments, results and saved tensors may be nested.

    Override `forward_extended` and `backward_extended`.

    Example:
        >>> issubclass(NestedIOFunction, Function)
        True
    """

    saved_tensors = _NestedContext.saved_tensors

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree_flatten(args)
        out_specs: list = []

        class Flat(Function):
            @staticmethod
            def forward(ctx: Any, *flat: Any) -> tuple:
                results, out_spec = tree_flatten(cls.forward_extended(ctx, *tree_unflatten(flat, spec)))
                out_specs.append(out_spec)
                return tuple(results)

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> tuple:
                result = cls.backward_extended(ctx, *_as_sequence(tree_unflatten(grads, out_specs[0])))
                return tuple(tree_leaves(result))

        Flat._backward_cls = type(f"{cls.__name__}Backward", (_NestedContext,), {"_forward_cls": Flat})
        return tree_unflatten(Flat.apply(*leaves, **kwargs), out_specs[0])

    def mark_dirty(self, *args: Any, **kwargs: Any) -> None:
        """Marks the inputs that `forward_extended` changed in place."""
        self.dirty_tensors = tuple(tree_leaves((args, kwargs)))

    def mark_non_differentiable(self, *args: Any, **kwargs: Any) -> None:
        """Marks the outputs that have no gradient."""
        self.non_differentiable = tuple(tree_leaves((args, kwargs)))

    def backward(self, *gradients: Any) -> Any:  # type: ignore[override]
        """The derivative on nested gradients."""
        return self.backward_extended(*gradients)

    def forward_extended(self, *input: Any) -> Any:
        """The operation on nested arguments; must be overridden."""
        raise NotImplementedError("override forward_extended")

    def backward_extended(self, *grad_output: Any) -> Any:
        """The derivative on nested gradients; must be overridden."""
        raise NotImplementedError("override backward_extended")


def _as_sequence(result: Any) -> list | tuple:
    return result if isinstance(result, (list, tuple)) else (result,)
