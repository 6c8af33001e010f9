"""Tensors without memory that claim a device, and whose sizes may be expressions.

Each stands on a tensor of the device meta, its *lane*; where a size is symbolic there are three, the example's and two
probes, and every operator runs on all of them. What fits the three sizes of a result is its size (`probes.py`).
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

import tl_core
import tl_core.ops
import tl_core.symbolic
from tl_core.dispatch_modes import no_modes
from tl_core.parameter import disabled_torch_function
from tl_core.symbolic_numbers import SymBool, SymFloat, SymInt

from ..symbolic.errors import GuardOnDataDependentSymNode
from ..symbolic.expression import Expr, Integer, Symbol, relation, sympify
from .probes import LANES, Probes
from .schemas import schema_of

__all__ = [
    "FakeTensor",
    "fake_from_geometry",
    "fake_of",
    "is_fake",
    "plain_meta",
    "run_on_fakes",
    "unbacked_number",
]

Tensor = tl_core.Tensor
_META = tl_core.device("meta")
_CPU = tl_core.device("cpu")

_SYMBOLIC = (SymInt, SymFloat, SymBool)


def probes_of(shape_env: Any) -> Probes:
    """The probes of an environment, made when they are first needed."""
    held = shape_env.__dict__.get("probes")
    if held is None:
        held = shape_env.__dict__["probes"] = Probes(shape_env)
    return held


_NATIVE_GRAD: Any = Tensor.requires_grad


class FakeTensor(Tensor):
    """Stands for a tensor while a program is traced: it has a shape, a dtype and a device, and no memory."""

    __torch_function__ = disabled_torch_function

    _lanes: list[Any]
    _sizes: tuple[Any, ...] | None
    _claimed: Any
    _wants_grad: bool
    fake_mode: Any

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run_on_fakes(func, args, kwargs or {})

    # ---- geometry
    @property
    def shape(self) -> Any:  # type: ignore[override]
        """The sizes; symbolic ints where they are dynamic."""
        if self._sizes is None:
            return self._lanes[0].shape
        return tl_core.Size(self._sizes)

    def size(self, dim: Any = None) -> Any:
        """The sizes, or one of them.

        Args:
            dim: which one.
        """
        return self.shape if dim is None else self.shape[dim]

    def __len__(self) -> int:
        if not self._lanes[0].ndim:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0].__index__()

    def numel(self) -> Any:
        """The number of elements."""
        if self._sizes is None:
            return self._lanes[0].numel()
        total: Any = 1
        for n in self._sizes:
            total = total * n
        return total

    nelement = numel

    def stride(self, dim: Any = None) -> Any:
        """The strides, or one of them.

        Args:
            dim: which one.
        """
        found = self._lanes[0].stride() if self._sizes is None else _strides(self)
        return tuple(found) if dim is None else found[dim]

    def storage_offset(self) -> Any:
        """The first element's place in the storage."""
        return self._lanes[0].storage_offset()

    # ---- what it claims
    @property
    def device(self) -> Any:  # type: ignore[override]
        """The device that it stands for."""
        return self._claimed

    @property
    def fake_device(self) -> Any:
        """The device that it stands for."""
        return self._claimed

    @property
    def is_meta(self) -> bool:  # type: ignore[override]
        """Whether it stands for a tensor without memory."""
        return bool(self._claimed.type == "meta")

    @property
    def is_cpu(self) -> bool:  # type: ignore[override]
        """Whether it stands for a tensor of the CPU."""
        return bool(self._claimed.type == "cpu")

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        """Whether it stands for a tensor of a CUDA device."""
        return bool(self._claimed.type == "cuda")

    @property
    def requires_grad(self) -> bool:
        """Whether what it stands for requires a gradient."""
        return self._wants_grad or bool(_NATIVE_GRAD.__get__(self))

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._wants_grad = bool(value)

    def record_gradients(self) -> None:
        """From now on autograd records what is done with it, as with a leaf."""
        _NATIVE_GRAD.__set__(self, True)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Says whether what it stands for requires a gradient."""
        self._wants_grad = requires_grad
        return self

    # ---- values
    def item(self) -> Any:
        """The value of the one element: a number that only the data decide."""
        return _item(self)

    def tolist(self) -> Any:
        """The elements as lists of such numbers."""
        if self._lanes[0].ndim == 0:
            return self.item()
        return [self.select(0, i).tolist() for i in range(len(self))]

    def __bool__(self) -> bool:
        found = _item(self)
        return bool(found if not isinstance(found, SymInt) else found != 0)

    def __int__(self) -> int:
        return int(_item(self))

    def __float__(self) -> float:
        return float(_item(self))

    def __index__(self) -> int:
        return int(_item(self))

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: there is no memory."""
        raise RuntimeError(".numpy() is not supported for tensor subclasses: a traced tensor has no memory")

    def data_ptr(self) -> int:
        """Refused: there is no memory."""
        raise RuntimeError(
            "Cannot access data pointer of Tensor (e.g. FakeTensor, FunctionalTensor): a traced tensor has no memory"
        )

    def __getitem__(self, index: Any) -> Any:
        return _indexed(self, index)

    def __deepcopy__(self, memo: Any) -> Any:
        with no_modes():
            lanes = [lane.clone() for lane in self._lanes]
            return _wrap(self, lanes, self._claimed, self._sizes, self._wants_grad)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        parts = [f"size=({', '.join(map(str, self.shape))}{',' if self._lanes[0].ndim == 1 else ''})"]
        if self.dtype != tl_core.get_default_dtype():
            parts.append(f"dtype={self.dtype}")
        if self._claimed.type != "cpu":
            parts.insert(0, f"device={str(self._claimed)!r}")
        if self._wants_grad:
            parts.append("requires_grad=True")
        return f"FakeTensor(..., {', '.join(parts)})"

    __str__ = __repr__


