"""`Function.apply` inside of transforms: each level calls the methods that the class defines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tl_core
from tl_autograd import _C
from tl_autograd import function as functions
from tl_autograd.func.functionalize import outside
from tl_autograd.func.levels import (
    BATCH,
    FUNCTIONALIZE,
    GRAD,
    JVP,
    RANDOMNESS,
    Level,
    below,
    tensors_mapped,
)
from tl_autograd.func.pushed import check_pushed
from tl_core import Tensor
from tl_core.dispatch.modes import in_transform
from tl_core.pytree import broadcast_leaves, tree_flatten, tree_map, tree_unflatten

__all__ = ["VmapInfo", "apply_in_transform"]


class VmapInfo(NamedTuple):
    """The batch size and the randomness that the `vmap` of a `Function` receives."""

    batch_size: int
    randomness: str


def apply_in_transform(cls: Any, args: tuple, kwargs: dict) -> Any:
    """Calls a `Function` at the top level, or on the tensors themselves without a level."""
    args = tuple(_alive(a) if isinstance(a, Tensor) else a for a in args)
    if not in_transform():
        return functions.apply_recorded(cls, args, kwargs)
    if any(isinstance(x, Tensor) for x in kwargs.values()):
        raise NotImplementedError(
            f"Run {cls.__name__}.apply with kwarg-only Tensor args: please do not pass kwarg-only Tensors, of which a "
            "transform would know nothing"
        )
    if _C.in_older_vmap():
        return functions.apply_recorded(cls, args, kwargs)
    serial, kind, _, size, randomness = _C.top_level()
    if cls.setup_context is functions.Function.setup_context:
        if kind == JVP and _is_older_style_known(serial):
            return _at_tangents(cls, args, kwargs, serial)
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
            f"override the setup_context staticmethod: {cls.__name__} does not."
        )
    if kind == GRAD:
        return _at_gradients(cls, args, kwargs, serial)
    if kind == FUNCTIONALIZE:
        return _without_writes(cls, args, kwargs, serial)
    if kind == BATCH:
        return _at_batch(cls, args, kwargs, serial, VmapInfo(size, RANDOMNESS[randomness]))
    return _at_tangents(cls, args, kwargs, serial)


def _alive(x: Tensor) -> Tensor:
    """The tensor that a wrapper of ended levels stands for, as operators take it; any other tensor itself."""
    wrapper = _C.wrapping(x)
    while wrapper is not None and wrapper[5] and wrapper[1] != BATCH:
        x = outside(x) if wrapper[1] == FUNCTIONALIZE else wrapper[3]
        wrapper = _C.wrapping(x)
    return x


def _is_older_style_known(serial: int) -> bool:
    """Whether nothing but the older vmap is below forward_ad's level: then `forward` may take the context."""
    with below(serial):
        return not in_transform() or _C.in_older_vmap()


# ---- gradients --------------------------------------------------------------------------------------------------


def _at_gradients(cls: Any, args: tuple, kwargs: dict, serial: int) -> Any:
    """A function of this level's wrappers, whose forward is the call at the levels below."""
    wrapped = tuple(_wrapped(a, serial) for a in args)

    def forward(*inside: Any) -> Any:
        values = tuple(_value(a, serial) for a in inside)
        with below(serial):
            output = cls.apply(*values, **kwargs)
        same = {id(v): a for v, a in zip(values, inside, strict=True) if isinstance(v, Tensor)}
        return tree_map(lambda y: same.get(id(y)) if id(y) in same else _wrapped(y, serial), output)

    single = type(
        f"{cls.__name__}Generated",
        (functions.Function,),
        {
            "forward": staticmethod(forward),
            "setup_context": staticmethod(cls.setup_context),
            "backward": staticmethod(cls.backward),
            "vjp": staticmethod(cls.vjp),
        },
    )
    if cls.backward is functions.Function.backward:
        single.backward = functions.Function.backward  # type: ignore[attr-defined]
    if cls.vjp is functions.Function.vjp:
        single.vjp = functions.Function.vjp  # type: ignore[attr-defined]
    return functions.apply_recorded(single, wrapped, {})


def _wrapped(x: Any, serial: int) -> Any:
    if not isinstance(x, Tensor) or _C.unwrap(x, serial) is not None:
        return x
    return _C.wrap_for_gradients(x, serial)


def _value(x: Any, serial: int) -> Any:
    contents = _C.unwrap(x, serial) if isinstance(x, Tensor) else None
    return x if contents is None else contents[0]


# ---- without writes ---------------------------------------------------------------------------------------------


def _without_writes(cls: Any, args: tuple, kwargs: dict, serial: int) -> Any:
    """Calls the function on the current values, as one operator."""
    values = tuple(outside(a) if isinstance(a, Tensor) else a for a in args)
    with below(serial):
        output = cls.apply(*values, **kwargs)
    same = {id(v): a for v, a in zip(values, args, strict=True) if isinstance(v, Tensor)}
    return tensors_mapped(lambda y: same[id(y)] if id(y) in same else _C.wrap_functional(y, serial), output)


