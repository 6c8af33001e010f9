"""A compiled function: the graphs that were made of its calls, and which of them a call may use."""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import tl_core
import tl_nn
from tl_core.dispatch.autocast import LOWER_TYPES, is_autocast_enabled, set_autocast_enabled
from tl_core.dispatch.modes import is_compiling
from tl_core.pytree import tree_leaves
from tl_nn.modules.lazy import LazyModuleMixin

from .._C import run as run_in_region
from . import dynamo_config as config
from .backends import is_absent, is_default, lookup_backend
from .break_errors import raises_on_break
from .breaks import Break
from .call_sizes import NO_SYMBOLS, History, SizeGuards, Wishes, wishes
from .capture import CallGraph, capture
from .compile_events import compilation
from .counters import counters
from .errors import (
    BackendCompilerFailed,
    FailOnRecompileLimitHit,
    RecompileError,
    TorchRuntimeError,
    Unsupported,
)
from .graph_passes import PassedModule, has_graph_pass
from .partial_calls import PartialCalls
from .reachable import state_of
from .replay.function import ReplayedFunction
from .stance import current, initial_conditions
from .state import State, Unprovable
from .thread_state import is_observed, thread_state
from .warn_once import warn_once

__all__ = ["CompiledFunction", "Settings", "reset_all", "wrap"]

_log = logging.getLogger("torch._dynamo")
_lock = threading.RLock()
_CHANGING = 3
_all: list[Any] = []  # weak references to the compiled functions


class Settings(NamedTuple):
    """What `compile` was told.

    Args:
        backend: the name of a backend, or a function.
        fullgraph: whether a call that can't become one graph is an error.
        dynamic: whether sizes are symbols; None: those that change.
        options: what the backend gets by keyword.
    """

    backend: Any
    fullgraph: bool = False
    dynamic: bool | None = None
    options: dict[str, Any] = {}  # noqa: RUF012 - never changed


class _Entry(NamedTuple):
    """What is run for calls with one key, and of some sizes: a compiled graph, or the function itself and why."""

    guards: SizeGuards
    graph: CallGraph | None
    run: Callable[..., Any] | None
    reason: Break | None
    owners: list[Any]


class _Match(NamedTuple):
    """What is run for a call."""

    entry: _Entry
    state: State
    values: dict[Any, int]  # of the symbols of its graph