def is_fake(x: Any) -> bool:
    """Whether a tensor stands for another while a program is traced."""
    return isinstance(x, FakeTensor)


def _wrap(like: Any, lanes: list[Any], device: Any, sizes: Any, wants_grad: bool) -> FakeTensor:
    made: FakeTensor = Tensor.as_subclass(lanes[0], FakeTensor)  # type: ignore[attr-defined]
    state = made.__dict__
    state["_lanes"], state["_sizes"], state["_claimed"], state["_wants_grad"] = (
        lanes,
        sizes,
        device,
        wants_grad,
    )
    state["_version_of_sizes"] = -1
    return made


def plain_meta(t: Any) -> Any:
    """A tensor of the device meta with the geometry of another."""
    with no_modes():
        return tl_core.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=_META)


def fake_of(t: Any, shape_env: Any = None, sizes: Any = None) -> FakeTensor:
    """What stands for a tensor.

    Args:
        t: the tensor.
        shape_env: the environment of symbols, where sizes are symbolic.
        sizes: the sizes with expressions for dynamic ones; None: all are static.

    Returns:
        A tensor without memory.
    """
    with no_modes():
        strides = t.stride()
        exprs = None if sizes is None else [sympify(n) for n in sizes]
        if exprs is None or all(isinstance(e, Integer) for e in exprs):
            lane = tl_core.empty_strided(t.shape, strides, dtype=t.dtype, device=_META)
            return _wrap(t, [lane], t.device, None, t.requires_grad)
        steps = shape_env._strides_of(list(t.shape), list(strides), exprs)
        probes = probes_of(shape_env)
        lanes = [_geometry(probes, exprs, steps, t.dtype, i) for i in range(LANES)]
        for e in exprs:
            probes.remember(e)
        made = [shape_env.create_symintnode(e, hint=h) for e, h in zip(exprs, t.shape, strict=True)]
        return _wrap(t, lanes, t.device, tuple(made), t.requires_grad)


def _geometry(probes: Probes, sizes: list[Expr], strides: list[Expr], dtype: Any, lane: int) -> Any:
    at = probes.lane(lane)
    return tl_core.empty_strided(
        [int(e.evaluate(at)) for e in sizes],
        [int(e.evaluate(at)) for e in strides],
        dtype=dtype,
        device=_META,
    )


# ---- symbolic geometry
def _env_of(x: Any) -> Any:
    """The environment of a symbolic number or tensor; None if it has none."""
    if isinstance(x, _SYMBOLIC):
        return x.node.shape_env
    if isinstance(x, FakeTensor) and x._sizes is not None:
        for n in x._sizes:
            if isinstance(n, SymInt):
                return n.node.shape_env
    return None