# ---- tangents ---------------------------------------------------------------------------------------------------


class _Context(functions.FunctionCtx):
    """A context that belongs to no node."""

    saved_for_forward: tuple = ()
    _saved: tuple | None = None

    @property
    def saved_tensors(self) -> tuple:
        """The saved tensors: those of `save_for_forward` while `jvp` runs, otherwise those of `save_for_backward`."""
        return self.to_save if self._saved is None else self._saved


def _at_tangents(cls: Any, args: tuple, kwargs: dict, serial: int) -> Any:
    tangents = tuple(_C.tangent(a, serial) if isinstance(a, Tensor) else None for a in args)
    with below(serial):
        older = cls.setup_context is functions.Function.setup_context
        if older:
            older_context, output = functions.apply_with_context(cls, args, kwargs)
        else:
            older_context, output = None, cls.apply(*args, **kwargs)
        if not any(t is not None for t in tangents):
            return output
        _C.break_tape(serial)
        if cls.jvp is functions.Function.jvp:
            raise NotImplementedError(
                f"You tried to use forward mode AD with {cls.__name__}: you must implement the jvp function of a "
                "custom autograd.Function to use it with forward mode AD."
            )
        context: Any = _Context()
        if older_context is None:
            context.needs_input_grad = tuple(t is not None for t in tangents)
            cls.setup_context(context, args, output)
        else:
            context.__dict__.update(older_context.__dict__)
        context._saved = tuple(context.saved_for_forward)
        if context.materialize_grads:
            tangents = tuple(
                tl_core.zeros_like(a) if t is None and _varies(a) else t
                for a, t in zip(args, tangents, strict=True)
            )
        versions = [None if t is None else t._version for t in tangents]
        pushed = cls.jvp(context, *tangents)
    check_pushed(args, tangents, versions, output, pushed, context)
    _attach(output, pushed, serial, context)
    return output


def _varies(x: Any) -> bool:
    return isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())


def _attach(output: Any, pushed: Any, serial: int, context: Any) -> None:
    outputs = output if isinstance(output, tuple) else (output,)
    tangents = pushed if isinstance(pushed, tuple) else (pushed,)
    constant = {id(t) for t in context.non_differentiable}
    for y, t in zip(outputs, tangents, strict=True):
        if isinstance(y, Tensor) and t is not None and id(y) not in constant:
            _C.set_tangent(y, t, serial)


# ---- batches ----------------------------------------------------------------------------------------------------


def _at_batch(cls: Any, args: tuple, kwargs: dict, serial: int, info: VmapInfo) -> Any:
    own_rule = cls.vmap is not functions.Function.vmap
    if own_rule and cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overriden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overriden vmap staticmethod to avoid "
            "ambiguity."
        )
    flat, spec = tree_flatten(args)
    contents = [_C.unwrap(x, serial) if isinstance(x, Tensor) else None for x in flat]
    if not any(contents):
        with below(serial):
            return cls.apply(*args, **kwargs)
    if not own_rule and not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement "
            "the vmap staticmethod or set generate_vmap_rule=True."
        )
    values = tree_unflatten([x if c is None else c[0] for x, c in zip(flat, contents, strict=True)], spec)
    dims = tree_unflatten([None if c is None else c[1] for c in contents], spec)
    with below(serial):
        contents = (cls.vmap if own_rule else _batch_rule(cls))(info, dims, *values, **kwargs)
        if not (isinstance(contents, tuple) and len(contents) == 2):
            raise RuntimeError(
                f"Expected the {cls.__name__} vmap staticmethod to have two returns: output and out_dims, got "
                f"{type(contents).__name__}"
            )
        output, out_dims = contents
    return _batched_again(output, out_dims, serial)


def _batched_again(output: Any, out_dims: Any, serial: int) -> Any:
    outputs, spec = tree_flatten(output)
    dims = broadcast_leaves(out_dims, spec)
    if dims is None:
        raise RuntimeError(
            f"the vmap staticmethod of a Function returned an incompatible (output, out_dims): out_dims {out_dims!r} "
            f"have another structure than the output, {spec}"
        )
    return tree_unflatten(
        [
            y if d is None or not isinstance(y, Tensor) else _C.wrap_batch(y, d % y.dim(), serial)
            for y, d in zip(outputs, dims, strict=True)
        ],
        spec,
    )