class CompiledFunction:
    """A function that is compiled when it is called, once for each state that its operators depend on.

    Args:
        function: the function.
        settings: what `compile` was told.
    """

    def __init__(self, function: Callable[..., Any], settings: Settings) -> None:
        self.function, self.settings = function, settings
        self.runs_in_region = is_default(settings.backend) and not settings.fullgraph
        # What a region runs: the function, or the module that passes make of a graph module.
        passes = is_default(settings.backend) and has_graph_pass(function)
        self.region_function = PassedModule(function) if passes else function
        at_once = settings.options.get("mode") == "reduce-overhead"
        self.replays = (
            ReplayedFunction(self.region_function, at_once=at_once) if self.runs_in_region else None
        )
        self.entry: Any = None if self.replays is None else self.replays.entry(self, _ordinary_conditions())
        self.entries: dict[Any, list[_Entry]] = {}
        self.last_key: Any = None
        self.history = History()
        self.compiles = 0
        self.calls = 0
        self.checked: set[Any] = set()
        self.unproved: Break | None = None  # why the state of the last such call isn't known in full
        self.is_lazy = True  # until its modules have the shapes of their parameters
        self.changing = 0  # graphs since the last hit whose calls change what the program holds
        self.failures = 0  # calls since the last graph; after some of them, only parts are compiled
        self.parts = PartialCalls(lambda part: CompiledFunction(part, settings))
        _note(self)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], tried: bool = False) -> Any:
        """Calls the function in one of its forms.

        Args:
            args, kwargs: the arguments.
            tried: whether no recorded call holds for this one.
        """
        stance = current()
        if (
            self.runs_in_region
            and stance.name != "force_eager"
            and stance.backend is None
            and not config.disable
        ):
            if self.replays is not None:
                return (
                    self.replays.run(args, kwargs, self.entry.hits) if tried else self.replays(args, kwargs)
                )
            return run_in_region(self.region_function, args, kwargs)
        backend = stance.backend if stance.backend is not None else self.settings.backend
        if stance.name == "force_eager" or config.disable or is_compiling() or is_observed():
            return self.function(*args, **kwargs)
        if is_absent(backend):
            self._say_absent(backend)
            if self.settings.fullgraph:
                self._check_values(args, kwargs)
            return run_in_region(self.region_function, args, kwargs)
        if self.is_lazy:
            self.is_lazy = _has_lazy_parts(self.function)
            if self.is_lazy:
                return self.function(*args, **kwargs)
        if self.failures >= config.recompile_limit and not self.settings.fullgraph:
            return self._run_in_parts(args, kwargs)
        with _lock:
            match = self._look_up(backend, args, kwargs, stance.name)
        if match is not None and match.entry.run is not None:
            self.failures = 0
            return _run(match)
        if self.settings.fullgraph or (match is not None and match.entry.reason is None):
            return self.function(*args, **kwargs)
        return self._run_in_parts(args, kwargs)

    def _run_in_parts(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with self.parts.region():
            return self.function(*args, **kwargs)

    def _say_absent(self, backend: Any) -> None:
        if not is_default(backend):
            warn_once(f"tl.compile: there is no backend {backend!r}; tl's own compiles what it is given")

    # ---- which entry
    def _look_up(
        self, backend: Any, args: tuple[Any, ...], kwargs: dict[str, Any], stance: str
    ) -> _Match | None:
        self.calls += 1
        try:
            state = state_of(self.function, args, kwargs)
        except Unprovable as error:
            self.unproved = Break(error.reason, None if error.file is None else (error.file, error.line or 0))
            self._report(self.unproved)
            return None
        key = (id(backend) if callable(backend) else backend, thread_state(), raises_on_break(), state.key)
        match = self._match(key, state)
        if match is None:
            if stance == "eager_on_recompile" or (stance == "eager_then_compile" and self.calls == 1):
                return None
            if stance == "fail_on_recompile" and (self.entries or self.calls > 1):
                raise RecompileError(
                    "Detected recompile when torch.compile stance is 'fail_on_recompile': no graph of "
                    f"{_name_of(self.function)} holds for this call: {self._difference(args, kwargs, key, state)}"
                )
            if self.entries and config.error_on_recompile:
                raise RecompileError(
                    f"{_name_of(self.function)} would be compiled again (error_on_recompile): "
                    f"{self._difference(args, kwargs, key, state)}"
                )
            if self.entries and _log.isEnabledFor(logging.INFO):
                difference = self._difference(args, kwargs, key, state)
                _log.info("%s is compiled again: %s", _name_of(self.function), difference)
            if self._at_limit() or self._changes_each_call():
                return None
            with compilation():
                entry = self._compile(backend, args, kwargs, state)
            self.entries.setdefault(key, []).insert(0, entry)
            self.last_key = key
            match = self._match(key, state)
        else:
            self.changing = 0
        if match is not None and match.entry.reason is not None:
            self._report(match.entry.reason)
        return match

    def _difference(self, args: tuple[Any, ...], kwargs: dict[str, Any], key: Any, state: State) -> str:
        """Why the latest graph doesn't hold for a call."""
        from .recompile_reasons import key_difference, size_difference

        if key in self.entries:
            return size_difference(state, self.entries[key][0].guards)
        if self.last_key is None:
            return "there is no graph yet"
        if key[-1] != self.last_key[-1]:
            return key_difference(self.function, args, kwargs, self.last_key[-1])
        return "the backend or a setting of the thread differs"

    def _match(self, key: Any, state: State) -> _Match | None:
        for entry in self.entries.get(key, ()):
            values = entry.guards.values(state)
            if values is not None:
                return _Match(entry, state, values)
        return None

    def _at_limit(self) -> bool:
        if self.compiles < config.recompile_limit:
            return False
        message = (
            f"recompile_limit reached: {_name_of(self.function)} has {self.compiles} graphs; other calls run "
            "eagerly (torch._dynamo.config.recompile_limit)"
        )
        if self.settings.fullgraph or config.fail_on_recompile_limit_hit:
            raise FailOnRecompileLimitHit(message)
        warn_once(message)
        return True

    def _changes_each_call(self) -> bool:
        """Whether each call changes what decides the graph of the next one, so that more graphs are of no use."""
        if self.settings.fullgraph or self.changing < _CHANGING:
            return False
        self._report(Break("each call changes what decides the graph of the next call"))
        return True

    def _report(self, reason: Break) -> None:
        if self.settings.fullgraph or reason.raises:
            kind = TorchRuntimeError if reason.by_operator else Unsupported
            raise kind(f"torch.compile(fullgraph=True): {_name_of(self.function)}: {reason}") from None
        self.failures += 1
        counters["graph_break"][reason.reason] += 1
        _log.info("%s runs eagerly: %s", _name_of(self.function), reason)

    # ---- a new entry
    def _compile(self, backend: Any, args: tuple[Any, ...], kwargs: dict[str, Any], state: State) -> _Entry:
        owners = [*state.pinned, backend]
        counters["frames"]["total"] += 1
        self.history.note(state)
        dynamic_sizes = wishes(state, tree_leaves((args, kwargs)), self.settings.dynamic, self.history)
        try:
            graph = self._capture(args, kwargs, state, dynamic_sizes)
        except Break as reason:
            return _Entry(SizeGuards(state), None, None, reason.without_frames(), owners)
        if graph.is_empty and not graph.effects:
            return _Entry(graph.guards, None, None, None, owners)
        self.compiles += 1
        counters["frames"]["ok"] += 1
        self.changing = self.changing + 1 if graph.effects else 0
        if graph.is_empty:  # a call with changes alone, for which the backend has no work
            return _Entry(graph.guards, graph, graph.graph_module.forward, None, owners)
        counters["stats"]["unique_graphs"] += 1
        counters["stats"]["calls_captured"] += graph.call_count
        try:
            run = _call_backend(backend, graph.graph_module, graph.arguments(state), self.settings.options)
        except BackendCompilerFailed:
            if not config.suppress_errors:
                raise
            _log.warning("the backend failed; the call runs eagerly", exc_info=True)
            return _Entry(graph.guards, None, None, None, owners)
        return _Entry(graph.guards, graph, run, None, owners)

    def _capture(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], state: State, dynamic_sizes: Wishes
    ) -> CallGraph:
        """The graph of a call; one of numbers where no graph of symbols can be made."""
        try:
            return capture(self.function, args, kwargs, state, dynamic_sizes)
        except Break:
            if not dynamic_sizes:
                raise
        return capture(self.function, args, kwargs, state, NO_SYMBOLS)

    def _check_values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raises where the value of a tensor decides what the program does."""
        try:
            state = state_of(self.function, args, kwargs)
        except Unprovable:
            return
        key = thread_state(), state.facts
        if key in self.checked:
            return
        if len(self.checked) < config.recompile_limit:
            try:
                capture(self.function, args, kwargs, state)
            except Break as reason:
                if reason.by_value:
                    self._report(reason)
            self.checked.add(key)

    def breaks(self) -> Iterator[Break]:
        """Why calls became no graph, or not one."""
        if self.unproved is not None:
            yield self.unproved
        yield from (e.reason for entries in self.entries.values() for e in entries if e.reason is not None)
        yield from self.parts.breaks()

    def reset(self) -> None:
        """Forgets all graphs."""
        if self.replays is not None:
            self.replays.reset()
        self.entries.clear()
        self.parts.reset()
        self.failures = 0
        self.unproved = self.last_key = None
        self.checked.clear()
        self.history.clear()
        self.compiles = self.calls = self.changing = 0


def _call_backend(
    backend: Any, module: Any, examples: list[Any], options: dict[str, Any]
) -> Callable[..., Any]:
    compiler = lookup_backend(backend)
    name = backend if isinstance(backend, str) else getattr(backend, "__name__", type(backend).__name__)
    try:
        run = compiler(module, examples, **options)
    except (
        Exception
    ) as error:  # a backend is somebody's own code and may raise anything; its name goes with it
        raise BackendCompilerFailed(f"backend={name!r} raised:\n{type(error).__name__}: {error}") from error
    if not callable(run):
        raise BackendCompilerFailed(f"backend={name!r} returned {type(run)}, which can't be called")
    return run


def _run(match: _Match) -> Any:
    graph: Any = match.entry.graph
    with _no_autocast():
        outputs = match.entry.run(*graph.arguments(match.state))  # type: ignore[misc]
    if isinstance(outputs, tl_core.Tensor):
        outputs = (outputs,)
    return graph.result(outputs, match.state, match.values)


@contextlib.contextmanager
def _no_autocast() -> Iterator[None]:
    """A region without autocast: the graph has its conversions already."""
    on = [kind for kind in LOWER_TYPES if is_autocast_enabled(kind)]
    for kind in on:
        set_autocast_enabled(kind, False)
    try:
        yield
    finally:
        for kind in on:
            set_autocast_enabled(kind, True)


def _has_lazy_parts(function: Any) -> bool:
    """Whether the first call of a module gives parameters their shapes, which no graph can repeat."""
    owner = getattr(function, "__self__", None)
    return isinstance(owner, tl_nn.Module) and any(
        isinstance(m, LazyModuleMixin) and m.has_uninitialized_params() for m in owner.modules()
    )


def _name_of(function: Any) -> str:
    owner = getattr(function, "__self__", None)
    if isinstance(owner, tl_nn.Module):
        return type(owner).__name__
    return getattr(function, "__qualname__", type(function).__name__)


def _note(compiled: CompiledFunction) -> None:
    _all[:] = [ref for ref in _all if ref() is not None]
    _all.append(weakref.ref(compiled))


def reset_all() -> None:
    """Forgets the graphs of all compiled functions."""
    for ref in _all:
        compiled = ref()
        if compiled is not None:
            compiled.reset()


def _forwarding(function: Any, call: Any) -> Any:
    @functools.wraps(function, updated=())
    def run(*args: Any, **kwargs: Any) -> Any:
        return call(*args, **kwargs)

    return run


def _ordinary_conditions() -> tuple[Any, ...]:
    """What must hold for recorded calls to run: the stance is the first one, and `config.disable` is off."""
    disable = vars(config._config["disable"])  # type: ignore[attr-defined]  # as a setting of a ConfigModule
    return (*initial_conditions(), (disable, "user_override", (disable["user_override"], False)))


def wrap(function: Any, settings: Settings, *, is_module: bool = False) -> Any:
    """A function that is compiled when it is called.

    Args:
        function: a function, or another object that can be called.
        settings: what `compile` was told.
        is_module: whether an `OptimizedModule` alone calls it, so that it need not be a function of Python.

    Returns:
        A function with the name, the texts and the signature of the given one; `_torchdynamo_orig_callable` is that.
    """
    compiled = CompiledFunction(function, settings)
    run: Any
    if compiled.entry is not None and is_module:
        run = compiled.entry
        functools.update_wrapper(run, function, updated=())
    elif compiled.entry is not None:
        run = _forwarding(function, compiled.entry)
    else:

        @functools.wraps(function, updated=())
        def run(*args: Any, **kwargs: Any) -> Any:
            return compiled(args, kwargs)

    run._torchdynamo_orig_callable = function
    run.get_compiled = lambda: compiled
    return run
