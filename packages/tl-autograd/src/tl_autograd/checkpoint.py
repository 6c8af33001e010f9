"""Activation checkpointing: the backward recomputes the saved tensors of a part of a model."""

from __future__ import annotations

import contextlib
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tl_core
from tl_autograd import _C
from tl_autograd.backward import backward
from tl_autograd.checkpoint_policy import CheckpointPolicy, SelectiveCheckpointContext
from tl_autograd.function import Function
from tl_autograd.graph import saved_tensors_hooks
from tl_core import Tensor
from tl_core.dispatch.autocast import AutocastSnapshot
from tl_core.pytree import tree_leaves

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "recomputation",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function differs from the first."""


class _Settings(threading.local):
    early_stop = True
    debug: bool | None = None


_settings = _Settings()


class set_checkpoint_early_stop:
    """A context manager: whether a second run ends after the last tensor that the backward needs (the default).

    The setting applies to functions that are checkpointed inside, whenever their backward runs.

    Example:
        >>> import tl_core
        >>> with set_checkpoint_early_stop(False):
        ...     result = checkpoint(tl_core.sin, tl_core.zeros(1, requires_grad=True), use_reentrant=False)
        ...
        >>> result.requires_grad
        True
    """

    def __init__(self, enable: bool):
        self.enable = enable

    def __enter__(self) -> None:
        self._before = _settings.early_stop
        _settings.early_stop = self.enable

    def __exit__(self, *exc: object) -> None:
        _settings.early_stop = self._before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Inside, overrides the argument `debug` of `checkpoint`. With None, the argument decides.

    Example:
        >>> import tl_core
        >>> with set_checkpoint_debug_enabled(True):
        ...     result = checkpoint(tl_core.sin, tl_core.zeros(1, requires_grad=True), use_reentrant=False)
        ...
        >>> result.requires_grad
        True
    """
    before, _settings.debug = _settings.debug, enabled
    try:
        yield
    finally:
        _settings.debug = before


def noop_context_fn() -> tuple[Any, Any]:
    """Two context managers that do nothing.

    Example:
        >>> forward, recomputation = noop_context_fn()
        >>> with forward:
        ...     pass
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


class DefaultDeviceType:
    """The type of the device whose random state is stored when a checkpointed function has no tensor arguments.

    Example:
        >>> DefaultDeviceType.get_device_type()
        'cuda'
    """

    _default_device_type = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Sets the type."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """Returns the type."""
        return DefaultDeviceType._default_device_type


def _infer_device_type(*args: Any) -> str:
    """The device type of tensors in any structure: that of the first tensor that isn't on the CPU.

    Args:
        args: tensors, or nested containers of them.
    """
    kinds = dict.fromkeys(t.device.type for t in tree_leaves(args) if isinstance(t, Tensor))
    accelerators = [kind for kind in kinds if kind != "cpu"]
    if len(accelerators) > 1:
        warnings.warn(
            f"the tensors are on devices of several kinds, {accelerators}; the first counts", stacklevel=2
        )
    if accelerators:
        return accelerators[0]
    return "cpu" if kinds else DefaultDeviceType.get_device_type()


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """(indices of the tensors' accelerators, their random states); both are empty on the CPU.

    Example:
        >>> import tl_core
        >>> get_device_states(tl_core.ones(2))
        ([], [])
    """
    indices = sorted(
        {t.get_device() for t in args if isinstance(t, Tensor) and not t.is_cpu and not t.is_meta}
    )
    if indices:
        raise NotImplementedError(
            "checkpoint: random states of accelerators need tl-backends' device modules"
        )
    return [], []


def set_device_states(
    devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None
) -> None:
    """Sets the random states that `get_device_states` returned.

    Args:
        devices: the devices' indices.
        states: the states of their generators.
        device_type: the type of the devices. None takes the type of the tensors.

    Example:
        >>> import tl_core
        >>> set_device_states(*get_device_states(tl_core.ones(2)))
    """
    if devices:
        raise NotImplementedError(
            "checkpoint: random states of accelerators need tl-backends' device modules"
        )


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors outside of their graph, with unchanged `requires_grad`.

    Raises:
        RuntimeError: the inputs are not a tuple.

    Example:
        >>> import tl_core
        >>> y = tl_core.ones(2, requires_grad=True) * 2
        >>> detach_variable((y,))[0].is_leaf
        True
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}"
        )
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


def check_backward_validity(inputs: Any) -> None:
    """Warns if no input requires gradients, because then a reentrant checkpoint has none.

    Example:
        >>> import tl_core
        >>> check_backward_validity([tl_core.ones(1, requires_grad=True)])
    """
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


@contextlib.contextmanager
def _random_state(state: Tensor | None) -> Iterator[None]:
    """Inside, the CPU's generator has this state. At the end its state before is restored."""
    if state is None:
        yield
        return
    now = tl_core.get_rng_state()
    tl_core.set_rng_state(state)
    try:
        yield
    finally:
        tl_core.set_rng_state(now)


# ---- reentrant -------------------------------------------------------------------------------------------
class CheckpointFunction(Function):
    """`checkpoint(..., use_reentrant=True)`: the backward runs the function again and a backward through it.

    Example:
        >>> import tl_core
        >>> x = tl_core.tensor([2.0], requires_grad=True)
        >>> checkpoint(lambda x: x * x, x, use_reentrant=True).backward()
        >>> x.grad
        tensor([4.])
    """

    @staticmethod
    def forward(ctx: Any, run_function: Callable, preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.state = tl_core.get_rng_state() if preserve_rng_state else None
        ctx.regions = AutocastSnapshot()
        ctx.indices = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.indices))
        with tl_core.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if not _C.fills_leaves():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        args = list(ctx.others)
        for index, t in zip(ctx.indices, ctx.saved_tensors, strict=True):
            args[index] = t
        with _random_state(ctx.state), ctx.regions.entered(), tl_core.enable_grad():
            inputs = detach_variable(tuple(args))
            outputs = ctx.run_function(*inputs)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [
            (y, g) for y, g in zip(outputs, grads, strict=True) if isinstance(y, Tensor) and y.requires_grad
        ]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([y for y, _ in pairs], [g for _, g in pairs])
        return (None, None, *(x.grad if isinstance(x, Tensor) else None for x in inputs))


