"""Calls of operators with distributed tensors: what is moved, and what each rank computes.

A call is planned once for an operator, the layouts of its tensors and its other arguments, and the plan is kept with
the mesh. A later call looks the plan up by these, and computes. If nothing moves, tl-core looks it up, and no function
of this module runs.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

import tl_core
from tl_core import Tensor
from tl_core.base.row_facts import facts
from tl_core.pytree import tree_flatten, tree_unflatten
from tl_core.subclasses.wrapper_plans import keep_plan

from ..groups.device_mesh import DeviceMesh
from . import list_operators, random_operators
from .dtensor_spec import DTensorSpec, meta_of
from .layout import compute_local_shape
from .operator_call import OperatorCall, Strategy, argument_names, call_by_name, operator_named
from .placement_rules import register as register
from .placement_types import Partial, Placement, Replicate, Shard, _NormPartial, _StridedShard
from .redistribute import redistribute_local_tensor
from .replication import gathers, is_implicit, missing_rule_error, mixture_error, warn_of_gathering
from .strategies import has_rule, is_random, strategies_of

__all__ = ["BLOCK_LOSSES", "Plan", "call", "forget_plans", "is_view", "plan_of"]

_MOST_PLANS = 8192

_meshes: weakref.WeakValueDictionary[int, DeviceMesh] = (
    weakref.WeakValueDictionary()
)  # with plans, by address

# The losses that compute otherwise inside `loss_parallel`.
BLOCK_LOSSES = ("aten::_cross_entropy", "aten::_cross_entropy_backward")

# Inside `loss_parallel`: the losses of classes that are cut, by operator. One may return NotImplemented. Each thread
# has its own, since ranks may be threads.
class_losses: ContextVar[Mapping[str, Callable[[tuple[Any, ...], type[Any]], Any]] | None] = ContextVar(
    "class_losses", default=None
)


class Plan(NamedTuple):
    """What a call does.

    Args:
        moves: for each operand whose layout changes, its number and the placements.
        sizes: for each argument that says a size of the result, its name and the size of a rank's part.
        local: the function of a strategy, which changes further arguments of a rank's own call.
        results: the layout of each result; None if the operator writes to its first operand.
        is_data_dependent: whether the sizes of the results are known only afterwards.
        is_random: whether the operator draws numbers.
        is_moved_view: whether the result is a view whose operand moves.
        offsets: of views, the distance of each from the offset of the operand.
    """

    moves: tuple[tuple[int, tuple[Placement, ...]], ...]
    sizes: dict[str, list[int]]
    local: tuple[Callable[..., Any], ...]
    results: tuple[DTensorSpec, ...] | None
    is_data_dependent: bool = False
    is_random: bool = False
    is_moved_view: bool = False
    offsets: tuple[int, ...] = ()


def call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], kind: type[Any]) -> Any:
    """Calls an operator with distributed tensors.

    Args:
        func: the operator.
        args: its arguments.
        kwargs: its arguments by name.
        kind: the class of distributed tensors.

    Raises:
        RuntimeError: a tensor of elements is among the operands, or the operands' meshes differ.
        NotImplementedError: the operator has no rule, or it writes to a tensor in a layout in which it can't be
            computed.
    """
    if args and type(args[0]) is list and list_operators.is_elementwise_on_lists(func):
        return list_operators.call(func, args, kwargs, kind)
    if (losses := class_losses.get()) and (loss := losses.get(func._schema.name)) is not None:
        result = loss(tuple(argument_names(func, args, kwargs).values()), kind)
        if result is not NotImplemented:
            return result
    flat: list[Any] = []
    key = [func]
    mesh = None
    for value in args:
        mesh = _add(value, flat, key, kind, mesh)
    for name, value in kwargs.items():
        key.append(name)
        mesh = _add(value, flat, key, kind, mesh)
    assert mesh is not None
    plans = mesh._plans
    plan_key = tuple(key)
    plan = plans.get(plan_key)
    is_new = plan is None
    if plan is None:
        if func._schema.is_mutable and (outs := _outs(func, kwargs)):
            return _call_with_outs(func, args, kwargs, outs, kind)
        flat = [_distribute(value, mesh, kind, func, flat) for value in flat]
        _check_meshes(func, mesh, flat)
        plan = plan_of(func, args, kwargs, flat, mesh)
        if len(plans) > _MOST_PLANS:
            plans.clear()
        if has_rule(func):  # else a block or a variable decides, which may change
            plans[plan_key] = plan
            _meshes[id(mesh)] = mesh
    elif plan.moves or plan.is_random:  # a plain tensor may be among what moves
        flat = [_distribute(value, mesh, kind, func, flat) for value in flat]
    if plan.is_random:
        return random_operators.call(func, args, kwargs, flat, plan, kind)
    result = _run(func, args, kwargs, flat, plan, kind)
    if is_new and plan.results is not None and not plan.is_data_dependent:
        _check_sizes(func, result, kind)
    if plan.is_moved_view:
        return kind._views(result, flat[0], plan.moves[0][1], partial(_compute_one, func, args, kwargs, plan))
    if plan_key in plans:
        _keep(func, plan)
    return result


def _compute_one(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], plan: Plan, local: Tensor) -> Any:
    return _compute(func, args, kwargs, [local], plan)


def _keep(func: Any, plan: Plan) -> None:
    """Lets further calls of this kind run without Python, if nothing moves in them."""
    if plan.moves or plan.local or plan.is_data_dependent or func._schema.name in BLOCK_LOSSES:
        return
    specs = plan.results
    offsets = plan.offsets or (0,) * len(specs or ())
    results = (
        None
        if specs is None
        else tuple((s, s.shape, s.tensor_meta.stride, o) for s, o in zip(specs, offsets, strict=True))
    )
    keep_plan(func._native_name, results, plan.sizes)


def forget_plans() -> None:
    """Forgets all plans, because a rule has changed."""
    for mesh in list(_meshes.values()):
        mesh._plans.clear()
        mesh._call_plans.clear()


def _check_sizes(func: Any, results: Any, kind: type[Any]) -> None:
    """Compares the parts of a plan's first results with their layouts: a wrong rule must not go unseen."""
    for value in tree_flatten(results)[0]:
        if isinstance(value, kind):
            spec = value._spec
            expected = compute_local_shape(spec.shape, spec.mesh, spec.placements)
            if tuple(value._local_tensor.shape) != expected:
                raise RuntimeError(
                    f"{func}: a rank's part has the size {tuple(value._local_tensor.shape)}, and {spec.placements} of "
                    f"{tuple(spec.shape)} is {expected}; the operator's rule of placements is wrong"
                )