def _exprs_of(x: FakeTensor) -> list[Expr]:
    return [sympify(n) for n in (x._lanes[0].shape if x._sizes is None else x._sizes)]


def _strides(x: FakeTensor) -> list[Any]:
    """The strides as expressions: products of sizes where they are."""
    env = _env_of(x)
    if env is None:
        return list(x._lanes[0].stride())
    lanes = [_lane_of(x, i, env).stride() for i in range(LANES)]
    exprs, known = _exprs_of(x), [sympify(1)]
    for e in reversed(exprs):
        known.append(known[-1] * e)
    probes = probes_of(env)
    found: list[Any] = []
    for i in range(len(exprs)):
        values = tuple(lane[i] for lane in lanes)
        e = probes.fit(values, [*known, *exprs])  # type: ignore[assignment]
        found.append(env.create_symintnode(e, hint=values[0]) if e is not None else values[0])
    return found


def _lane_of(x: FakeTensor, lane: int, env: Any) -> Any:
    """The meta tensor of a lane; made again where something was learned of the symbols since."""
    if x._sizes is None:
        return x._lanes[0]
    if x.__dict__["_version_of_sizes"] != env.version:
        _renew(x, env)
    return x._lanes[lane]


def _renew(x: FakeTensor, env: Any) -> None:
    probes = probes_of(env)
    exprs = [env.replace(sympify(n)) for n in x._sizes or ()]
    for i in range(1, LANES):
        wanted = tuple(int(e.evaluate(probes.lane(i))) for e in exprs)
        held = x._lanes[i]
        if tuple(held.shape) != wanted:
            order = sorted(range(len(wanted)), key=lambda d: x._lanes[0].stride(d))
            x._lanes[i] = _like_layout(held, wanted, order, x._lanes[0])
    x.__dict__["_version_of_sizes"] = env.version


def _like_layout(held: Any, sizes: tuple[int, ...], order: list[int], example: Any) -> Any:
    """A meta tensor of other sizes whose dimensions lie in the same order."""
    strides, step = [0] * len(sizes), 1
    for d in sorted(order, key=lambda d: (example.stride(d), -d)):
        if example.stride(d) == 0 and sizes[d] != 0:
            continue
        strides[d] = step
        step *= max(sizes[d], 1)
    return tl_core.empty_strided(list(sizes), strides, dtype=held.dtype, device=_META)


# ---- running operators
class _Lane:
    """Arguments of an operator as they are in one lane."""

    def __init__(self, number: int, env: Any, override: dict[Symbol, Any] | None = None) -> None:
        self.number, self.env, self.override = number, env, override

    def of(self, a: Any) -> Any:
        """An argument in this lane."""
        if isinstance(a, Tensor):
            return self._tensor(a)
        if isinstance(a, _SYMBOLIC):
            return self._number(a)
        if isinstance(a, (list, tuple)):
            made = [self.of(x) for x in a]
            return made if isinstance(a, list) else tuple(made)
        return _META if isinstance(a, tl_core.device) else a

    def _number(self, a: Any) -> Any:
        at = self.override if self.override is not None else probes_of(self.env).lane(self.number)
        return a.node.pytype(a.node.expr.evaluate(at))

    def _tensor(self, a: Any) -> Any:
        if not isinstance(a, FakeTensor):
            return _meta_of_real(a)
        if a._sizes is None or self.env is None:
            return a._lanes[0]
        if self.override is None:
            return _lane_of(a, self.number, self.env)
        sizes = [int(e.evaluate(self.override)) for e in _exprs_of(a)]
        order = list(range(len(sizes)))
        return _like_layout(a._lanes[0], tuple(sizes), order, a._lanes[0])


def _meta_of_real(t: Any) -> Any:
    if t.device.type == "meta":
        return t
    held = _metas_by_id.get(id(t))
    if held is None or held[0]() is not t:
        key = id(t)
        made = tl_core.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=_META)
        held = _metas_by_id[key] = (weakref.ref(t, lambda _: _metas_by_id.pop(key, None)), made)
    return held[1]


_metas_by_id: dict[int, tuple[Any, Any]] = {}


