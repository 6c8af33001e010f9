"""The derivatives and the rules of transforms of the operators that `tl.library` makes of Python functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tl_autograd import _C
from tl_autograd.function import Function, apply_recorded, record_outputs
from tl_core import Tensor, is_grad_enabled, stack
from tl_core.dispatch.grad_mode import switch as switch_recording
from tl_core.dispatch.layers import AutoDispatchBelowAutograd, switch_autograd
from tl_core.dispatch.modes import in_transform
from tl_core.pytree import tree_flatten, tree_unflatten
from tl_core.schemas.function_schema import base_type, is_list
from tl_core.schemas.signatures import filled

__all__ = ["derivative", "transform"]


class _Keywords(NamedTuple):
    """The keyword arguments, in the last argument of a `Function`. Its gradient is None."""

    values: dict[str, Any]


def derivative(op: Any, formula: Any) -> Callable[..., Any]:
    """The function that the layer of recording calls.

    Args:
        op: the operator, an `OpOverload`.
        formula: has `_backward_fn` and `_setup_context_fn`, which may be None.
    """
    function = _function_of(op, formula)
    schema = op._schema
    positional = sum(not a.kwarg_only for a in schema.arguments)

    def call(*args: Any, **kwargs: Any) -> Any:
        if not (is_grad_enabled() and _any_requires_grad(args)):
            with AutoDispatchBelowAutograd():
                return op(*args, **kwargs)
        if kwargs or len(args) != positional or function.has_keywords:
            args, kwargs = filled(schema, args, kwargs)
        return function.record(args, kwargs)

    return call


def transform(op: Any, formula: Any) -> Callable[..., Any]:
    """The function that the layer of transforms calls.

    Args:
        op: the operator, an `OpOverload`.
        formula: has `_backward_fn`, `_setup_context_fn` and `_vmap_fn`, which may be None.
    """
    function = _function_of(op, formula)
    schema = op._schema

    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = filled(schema, args, kwargs)
        if not in_transform():  # tensors of transforms that have ended
            leaves, spec = tree_flatten((args, kwargs))
            args, kwargs = tree_unflatten([_view(x) for x in leaves], spec)
            return op(*args, **kwargs)
        return function.call(args, _Keywords(kwargs))

    return call


def _view(x: Any) -> Any:
    return x.view_as(x) if isinstance(x, Tensor) else x


def _any_requires_grad(args: tuple) -> bool:
    for a in args:
        if isinstance(a, Tensor):
            if a.requires_grad:
                return True
        elif isinstance(a, (list, tuple)) and any(isinstance(t, Tensor) and t.requires_grad for t in a):
            return True
    return False


# ---- the function ---------------------------------------------------------------------------------------------------
def _is_tensors(argument: Any) -> bool:
    return base_type(argument.real_type).name == "Tensor" and is_list(argument.real_type)


def _function_of(op: Any, formula: Any) -> Any:
    """A `Function` that calls the operator. Each tensor of a list becomes an argument of its own."""
    lists = any(_is_tensors(a) for a in (*op._schema.arguments, *op._schema.returns))
    function = _Spread(op, formula) if lists else _Plain(op, formula)
    name = f"GeneratedBackwardFor_{op.namespace}_{op.overloadpacket.__name__}_{op._overloadname}"
    function.cls = type(
        name,
        (Function,),
        {
            "forward": staticmethod(function.forward),
            "setup_context": staticmethod(function.setup_context),
            "backward": staticmethod(function.backward),
            "vmap": staticmethod(function.vmap),
        },
    )
    return function


class _Plain:
    """The methods of the function, from a formula, for arguments that are tensors or plain values."""

    cls: Any

    def __init__(self, op: Any, formula: Any) -> None:
        self.op, self.formula = op, formula
        self.has_keywords = any(a.kwarg_only for a in op._schema.arguments)

    def call(self, args: tuple, keywords: _Keywords) -> Any:
        """Calls the function, inside or outside of transforms."""
        return self.apply(*args, keywords)

    def record(self, args: tuple, keywords: dict[str, Any]) -> Any:
        """Calls the function as `Function.apply` does, without the general forms of arguments."""
        if in_transform():
            return self.call(args, _Keywords(keywords))
        ctx = self.cls._backward_cls()
        ctx.needs_input_grad = _C.needs_input_grad(args)
        recording = switch_recording(False)
        excluded = switch_autograd(True)
        try:
            output = self.op(*args, **keywords)
            switch_autograd(excluded)
            self.setup(ctx, args, keywords, output)
        finally:
            switch_autograd(excluded)
            switch_recording(recording)
        return record_outputs(ctx, (*args, None), output)

    def apply(self, *args: Any) -> Any:
        return self.cls.apply(*args) if in_transform() else apply_recorded(self.cls, args, {})

    def forward(self, *args: Any) -> Any:
        *args, keywords = args  # type: ignore[assignment]
        if in_transform():
            return self.op(*args, **keywords.values)
        with AutoDispatchBelowAutograd():
            return self.op(*args, **keywords.values)

    def setup_context(self, ctx: Any, inputs: tuple, output: Any) -> None:
        *args, keywords = inputs
        self.setup(ctx, tuple(args), keywords.values, output)

    def setup(self, ctx: Any, args: tuple, keywords: dict[str, Any], output: Any) -> None:
        ctx._n_arguments = len(args)  # those at the end may have no gradient
        setup = self.formula._setup_context_fn
        if setup is None:
            return
        if self.has_keywords:
            setup(ctx=ctx, inputs=args, keyword_only_inputs=keywords, output=output)
        else:
            setup(ctx=ctx, inputs=args, output=output)

    def backward(self, ctx: Any, *grads: Any) -> Any:
        gradients = self.gradients(ctx, *grads)
        gradients = gradients if isinstance(gradients, tuple) else (gradients,)
        return (*gradients, *[None] * (ctx._n_arguments - len(gradients)), None)

    def gradients(self, ctx: Any, *grads: Any) -> Any:
        if self.formula._backward_fn is None:
            raise RuntimeError(
                f"Trying to backward through {self.op} but no autograd formula was registered. Please use "
                "register_autograd to add one."
            )
        return self.formula._backward_fn(ctx, *grads)

    def vmap(self, info: Any, in_dims: Any, *args: Any) -> Any:
        *args, keywords = args  # type: ignore[assignment]
        return self.batch(info, tuple(in_dims[:-1]), tuple(args), keywords)

    def batch(self, info: Any, in_dims: tuple, args: tuple, keywords: _Keywords) -> Any:
        rule = self.formula._vmap_fn
        if rule is None:
            return _loop(self.op, info, in_dims, args, keywords.values)
        return rule(info, in_dims, *args, **keywords.values)


class _Spread(_Plain):
    """The methods for arguments or results with lists of tensors, which a `Function` takes one by one."""

    def call(self, args: tuple, keywords: _Keywords) -> Any:
        leaves, spec = _flatten(args)
        structures: dict[str, Any] = {}
        result = self.apply(*leaves, (spec, keywords, structures))
        return _unflatten(result, structures["results"])

    def record(self, args: tuple, keywords: dict[str, Any]) -> Any:
        return self.call(args, _Keywords(keywords))

    def forward(self, *leaves: Any) -> Any:
        *leaves, (spec, keywords, structures) = leaves  # type: ignore[assignment]
        output = super().forward(*tree_unflatten(list(leaves), spec), keywords)
        flat, structures["results"] = _flatten(output)
        return tuple(flat)

    def setup_context(self, ctx: Any, inputs: tuple, output: Any) -> None:
        *leaves, (spec, keywords, structures) = inputs
        ctx._specs = spec, structures["results"]
        self.setup(
            ctx, tree_unflatten(leaves, spec), keywords.values, _unflatten(output, structures["results"])
        )

    def backward(self, ctx: Any, *grads: Any) -> Any:
        arguments, results = ctx._specs
        cotangents = _unflatten(grads, results)
        result = self.gradients(ctx, *(cotangents if isinstance(cotangents, tuple) else (cotangents,)))
        return (*_match_arguments(result, arguments), None)

    def vmap(self, info: Any, in_dims: Any, *leaves: Any) -> Any:
        *leaves, (spec, keywords, structures) = leaves  # type: ignore[assignment]
        dims = tree_unflatten(list(in_dims[: len(leaves)]), spec)
        output, out_dims = self.batch(info, dims, tree_unflatten(list(leaves), spec), keywords)
        flat, structures["results"] = _flatten(output)
        spread = _spread_dims(out_dims, output)
        return tuple(flat), tuple(spread)


def _flatten(tree: Any) -> tuple[list[Any], Any]:
    return tree_flatten(tree, is_leaf=lambda x: x is None or isinstance(x, (dict, Tensor)))


def _unflatten(flat: Any, spec: Any) -> Any:
    return tree_unflatten(list(flat) if isinstance(flat, (tuple, list)) else [flat], spec)


def _match_arguments(gradients: Any, spec: Any) -> list[Any]:
    """Gradients in the order of the flat arguments. A None for a list becomes one None for each tensor."""
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    shape = tree_unflatten(list(range(spec.num_leaves)), spec)
    if len(gradients) != len(shape):
        raise RuntimeError(
            f"Expected the return from backward to be of the same structure as the inputs. Got: {len(gradients)} "
            f"gradients, but there were {len(shape)} inputs"
        )
    flat: list[Any] = []
    for gradient, indices in zip(gradients, shape, strict=True):
        if not isinstance(indices, (list, tuple)):
            flat.append(gradient)
        elif gradient is None:
            flat.extend([None] * len(indices))
        elif isinstance(gradient, (list, tuple)) and len(gradient) == len(indices):
            flat.extend(gradient)
        else:
            raise RuntimeError(
                "Expected the return from backward to be of the same structure as the inputs: a list of "
                f"{len(indices)} tensors has a list of so many gradients, got {gradient!r}"
            )
    return flat


def _spread_dims(dims: Any, output: Any) -> list[Any]:
    """The batch dimension of each tensor of the results."""
    outputs = output if isinstance(output, tuple) else (output,)
    output_dims = dims if isinstance(output, tuple) else (dims,)
    flat: list[Any] = []
    for value, dim in zip(outputs, output_dims, strict=True):
        if isinstance(value, (list, tuple)):
            flat.extend(dim if isinstance(dim, (list, tuple)) else [dim] * len(value))
        else:
            flat.append(dim)
    return flat


# ---- batches without a rule -----------------------------------------------------------------------------------------
def _example(x: Any, dim: Any, i: int) -> Any:
    if isinstance(x, (list, tuple)) and isinstance(dim, (list, tuple)):
        return [_example(t, d, i) for t, d in zip(x, dim, strict=True)]
    return x if dim is None or not isinstance(x, Tensor) else x.select(dim, i)


def _stack_results(results: list[Any]) -> tuple[Any, Any]:
    first = results[0]
    if isinstance(first, Tensor):
        return stack(results), 0
    if isinstance(first, (list, tuple)):
        columns = [_stack_results(list(column)) for column in zip(*results, strict=True)]
        return type(first)(v for v, _ in columns), type(first)(d for _, d in columns)
    return first, None


def _loop(op: Any, info: Any, in_dims: tuple, args: tuple, keywords: dict[str, Any]) -> tuple[Any, Any]:
    """Runs one example after the other, like an operator of the table whose row has no rule."""
    if info.batch_size == 0:
        raise RuntimeError(
            f"vmap: {op} has no rule for batches, and without an example its results are not known"
        )
    results = [
        op(*(_example(a, d, i) for a, d in zip(args, in_dims, strict=True)), **keywords)
        for i in range(info.batch_size)
    ]
    return _stack_results(results)


def supports_tensorlist(cls: Any) -> Any:
    """Lets a `Function` take and return lists of tensors. Changes the class in place and returns it.

    Args:
        cls: the class, whose `forward` takes a context.
    """
    forward, backward = cls.forward, cls.backward

    def refuse(name: str) -> Any:
        def direct(*args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError(
                f"NYI: calling supports_tensorlist autograd.Function.{name} directly. You should instead be calling "
                ".apply instead. Please file an issue if you need this."
            )

        return staticmethod(direct)

    def run(ctx: Any, *leaves: Any) -> Any:
        *leaves, (spec, saved) = leaves  # type: ignore[assignment]
        ctx._specs = spec
        ctx.needs_input_grad = tree_unflatten(list(ctx.needs_input_grad[:-1]), spec)
        output = forward(ctx, *tree_unflatten(list(leaves), spec))
        flat, ctx._results = _flatten(output)
        saved["results"] = ctx._results
        return tuple(flat)

    def gradients(ctx: Any, *grads: Any) -> Any:
        cotangents = _unflatten(grads, ctx._results)
        result = backward(ctx, *(cotangents if isinstance(cotangents, tuple) else (cotangents,)))
        if isinstance(result, list):
            result = (result,)
        return (*_match_arguments(result, ctx._specs), None)

    inner: Any = type(
        cls.__name__, (Function,), {"forward": staticmethod(run), "backward": staticmethod(gradients)}
    )

    def apply(*args: Any) -> Any:
        leaves, spec = _flatten(args)
        saved: dict[str, Any] = {}
        return _unflatten(inner.apply(*leaves, (spec, saved)), saved["results"])

    cls.forward, cls.backward, cls.apply = refuse("forward"), refuse("backward"), staticmethod(apply)
    return cls