def _add(value: Any, flat: list[Any], key: list[Any], kind: type[Any], mesh: Any) -> Any:
    """Adds an argument to the tensors and to the key of the plan; returns the mesh of the first distributed tensor."""
    if type(value) is kind or isinstance(value, kind):
        flat.append(value)
        key.append(value._spec)
        return value._spec.mesh if mesh is None else mesh
    if isinstance(value, Tensor):
        flat.append(value)
        key.append((Tensor, value.shape, value.stride(), value.dtype, is_implicit()))
    elif isinstance(value, (list, tuple)):
        key.append(len(value))
        for each in value:
            mesh = _add(each, flat, key, kind, mesh)
    else:
        key.append(type(value))  # 1, 1.0 and True are equal
        key.append(value)
    return mesh


def _check_meshes(func: Any, mesh: DeviceMesh, operands: Sequence[Any]) -> None:
    for operand in operands:
        if operand._spec.mesh != mesh:
            raise RuntimeError(
                f"{func}: the operands lie on two meshes, {mesh} and {operand._spec.mesh}; redistribute does not go to "
                "another mesh, so make one of them a plain tensor with full_tensor() and distribute_tensor"
            )


def _distribute(value: Any, mesh: DeviceMesh, kind: type[Any], func: Any, flat: Sequence[Any]) -> Any:
    """A plain tensor as replicas: numbers, and all of them where `implicit_replication` says so."""
    if isinstance(value, kind):
        return value
    if value.dim() > 0 and not is_implicit():
        raise mixture_error(func, value, next(v for v in flat if isinstance(v, kind)))
    return kind(value, DTensorSpec(mesh, (Replicate(),) * mesh.ndim, meta_of(value)), requires_grad=False)


# ---- planning --------------------------------------------------------------------------------------------------------