def _leaves(args: Any, kwargs: dict[str, Any]) -> list[Any]:
    found: list[Any] = []
    stack = [args, list(kwargs.values())]
    while stack:
        for a in stack.pop():
            if isinstance(a, (list, tuple)):
                stack.append(a)
            elif isinstance(a, (Tensor, *_SYMBOLIC)):
                found.append(a)
    return found


def _device_of(func: Any, leaves: list[Any], kwargs: dict[str, Any], args: Any) -> Any:
    """The device that a result claims: what is asked for, else that of the tensors that have dimensions."""
    asked = kwargs.get("device")
    if asked is None:
        asked = next((a for a in args if isinstance(a, tl_core.device)), None)
    if asked is not None:
        return tl_core.device(asked)
    found = None
    for a in leaves:
        if isinstance(a, Tensor):
            if a.ndim or found is None:
                found = a.device if a.ndim or found is None else found
            if a.ndim and a.device.type != "cpu":
                return a.device
    if found is not None:
        return found
    return tl_core.get_default_device() if hasattr(tl_core, "get_default_device") else _CPU


def run_on_fakes(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Runs an operator on tensors without memory.

    Args:
        func: the operator.
        args, kwargs: its arguments: fakes, real tensors of which only the geometry counts, symbolic numbers.

    Returns:
        Its results.

    Raises:
        GuardOnDataDependentSymNode: the sizes of its results depend on data, and no rule says how.
    """
    leaves = _leaves(args, kwargs)
    env = None
    for a in leaves:
        env = _env_of(a)
        if env is not None:
            break
    rule = _BY_DATA.get(str(func))
    if rule is not None:
        return rule(func, args, kwargs, leaves, env)
    device = _device_of(func, leaves, kwargs, args)
    if (
        schema_of(func).takes_device
        and kwargs.get("device") is None
        and not any(isinstance(a, tl_core.device) for a in args)
    ):
        kwargs = {**kwargs, "device": _META}
    wants_grad = tl_core.is_grad_enabled() and any(isinstance(a, Tensor) and a.requires_grad for a in leaves)
    with no_modes():
        if env is None:
            lane = _Lane(0, None)
            out = func(*lane.of(args), **{k: lane.of(v) for k, v in kwargs.items()})
            return _static_results(out, leaves, device, wants_grad)
        return _SymbolicCall(func, args, kwargs, leaves, env, device, wants_grad).run()


def _written(out: Any, leaves: list[Any]) -> FakeTensor | None:
    """The fake whose lane an operator has returned, because it wrote to it."""
    for a in leaves:
        if isinstance(a, FakeTensor) and a._lanes[0] is out:
            return a
    return None


def _static_results(out: Any, leaves: list[Any], device: Any, wants_grad: bool) -> Any:
    if isinstance(out, Tensor):
        written = _written(out, leaves)
        if written is not None:
            return written
        return _wrap(out, [out], device, None, wants_grad and out.is_floating_point())
    if isinstance(out, (list, tuple)):
        made = [_static_results(o, leaves, device, wants_grad) for o in out]
        return made if isinstance(out, list) else _tuple_like(out, made)
    return out


def _tuple_like(out: Any, made: list[Any]) -> Any:
    kind = type(out)
    if kind is tuple:
        return tuple(made)
    return kind(*made) if hasattr(kind, "_fields") else kind(made)


class _SymbolicCall:
    """One call of an operator with symbolic sizes."""

    def __init__(
        self, func: Any, args: Any, kwargs: Any, leaves: list[Any], env: Any, device: Any, wants_grad: bool
    ) -> None:
        self.func, self.args, self.kwargs, self.leaves, self.env = func, args, kwargs, leaves, env
        self.device, self.wants_grad, self.probes = device, wants_grad, probes_of(env)

    def run(self) -> Any:
        """Runs it in all lanes and puts the results together."""
        outs = self._in_all_lanes()
        known = self._known()
        return self._join(outs, known, ())

    def _call(self, lane: _Lane) -> Any:
        return self.func(*lane.of(self.args), **{k: lane.of(v) for k, v in self.kwargs.items()})

    def _in_all_lanes(self) -> list[Any]:
        first = self._call(_Lane(0, self.env))
        for _ in range(16):
            error = None
            outs = [first]
            for i in range(1, LANES):
                try:
                    outs.append(self._call(_Lane(i, self.env)))
                except (RuntimeError, ValueError, IndexError) as e:
                    error = e
                    break
            if error is None and self._same_structure(outs):
                return outs
            self._narrow(error)
        raise RuntimeError(f"{self.func}(): no sizes but those of the example fit its arguments")

    def _same_structure(self, outs: list[Any]) -> bool:
        def shape(o: Any) -> Any:
            if isinstance(o, Tensor):
                return (o.ndim, o.dtype)
            return [shape(x) for x in o] if isinstance(o, (list, tuple)) else type(o)

        return all(shape(o) == shape(outs[0]) for o in outs[1:])

    def _known(self) -> list[Expr]:
        found: dict[Expr, None] = {}
        order: list[Expr] = []
        for a in self.leaves:
            if isinstance(a, FakeTensor) and a._sizes is not None:
                order += [self.env.replace(e) for e in _exprs_of(a)]
            elif isinstance(a, SymInt):
                order.append(a.node.expr)
        for e in order:
            found.setdefault(e)
        return [e for e in found if not isinstance(e, Integer)]

    # ---- what must hold where other sizes raise
    def _narrow(self, error: Exception | None) -> None:
        """Finds an equality of sizes without which the operator raises at other sizes, and makes it a guard."""
        exprs: dict[Expr, int] = {}
        fixed: set[int] = set()
        for a in self.leaves:
            if isinstance(a, Tensor):
                for e in _exprs_of(a) if isinstance(a, FakeTensor) else map(sympify, a.shape):
                    e = self.env.replace(e)
                    hint = self.env.size_hint(e, allow_none=True)
                    if isinstance(e, Integer):
                        fixed.add(e.value)
                    elif hint is not None:
                        exprs[e] = int(hint)
            elif isinstance(a, SymInt) and a.node.hint is not None:
                e = a.node.expr
                if not isinstance(e, Integer):
                    exprs[e] = int(a.node.hint)
        candidates: list[Expr] = []
        names = list(exprs)
        pairs = itertools.combinations(names, 2)
        candidates += [relation("==", a, b) for a, b in pairs if exprs[a] == exprs[b]]
        candidates += [relation("==", a, sympify(h)) for a, h in exprs.items() if h in fixed]
        candidates += [relation("==", a, sympify(h)) for a, h in exprs.items() if h not in fixed]
        for guard in candidates:
            if self._helps(guard):
                self.env.evaluate_expr(guard)
                return
        if candidates:
            self.env.evaluate_expr(candidates[-1])
            return
        if error is not None:
            raise error
        raise GuardOnDataDependentSymNode(None, f"{self.func}(): the number of its results depends on data")

    def _helps(self, guard: Expr) -> bool:
        """Whether the operator runs at other sizes if a guard holds."""
        trial = _TrialEnv(self.env, guard)
        if not trial.learned:
            return False
        for i in range(1, LANES):
            at = trial.values(self.probes.lane(i))
            try:
                self._call(_Lane(i, self.env, at))
            except (RuntimeError, ValueError, IndexError, KeyError):
                return False
        return True

    # ---- results
    def _join(self, outs: list[Any], known: list[Expr], path: tuple[int, ...]) -> Any:
        first = outs[0]
        if isinstance(first, Tensor):
            return self._tensor(outs, known, path)
        if isinstance(first, (list, tuple)):
            made = [self._join([o[i] for o in outs], known, (*path, i)) for i in range(len(first))]
            return made if isinstance(first, list) else _tuple_like(first, made)
        return first

    def _tensor(self, outs: list[Any], known: list[Expr], path: tuple[int, ...]) -> Any:
        written = _written(outs[0], self.leaves)
        sizes = self._sizes(outs, known, path)
        if written is not None:
            written.__dict__["_lanes"] = outs if sizes is not None else outs[:1]
            written.__dict__["_sizes"] = sizes
            return written
        floating = self.wants_grad and outs[0].is_floating_point()
        if sizes is None:
            return _wrap(outs[0], outs[:1], self.device, None, floating)
        made = _wrap(outs[0], outs, self.device, sizes, floating)
        made.__dict__["_version_of_sizes"] = self.env.version
        return made

    def _sizes(self, outs: list[Any], known: list[Expr], path: tuple[int, ...]) -> tuple[Any, ...] | None:
        shapes = [tuple(o.shape) for o in outs]
        if all(s == shapes[0] for s in shapes):
            return None
        found: list[Any] = []
        for d, values in enumerate(zip(*shapes, strict=True)):
            again = self._again(path, d)
            e = self.probes.fit(values, known, again)
            if e is None:
                e = self._fresh(values)
            found.append(self.env.create_symintnode(e, hint=values[0]))
        return tuple(found)

    def _again(self, path: tuple[int, ...], d: int) -> Callable[[dict[Symbol, Any]], int | None]:
        def run(at: dict[Symbol, Any]) -> int | None:
            try:
                out = self._call(_Lane(1, self.env, at))
                for i in path:
                    out = out[i]
                return int(out.shape[d])
            except (RuntimeError, ValueError, IndexError):
                return None

        return run

    def _fresh(self, values: tuple[int, ...]) -> Expr:
        """A symbol for a size that nothing fits: the graph reads it from the result."""
        symbol = self.env._fresh("s", True, True)
        self.env.add_var_to_val(symbol, values[0])
        from ..symbolic.ranges import ValueRanges, int_oo

        self.env.var_to_range[symbol] = ValueRanges(0, int_oo)
        self.env.var_to_sources[symbol] = []
        self.probes.fix(symbol, values)
        self.probes.found[values] = symbol
        return symbol


class _TrialEnv:
    """What would be learned from a guard."""

    def __init__(self, env: Any, guard: Expr) -> None:
        import copy

        trial = copy.copy(env)
        trial.__dict__ = {
            **env.__dict__,
            "replacements": dict(env.replacements),
            "var_to_range": dict(env.var_to_range),
            "_facts": set(env._facts),
            "divisible": set(env.divisible),
            "reasons": dict(env.reasons),
            "_replaced": {},
        }
        trial._use(guard)
        self.learned = {s: e for s, e in trial.replacements.items() if env.replacements.get(s) != e}
        self._env = trial

    def values(self, lane: dict[Symbol, Any]) -> dict[Symbol, Any]:
        """The values of a lane with what was learned."""
        made = dict(lane)
        self._env._replaced = {}
        for symbol in self._env.replacements:
            made[symbol] = self._env.replace(symbol).evaluate(made)
        return made


# ---- what depends on data
def unbacked_number(env: Any, dtype: Any) -> Any:
    """A number that only the data of a tensor of a dtype decide."""
    if dtype == tl_core.bool:
        return env.create_unbacked_symbool()
    if dtype.is_floating_point:
        return env.create_unbacked_symfloat()
    return env.create_unbacked_symint()


def _unrecorded_item(x: Any) -> Any:
    return unbacked_number(_env_of(x) or current_env(), x.dtype)


# What makes the number of an element: the mode that records replaces it. Operators can't return symbolic numbers.
item_makers: list[Callable[[Any], Any]] = [_unrecorded_item]


def _item(x: FakeTensor) -> Any:
    if x._lanes[0].numel() != 1:
        raise RuntimeError(f"a Tensor with {x.numel()} elements cannot be converted to Scalar")
    return item_makers[-1](x)


_env_in_use: list[Any] = []


def current_env() -> Any:
    """The environment of the trace that runs; a new one outside of traces."""
    if _env_in_use:
        return _env_in_use[-1]
    from ..symbolic.shape_env import ShapeEnv

    return ShapeEnv()


def _scalar_rule(func: Any, args: Any, kwargs: Any, leaves: list[Any], env: Any) -> Any:
    if not isinstance(args[0], FakeTensor):
        with no_modes():
            return func(*args, **kwargs)
    # Asked for by a kernel or another operator, which would take the number of the example for the number.
    env = env or current_env()
    raise env._data_dependent(env.create_unbacked_symint().node.expr)


def _fresh_size(env: Any, most: Any) -> Any:
    size = env.create_unbacked_symint()
    symbol = size.node.expr
    env.size_like.add(symbol)
    from ..symbolic.ranges import ValueRanges, int_oo

    env.var_to_range[symbol] = ValueRanges(0, most if isinstance(most, int) else int_oo)
    return size


def _made_of(env: Any, like: FakeTensor, sizes: list[Any], dtype: Any) -> FakeTensor:
    """A contiguous fake of these sizes."""
    exprs = [sympify(n) for n in sizes]
    steps: list[Expr] = []
    step = sympify(1)
    for e in reversed(exprs):
        steps.insert(0, step)
        step = step * e
    probes = probes_of(env)
    with no_modes():
        lanes = [_geometry(probes, exprs, steps, dtype, i) for i in range(LANES)]
    for e in exprs:
        probes.remember(e)
    return _wrap(like, lanes, like.device, tuple(sizes), False)


def _nonzero_rule(func: Any, args: Any, kwargs: Any, leaves: list[Any], env: Any) -> Any:
    x = args[0]
    env = env or current_env()
    return _made_of(env, x, [_fresh_size(env, None), x.ndim], tl_core.int64)


def _masked_select_rule(func: Any, args: Any, kwargs: Any, leaves: list[Any], env: Any) -> Any:
    env = env or current_env()
    return _made_of(env, args[0], [_fresh_size(env, None)], args[0].dtype)


def _unique_rule(func: Any, args: Any, kwargs: Any, leaves: list[Any], env: Any) -> Any:
    env = env or current_env()
    x, size = args[0], _fresh_size(env or current_env(), None)
    values = _made_of(env, x, [size], x.dtype)
    return values, _made_of(env, x, list(x.shape), tl_core.int64), _made_of(env, x, [size], tl_core.int64)


_BY_DATA: dict[str, Any] = {
    "aten._local_scalar_dense.default": _scalar_rule,
    "aten.nonzero.default": _nonzero_rule,
    "aten.masked_select.default": _masked_select_rule,
    "aten._unique2.default": _unique_rule,
}


# ---- indexing with symbolic numbers
def _indexed(x: FakeTensor, index: Any) -> Any:
    items = index if isinstance(index, tuple) else (index,)
    if not any(_is_symbolic_index(i) for i in items):
        return Tensor.__getitem__(x, index)
    ops = tl_core.ops.aten
    given = sum(1 for i in items if i is not None and i is not Ellipsis)
    dim = 0
    for i in items:
        if i is Ellipsis:
            dim += x.ndim - dim - (given - _before(items, Ellipsis))
        elif i is None:
            x, dim = ops.unsqueeze.default(x, dim), dim + 1
        elif isinstance(i, slice):
            if i != slice(None):
                start = 0 if i.start is None else i.start
                stop = (1 << 63) - 1 if i.stop is None else i.stop
                x = ops.slice.Tensor(x, dim, start, stop, 1 if i.step is None else i.step)
            dim += 1
        elif isinstance(i, (int, SymInt)) and not isinstance(i, bool):
            x = ops.select.int(x, dim, i)
        else:
            raise NotImplementedError("symbolic indices beside tensors: index in two steps")
    return x


def _before(items: tuple[Any, ...], mark: Any) -> int:
    count = 0
    for i in items:
        if i is mark:
            break
        count += i is not None
    return count


def _is_symbolic_index(i: Any) -> bool:
    if isinstance(i, SymInt):
        return True
    return isinstance(i, slice) and any(isinstance(p, SymInt) for p in (i.start, i.stop, i.step))


def fake_from_geometry(
    shape_env: Any, sizes: list[Expr], strides: list[Expr], dtype: Any, device: Any
) -> FakeTensor:
    """A tensor without memory of given sizes and strides.

    Args:
        shape_env: the environment of their symbols.
        sizes, strides: expressions.
        dtype: the element type.
        device: the device that it claims.
    """
    with no_modes():
        if all(isinstance(e, Integer) for e in (*sizes, *strides)):
            numbers = [int(e) for e in sizes], [int(e) for e in strides]
            lane = tl_core.empty_strided(*numbers, dtype=dtype, device=_META)
            return _wrap(lane, [lane], device, None, False)
        probes = probes_of(shape_env)
        lanes = [_geometry(probes, sizes, strides, dtype, i) for i in range(LANES)]
    made = [shape_env.create_symintnode(e, hint=shape_env.size_hint(e, allow_none=True)) for e in sizes]
    return _wrap(lanes[0], lanes, device, tuple(made), False)