# ---- not reentrant ---------------------------------------------------------------------------------------
class _Holder:
    """The placeholder in the graph of a tensor that the backward recomputes."""

    def __init__(self, region: _Region, index: int):
        self.region, self.index = region, index


class _Stop(Exception):
    """Every tensor that the backward needs has been recomputed."""


def _metadata(t: Tensor) -> tuple:
    return tuple(t.shape), t.dtype, t.device


class _Region:
    """One call of a checkpointed function: the function to run again, and the results of each run."""

    again: Callable[[], Any]

    def __init__(self, check: bool, early_stop: bool, logs: tuple[Any, Any] | None):
        self.check, self.early_stop, self.logs = check, early_stop, logs
        self.level = _C.top_level()  # the innermost transform of the first run
        self.complete = False  # whether the first run has ended
        self.unequal = False  # whether a second run inside of the first saved more than the first had saved
        self.holders: list[weakref.ref[_Holder]] = []
        self.saved: list[tuple] = []
        self.values: dict[int, dict[int, Tensor]] = {}  # by the backward's number, then by position

    def pack(self, t: Tensor) -> _Holder:
        holder = _Holder(self, len(self.saved))
        self.holders.append(weakref.ref(holder))
        self.saved.append(_metadata(t))
        return holder

    @staticmethod
    def unpack(holder: _Holder) -> Tensor:
        self, run = holder.region, _C.run_number()
        if holder.index not in self.values.get(run, {}):
            self.values[run] = self.compute()
        values = self.values[run]
        tensor = values.pop(holder.index)
        if not values:
            del self.values[run]
        return tensor

    def compute(self) -> dict[int, Tensor]:
        values: dict[int, Tensor] = {}
        metadata: list[tuple] = []

        def pack(t: Tensor) -> Tensor:
            index, plain = len(metadata), _C.alias_in_levels(t) if t.requires_grad else t
            metadata.append(_metadata(t))
            if index >= len(self.holders):
                self.meet_more()
            if index < len(self.holders) and self.holders[index]() is not None:
                values[index] = plain
            if self.early_stop and len(metadata) == len(self.saved):
                raise _Stop
            return plain

        with saved_tensors_hooks(pack, lambda t: t), tl_core.enable_grad(), contextlib.suppress(_Stop):
            self.again()
        self.compare(metadata)
        return values

    def meet_more(self) -> None:
        if self.complete:
            raise self.error(
                "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                f"forward pass, which saved {len(self.saved)}."
            )
        self.unequal = True

    def error(self, text: str) -> CheckpointError:
        if self.logs is not None:
            from tl_autograd.checkpoint_log import explanation

            text += explanation(*self.logs)
        return CheckpointError(text)

    def compare(self, metadata: list[tuple]) -> None:
        if self.unequal:
            return
        if len(metadata) != len(self.saved):
            if self.level is not None and _C.level_numbered(self.level[2]) != self.level:
                raise RuntimeError(
                    "torch.utils.checkpoint: the backward pass of vjp, jacrev or hessian runs after the transform of "
                    "the function ended, and a second run would record nothing: use func.grad, or call the function "
                    "itself"
                )
            raise self.error(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.saved)}\n"
                f"Number of tensors saved during recomputation: {len(metadata)}"
            )
        if not self.check:
            return
        differing = [
            f"tensor at position {i}:\nsaved metadata: {_describe(a)}\nrecomputed metadata: {_describe(b)}"
            for i, (a, b) in enumerate(zip(self.saved, metadata, strict=True))
            if a != b
        ]
        if differing:
            raise self.error(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                "during the forward pass.\n" + "\n".join(differing)
            )