def plan_of(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], operands: Sequence[Any], mesh: DeviceMesh
) -> Plan:
    """What a call does.

    Args:
        func: the operator.
        args: its arguments.
        kwargs: its arguments by name.
        operands: its tensors, distributed.
        mesh: their mesh.
    """
    specs = [operand._spec for operand in operands]
    if not has_rule(func) and not all(isinstance(p, Replicate) for spec in specs for p in spec.placements):
        if not gathers():
            raise missing_rule_error(func, specs)
        warn_of_gathering(func)
    metas = iter([_without_elements(spec) for spec in specs])
    named = {name: _replace(value, metas) for name, value in argument_names(func, args, kwargs).items()}
    try:
        probe = named | {"device": tl_core.device("meta")} if named.get("device") is not None else named
        results = _flat_tensors(call_by_name(func, probe))
        is_data_dependent = False
    except (NotImplementedError, RuntimeError):
        if not _is_data_dependent(func):
            raise
        results, is_data_dependent = [], True

    def cuts(operand: int, dim: int) -> int:
        pieces = _pieces(specs[operand], dim)
        return pieces if pieces > 1 else mesh.size()  # it isn't known which mesh dimension will cut it

    operator_call = OperatorCall(func, named, results, cuts, mesh.size())
    if facts("inplace_views").get(operator_call.overload) and func._schema.is_mutable:
        raise NotImplementedError(
            f"{func}: a DTensor doesn't change its own sizes; write the function without the underscore"
        )
    strategies = strategies_of(operator_call)
    is_write = func._schema.is_mutable
    choices: list[Strategy] = []
    for mesh_dim in range(mesh.ndim):
        usable = [s for s in strategies if not (s.is_exclusive and any(c.is_exclusive for c in choices))]
        choices.append(_cheapest(operator_call, usable, specs, mesh_dim, is_write))
    return _plan(operator_call, choices, specs, results, is_write, is_data_dependent)


def _plan(
    operator_call: OperatorCall,
    choices: Sequence[Strategy],
    specs: Sequence[DTensorSpec],
    results: Sequence[Tensor],
    is_write: bool,
    is_data_dependent: bool,
) -> Plan:
    mesh = specs[0].mesh
    targets = [tuple(choice.operands[i] for choice in choices) for i in range(len(specs))]
    moves = tuple((i, t) for i, (t, spec) in enumerate(zip(targets, specs)) if t != spec.placements)
    placed = [tuple(choice.results[i] for choice in choices) for i in range(len(results))]
    outputs = tuple(DTensorSpec(mesh, p, meta_of(meta)) for p, meta in zip(placed, results))
    sizes = {}
    if results:
        local = compute_local_shape(results[0].shape, mesh, placed[0])
        sizes = _local_sizes(operator_call, results[0], local)
    changes = tuple(
        partial(_call_local, choice.local, mesh.size(i), mesh.get_local_rank(i))
        for i, choice in enumerate(choices)
        if choice.local is not None
    )
    results_of = None if is_write else outputs
    offsets = tuple(view.storage_offset() for view in results) if is_view(operator_call.func) else ()
    is_moved = bool(moves) and len(specs) == 1 and bool(offsets)
    is_drawn = is_random(operator_call.func)
    return Plan(moves, sizes, changes[:1], results_of, is_data_dependent, is_drawn, is_moved, offsets)


def is_view(func: Any) -> bool:
    """True if the results of an operator share the memory of its operand.

    Args:
        func: the operator.
    """
    alias = func._schema.returns[0].alias_info if func._schema.returns else None
    return alias is not None and not func._schema.is_mutable


def _call_local(local: Callable[..., Any], count: int, rank: int, arguments: dict[str, Any]) -> Any:
    return local(arguments, count, rank)


_SIZE_NAMES = ("size", "sizes", "shape", "input_sizes", "input_size", "output_size", "weight_size")


def _local_sizes(operator_call: OperatorCall, result: Tensor, local: tuple[int, ...]) -> dict[str, list[int]]:
    if tuple(result.shape) == local:
        return {}
    sizes = {}
    for name, value in operator_call.arguments.items():
        is_size = name in _SIZE_NAMES and isinstance(value, (list, tuple)) and len(value) == len(result.shape)
        if is_size and all(v in (-1, s) for v, s in zip(value, result.shape)):
            sizes[name] = list(local)
    return sizes


def _pieces(spec: DTensorSpec, dim: int) -> int:
    """Into how many pieces a dimension is cut."""
    return math.prod(spec.mesh.size(i) for i, p in enumerate(spec.placements) if p.is_shard(dim))


def _without_elements(spec: DTensorSpec) -> Tensor:
    meta = spec.tensor_meta
    return tl_core.empty_strided(meta.shape, meta.stride, dtype=meta.dtype, device="meta")