class _Batch:
    """A batch level. Tensors enter with their batch dimensions and leave with them."""

    def __init__(self, info: VmapInfo):
        self.level = Level(BATCH, info.batch_size, info.randomness)

    def enter(self, tree: Any, dims: list) -> Any:
        leaves, spec = tree_flatten(tree)
        inside = [
            x if d is None else _C.wrap_batch(x, d, self.level.serial)
            for x, d in zip(leaves, dims, strict=True)
        ]
        return tree_unflatten(inside, spec)

    def leave(self, tree: Any) -> tuple[Any, list]:
        leaves, spec = tree_flatten(tree)
        contents = [_C.unwrap(x, self.level.serial) if isinstance(x, Tensor) else None for x in leaves]
        values = [x if c is None else c[0] for x, c in zip(leaves, contents, strict=True)]
        return tree_unflatten(values, spec), [None if c is None else c[1] for c in contents]


def _batch_rule(cls: Any) -> Callable:
    """A rule that runs forward, setup_context, backward and jvp on batches."""

    def rule(info: VmapInfo, in_dims: Any, *args: Any) -> Any:
        dims = tree_flatten(in_dims, is_leaf=lambda x: x is None)[0]
        calls = _BatchCalls(cls, info, dims)
        methods: dict[str, Any] = {
            "forward": calls.forward,
            "setup_context": calls.setup_context,
            "backward": calls.backward,
        }
        if cls.jvp is not functions.Function.jvp:
            methods["jvp"] = calls.jvp
        batched: Any = type(
            f"Vmapped{cls.__name__}",
            (functions.Function,),
            {name: staticmethod(f) for name, f in methods.items()} | {"generate_vmap_rule": True},
        )
        output = batched.apply(*args)
        spec = tree_flatten(output)[1]
        return output, tree_unflatten(calls.out_dims, spec)

    return rule


class _BatchCalls:
    """The methods of a class on batches. The batch dimensions of the outputs are those of the forward call."""

    def __init__(self, cls: Any, info: VmapInfo, dims: list) -> None:
        self.cls, self.info, self.dims = cls, info, dims
        self.out_dims: list = []

    def forward(self, *inputs: Any) -> Any:
        batch = _Batch(self.info)
        with batch.level:
            output = self.cls.forward(*batch.enter(inputs, self.dims))
            values, self.out_dims = batch.leave(output)
        return values

    def setup_context(self, ctx: Any, inputs: tuple, output: Any) -> None:
        batch = _Batch(self.info)
        inner: Any = _Context()
        inner.needs_input_grad = getattr(ctx, "needs_input_grad", ())
        with batch.level:
            self.cls.setup_context(inner, batch.enter(inputs, self.dims), batch.enter(output, self.out_dims))
            saved, ctx._saved_dims = batch.leave(list(inner.to_save))
            pushed, ctx._forward_dims = batch.leave(list(inner.saved_for_forward))
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*pushed)
        ctx._inner = inner
        ctx.set_materialize_grads(inner.materialize_grads)

    def backward(self, ctx: Any, *grads: Any) -> Any:
        batch = _Batch(self.info)
        with batch.level:
            ctx._inner._saved = tuple(batch.enter(list(ctx.saved_tensors), ctx._saved_dims))
            gradients = functions.backward_of(self.cls)(ctx._inner, *batch.enter(grads, self.out_dims))
            gradients = gradients if isinstance(gradients, tuple) else (gradients,)
            values, where = batch.leave(list(gradients))
        return tuple(
            _fit_gradient(g, w, d, self.info) for g, w, d in zip(values, where, self.dims, strict=True)
        )

    def jvp(self, ctx: Any, *tangents: Any) -> Any:
        batch = _Batch(self.info)
        with batch.level:
            saved_dims = ctx._forward_dims or ctx._saved_dims
            ctx._inner._saved = tuple(batch.enter(list(ctx.saved_tensors), saved_dims))
            tangent_dims = [None if t is None else d for t, d in zip(tangents, self.dims, strict=True)]
            result = self.cls.jvp(ctx._inner, *batch.enter(list(tangents), tangent_dims))
            values, where = batch.leave(result)
        leaves, spec = tree_flatten(values)
        moved = [
            _move_batch(t, w, d, self.info) for t, w, d in zip(leaves, where, self.out_dims, strict=True)
        ]
        return tree_unflatten(moved, spec)


def _move_batch(t: Any, at: int | None, dim: int | None, info: VmapInfo) -> Any:
    """A tangent whose batch dimension is that of its primal."""
    if not isinstance(t, Tensor) or at == dim or dim is None:
        return t
    if at is None:
        return t.unsqueeze(dim).expand(*t.shape[:dim], info.batch_size, *t.shape[dim:])
    return t.movedim(at, dim)


def _fit_gradient(g: Any, at: int | None, dim: int | None, info: VmapInfo) -> Any:
    """A gradient whose batch dimension is that of its input. Without a batch in the input, the sum over the batch."""
    if isinstance(g, Tensor) and dim is None and at is not None:
        return g.sum(at)
    return _move_batch(g, at, dim, info)


functions.in_transform.append(apply_in_transform)