def _describe(metadata: tuple) -> str:
    shape, dtype, device = metadata
    return f"{{'shape': {shape}, 'dtype': {dtype}, 'device': {device}}}"


def _logs(debug: bool, context_fn: Callable) -> tuple[Any, Any] | None:
    if not debug:
        return None
    if context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    from tl_autograd.checkpoint_log import OperatorLog

    return OperatorLog(), OperatorLog()


@contextlib.contextmanager
def recomputation(
    function: Callable,
    args: tuple,
    kwargs: dict,
    *,
    preserve_rng_state: bool = True,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
) -> Iterator[None]:
    """Within the block, the graph saves no intermediate tensors: the backward calls a function to recompute them.

    Args:
        function: computes what the block computes.
        args: the arguments of the function.
        kwargs: the keyword arguments of the function.
        preserve_rng_state: whether the function draws the same random numbers as the block.
        context_fn: makes two context managers, for the block and for the function.
        determinism_check: as in `checkpoint`, like the arguments that follow.
        debug: whether the error about runs that differ lists the operators of both.
        early_stop: whether the function ends after the last tensor that the backward needs.

    Raises:
        ValueError: a wrong determinism_check.

    Example:
        >>> import tl_core
        >>> x = tl_core.ones(3, requires_grad=True)
        >>> function = lambda t: t.exp().sin()
        >>> with recomputation(function, (x,), {}):
        ...     y = function(x)
        >>> y.sum().backward()
    """
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of ('default', 'none') but got {determinism_check}"
        )
    logs = _logs(debug if _settings.debug is None else _settings.debug, context_fn)
    region = _Region(determinism_check == "default", early_stop and _settings.early_stop, logs)
    first, second = context_fn() if logs is None else logs
    state = tl_core.get_rng_state() if preserve_rng_state else None
    regions = AutocastSnapshot()

    def again() -> None:
        with _random_state(state), regions.entered(), second:
            function(*args, **kwargs)

    region.again = again
    with saved_tensors_hooks(region.pack, _Region.unpack), first:
        yield
    region.complete = True