def _replace(value: Any, tensors: Any) -> Any:
    """An argument with other tensors in it, in order."""
    if isinstance(value, Tensor):
        return next(tensors)
    if isinstance(value, (list, tuple)):
        return type(value)(_replace(v, tensors) for v in value) if _has_tensor(value) else value
    return value


def _has_tensor(values: Sequence[Any]) -> bool:
    return any(isinstance(v, Tensor) for v in values)


def _flat_tensors(results: Any) -> list[Tensor]:
    return [value for value in tree_flatten(results)[0] if isinstance(value, Tensor)]


def _is_data_dependent(func: Any) -> bool:
    name = func._schema.name.partition("::")[2]
    overload = func._schema.overload_name
    full = f"{name}.{overload}" if overload else name
    return full in facts("sizes") or full in facts("numbers")


def _cheapest(
    operator_call: OperatorCall,
    strategies: Sequence[Strategy],
    specs: Sequence[DTensorSpec],
    mesh_dim: int,
    is_write: bool,
) -> Strategy:
    func = operator_call.func
    now = [spec.placements[mesh_dim] for spec in specs]
    sizes = [math.prod(spec.shape) for spec in specs]
    strategies = [*strategies, *_late_cuts(func, strategies, now), *_norms_of_norms(operator_call, now)]
    usable = [
        s
        for s in strategies
        if not is_write or (s.operands[0] == now[0] and s.results[:1] in ((now[0],), ()))
    ]

    def cost(strategy: Strategy) -> float:
        moves = sum(_cost(old, new, size, is_write) for old, new, size in zip(now, strategy.operands, sizes))
        return moves - _CUTTING * strategy.is_preferred

    best = min(usable, key=cost, default=None)
    if best is None or cost(best) >= _NEVER:
        raise NotImplementedError(
            f"{func}: writes to a DTensor that is {now[0]!r}, with operands that are {now[1:]}; make it Replicate() or "
            "a Shard with redistribute first"
        )
    return best


def _late_cuts(func: Any, strategies: Sequence[Strategy], now: Sequence[Placement]) -> list[Strategy]:
    """The strategies for a piece of a dimension that another mesh dimension has cut before: all tensors are cut so."""
    late = {p.split_factor for p in now if isinstance(p, _StridedShard)}
    if not late or func._schema.name.partition("::")[2] in (
        "view",
        "view_copy",
        "_sample_norm",
        "_sample_norm_backward",
    ):
        return []

    def cut(placement: Placement, factor: int) -> Placement:
        return (
            _StridedShard(placement.dim, split_factor=factor) if isinstance(placement, Shard) else placement
        )

    return [
        s._replace(
            operands=tuple(cut(p, factor) for p in s.operands),
            results=tuple(cut(p, factor) for p in s.results),
        )
        for factor in late
        for s in strategies
        if s.local is None
    ]


_MOVING = ("stack", "cat", "view", "detach", "alias", "clone", "unsqueeze", "squeeze")  # norms, as they are


def _norms_of_norms(operator_call: OperatorCall, now: Sequence[Placement]) -> list[Strategy]:
    """The strategies for norms of pieces: an operator moves them, or gives their norm of the same order."""
    first = now[0] if now else None
    if not isinstance(first, _NormPartial) or any(placement != first for placement in now):
        return []
    is_norm = operator_call.name == "linalg_vector_norm"
    if is_norm and float(operator_call.arguments["ord"]) != first.norm_type:
        return []
    if not is_norm and operator_call.name not in _MOVING:
        return []
    return [Strategy((first,) * len(now), (first,) * len(operator_call.results))]


# What a change of layout moves, as a share of the tensor; cutting moves nothing, and is next to nothing.
_CUTTING, _GATHERING, _SUMMING, _NEVER = 0.01, 1.0, 2.0, 1e18


def _cost(now: Placement, then: Placement, size: int, is_write: bool) -> float:
    if now == then:
        return 0.0
    if isinstance(now, Replicate):
        return _CUTTING * size + _CUTTING
    if isinstance(then, Partial):  # a piece among zeros is a term: what is added to terms becomes one
        is_piece = isinstance(now, Shard) and then.reduce_op == "sum"
        return _CUTTING * size + _CUTTING if is_write and is_piece else _NEVER
    return (
        _SUMMING if isinstance(now, Partial) and isinstance(then, Replicate) else _GATHERING
    ) * size + _GATHERING


# ---- computing -------------------------------------------------------------------------------------------------------


def _run(
    func: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    operands: Sequence[Any],
    plan: Plan,
    kind: type[Any],
) -> Any:
    if not plan.moves and not plan.sizes and not plan.local and not kwargs:
        own = [
            v._local_tensor
            if type(v) is kind
            else _local(v, kind)
            if isinstance(v, (kind, list, tuple))
            else v
            for v in args
        ]
        computed = func(*own)
    else:
        locals_ = [operand._local_tensor if isinstance(operand, kind) else operand for operand in operands]
        for index, placements in plan.moves:
            if isinstance(operand := operands[index], kind):
                locals_[index] = redistribute_local_tensor(locals_[index], operand._spec, placements)
        computed = _compute(func, args, kwargs, locals_, plan)
    if plan.results is None:
        return args[0]
    if plan.offsets:
        return _wrap_views(computed, plan, args[0].storage_offset(), kind)
    if len(plan.results) == 1 and isinstance(computed, Tensor):
        return kind(computed, plan.results[0], requires_grad=False)
    return wrap(computed, plan, operands[0]._spec.mesh if isinstance(operands[0], kind) else None, kind)


def _wrap_views(computed: Any, plan: Plan, start: int, kind: type[Any]) -> Any:
    """Views as distributed tensors, whose offsets autograd reads: it takes the views of gradients again."""
    flat, tree = tree_flatten(computed)
    views = [
        kind(value, spec, requires_grad=False, storage_offset=start + offset)
        for value, spec, offset in zip(flat, plan.results or (), plan.offsets, strict=True)
    ]
    return tree_unflatten(views, tree)


def _local(value: Any, kind: type[Any]) -> Any:
    if isinstance(value, kind):
        return value._local_tensor
    return type(value)(_local(v, kind) for v in value) if isinstance(value, (list, tuple)) else value


def _compute(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], locals_: Sequence[Tensor], plan: Plan
) -> Any:
    tensors = iter(locals_)
    if not plan.sizes and not plan.local:
        own = [_replace(value, tensors) for value in args]
        return func(*own, **{name: _replace(value, tensors) for name, value in kwargs.items()})
    named = {name: _replace(v, tensors) for name, v in argument_names(func, args, kwargs).items()}
    named.update(plan.sizes)
    for change in plan.local:
        if (result := change(named)) is not None:
            return result
    return call_by_name(func, named)


def wrap(computed: Any, plan: Plan, mesh: DeviceMesh | None, kind: type[Any]) -> Any:
    """The results of a rank's own call as distributed tensors.

    Args:
        computed: the results.
        plan: the plan.
        mesh: the mesh, for results whose sizes were unknown.
        kind: the class of distributed tensors.
    """
    specs = plan.results or ()
    flat, tree = tree_flatten(computed)
    layouts = iter(specs)
    wrapped = []
    for value in flat:
        if not isinstance(value, Tensor):
            wrapped.append(value)
            continue
        if plan.is_data_dependent:
            assert mesh is not None
            spec = DTensorSpec(mesh, (Replicate(),) * mesh.ndim, meta_of(value))
        else:
            spec = next(layouts)
        wrapped.append(kind(value, spec, requires_grad=False))
    return tree_unflatten(wrapped, tree)


# ---- results that are given ------------------------------------------------------------------------------------------


def _outs(func: Any, kwargs: dict[str, Any]) -> list[str]:
    """The names of the arguments of an out form."""
    return [a.name for a in func._schema.arguments if a.is_out and a.name in kwargs]


def _call_with_outs(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], outs: list[str], kind: type[Any]
) -> Any:
    name = func._schema.name.partition("::")[2]
    text = facts("shards").get(f"{name}.{func._schema.overload_name}", "")
    if not text.startswith("out "):
        raise NotImplementedError(
            f"{func}: DTensor has no rule for this form; call the function without out="
        )
    plain = operator_named(text[4:])
    results = plain(*args, **{key: value for key, value in kwargs.items() if key not in outs})
    several = list(results) if isinstance(results, (list, tuple)) else [results]
    for key, result in zip(outs, several, strict=True):
        out = kwargs[key]
        if not isinstance(out, kind):
            raise mixture_error(func, out, result)
        if out.shape != result.shape:
            raise RuntimeError(
                f"{func}: out has the size {tuple(out.shape)}, the result {tuple(result.shape)}"
            )
        out._local_tensor.copy_(
            redistribute_local_tensor(result._local_tensor, result._spec, out._spec.placements)
        )
    return kwargs[outs[0]] if len(outs) == 1 else tuple(kwargs[key] for key in outs)