def checkpoint(
    function: Callable,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, of which the graph saves no intermediate tensors: the backward recomputes them.

    Args:
        use_reentrant: True runs a backward inside the backward, which supports `backward()` only, and needs an input
            that requires gradients. False (better) recomputes the saved tensors when the backward needs the first one,
            and stops after the last.
        context_fn: makes two context managers, for the first run and for the second. Not reentrant only.
        determinism_check: "default" compares shapes, dtypes and devices of the saved tensors of both runs; "none"
            does not.
        debug: whether the error about runs that differ lists the operators of both, at the cost of a mode around
            them. `set_checkpoint_debug_enabled` overrides it. Not reentrant only, and without `context_fn`.
        early_stop: whether the second run ends after the last tensor that the backward needs. Not reentrant only.
            `set_checkpoint_early_stop(False)` overrides it.
        preserve_rng_state: whether the second run draws the same random numbers; True by default.
        function: the function to run now, and again in the backward.
        args: the arguments of the function. Tensors among them get gradients.
        kwargs: the keyword arguments of the function.

    Raises:
        CheckpointError: the second run saves other tensors than the first.
        ValueError: a wrong determinism_check, or keyword arguments with use_reentrant=True.

    Example::

        >>> x = tl_core.ones(3, requires_grad=True)
        >>> y = checkpoint(lambda t: t.exp().sin(), x, use_reentrant=False)
        >>> y.sum().backward()
    """
    if use_reentrant is None:
        use_reentrant = _reentrant_by_default("checkpoint")
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        with recomputation(
            function,
            args,
            kwargs,
            preserve_rng_state=preserve,
            context_fn=context_fn,
            determinism_check=determinism_check,
            debug=debug,
            early_stop=early_stop,
        ):
            return function(*args, **kwargs)
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def _reentrant_by_default(function: str) -> bool:
    name = "torch.utils.checkpoint" + (function != "checkpoint") * f".{function}"
    warnings.warn(
        f"{name}: the use_reentrant parameter should be passed explicitly. Without it, use_reentrant=True is taken; "
        "use_reentrant=False is recommended.",
        stacklevel=3,
    )
    return True


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Runs modules or functions one after another. All of `segments` stretches except the last are checkpointed.

    Args:
        functions: a Sequential or a list of callables.
        segments: the number of stretches.
        input: the input of the first function.
        use_reentrant: whether the backward runs within an autograd function, as the older form does. A call without
            it warns.
        kwargs: `preserve_rng_state` only.

    Raises:
        ValueError: unknown keyword arguments.

    Example:
        >>> import tl_core
        >>> x = tl_core.tensor([2.0], requires_grad=True)
        >>> checkpoint_sequential([tl_core.sin, tl_core.exp], 2, x, use_reentrant=False).backward()
        >>> bool((x.grad == x.cos() * x.sin().exp()).all())
        True
    """
    if use_reentrant is None:
        use_reentrant = _reentrant_by_default("checkpoint_sequential")
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    length = len(steps) // segments

    def stretch(first: int, last: int) -> Callable:
        def run(value: Any) -> Any:
            for step in steps[first:last]:
                value = step(value)
            return value

        return run

    for i in range(segments - 1):
        part = stretch(i * length, (i + 1) * length)
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return stretch((segments - 1) * length, len(steps))(input)


# ---- selective -------------------------------------------------------------------------------------------
def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable | Sequence[Any], allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """Makes the contexts of a checkpoint that stores the results of some operators and recomputes the others.

    Each call of `checkpoint` needs new contexts: pass `functools.partial` of this function as its `context_fn`.

    Args:
        policy_fn_or_list: the operators whose results are stored, such as `ops.aten.mm.default`; or a function that
            takes a `SelectiveCheckpointContext`, the operator and its arguments and returns a `CheckpointPolicy`, or
            True to store the result. The operators are those below autograd.
        allow_cache_entry_mutation: whether stored results may be written to.

    Returns:
        The context of the first run and that of the second.

    Raises:
        TypeError: the policy is neither a function nor a list.
        ValueError: the list holds something else than operators by their full names.

    Example:
        >>> import functools
        >>> from tl_core import ops
        >>> x = tl_core.ones(2, 2, requires_grad=True)
        >>> keep = functools.partial(create_selective_checkpoint_contexts, [ops.aten.mm.default])
        >>> y = checkpoint(lambda x: (x @ x).sin(), x, use_reentrant=False, context_fn=keep)
        >>> y.sum().backward()
    """
    from tl_autograd import selective_checkpoint

    return selective_checkpoint.contexts(policy_fn_or_list, allow_cache_entry_mutation)


def __getattr__(name: str) -> Any:
    if name in (
        "_CachedTorchDispatchMode",
        "_CachingTorchDispatchMode",
        "SAC_IGNORED_OPS",
        "_VersionWrapper",
    ):
        from tl_autograd import selective_checkpoint

        return getattr(selective_checkpoint, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
