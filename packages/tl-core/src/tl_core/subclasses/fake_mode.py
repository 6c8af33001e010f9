"""FakeTensorMode: operators on tensors without memory compute sizes, types and devices.

Sizes may be expressions. A package with a tracer adds them by `operator_hooks.makers["symbolic_fakes"]`.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.base import operator_hooks
from tl_core.dispatch.grad_mode import is_grad_enabled
from tl_core.dispatch.modes import modes_off, no_modes
from tl_core.subclasses import config, fake_impl, fake_rules, sparse_fakes
from tl_core.subclasses.fake_cache import CacheInfo, CacheKeyState, FakeCache
from tl_core.subclasses.fake_converter import FakeTensorConverter
from tl_core.subclasses.fake_exceptions import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedOperatorException,
)
from tl_core.subclasses.fake_tensor import CONSTANT_NUMEL_LIMIT, FakeTensor, with_index
from tl_core.subclasses.operator_facts import OperatorFacts, facts_of
from tl_core.subclasses.python_dispatch import (
    TorchDispatchMode,
    TorchDispatchModeKey,
    _get_dispatch_mode,
    _pop_mode,
    _push_mode,
)
from tl_core.subclasses.real_run import RealRun
from tl_core.subclasses.tensor_structures import map_tensors, tensors_in

__all__ = ["FakeTensorMode", "active_fake_mode", "require_gradients", "unset_fake_temporarily"]


def _rebuild(dtype: Any, size: Any, stride: Any, offset: int, device: str, requires_grad: bool) -> Any:
    """From a pickle: a fake of the mode that is on, or of a new one."""
    mode = active_fake_mode() or FakeTensorMode()
    with no_modes():
        span = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1 if 0 not in size else 0
        memory = _C.empty(offset + span, dtype=dtype, device="meta")
        elem = _C._with_storage(memory, dtype, size, stride, offset)
    fake = FakeTensor(mode, elem, _C.device(device))
    return fake.requires_grad_() if requires_grad else fake


class FakeTensorMode(TorchDispatchMode):
    """Inside, tensors have no memory: operators work out sizes, types and devices alone.

    Factories return fakes, and so do operators on fakes, also outside of the mode. `from_tensor` converts real tensors.

    Args:
        allow_fallback_kernels: an operator without a meta kernel may run on real zeros to find its sizes.
        allow_non_fake_inputs: real tensors may take part inside; they are made fake.
        shape_env: the environment of the symbols that sizes may be; None: sizes are numbers.
        static_shapes: whether `from_tensor` makes sizes that are numbers; by default where there is no `shape_env`.
        export: taken for compatibility.

    Raises:
        RuntimeError: there is a `shape_env`, and no package with expressions for sizes has been imported.

    Example:
        >>> with FakeTensorMode() as mode:
        ...     x = empty(1 << 20, 1 << 20)
        ...     y = x @ mode.from_tensor(ones(1, 2)).expand(1 << 20, 2)
        >>> y
        FakeTensor(..., size=(1048576, 2))
    """

    _mode_key = TorchDispatchModeKey.FAKE
    _cache = FakeCache()
    cache_enabled = True
    makes_fakes = True
    rebuild_fake = staticmethod(_rebuild)

    def __init__(
        self,
        *,
        allow_fallback_kernels: bool = True,
        allow_non_fake_inputs: bool = False,
        shape_env: Any = None,
        static_shapes: bool | None = None,
        export: bool = False,
    ) -> None:
        super().__init__()
        self.allow_fallback_kernels = allow_fallback_kernels
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.static_shapes = shape_env is None if static_shapes is None else static_shapes
        self.export = export
        self.shape_env: Any = None
        self.symbolic: Any = None
        if shape_env is not None:
            self.use_symbols(shape_env)
        self.fake_tensor_converter = FakeTensorConverter()
        self.allow_meta = config.fake_tensor_allow_meta
        self.propagate_real_tensors = config.fake_tensor_propagate_real_tensors
        self.values_of: Any = (
            None  # returns the tensor that a fake stands for, to a program that asks for an array
        )
        self.in_kernel_invocation = False
        self.enter_stack: list[tuple[bool, Any, bool]] = []
        self._constants: dict[int, list[Any]] = {}  # weak references by the address of the storage

    def use_symbols(self, shape_env: Any) -> None:
        """From now on sizes may be expressions of the symbols of an environment.

        Args:
            shape_env: the environment.
        """
        self.shape_env = shape_env
        self.symbolic = operator_hooks.maker("symbolic_fakes")(self)

    def __deepcopy__(self, memo: Any) -> FakeTensorMode:
        return self

    @classmethod
    def is_infra_mode(cls) -> bool:
        """True: it stands below the modes that programs write."""
        return True

    def __enter__(self) -> FakeTensorMode:
        before = _get_dispatch_mode(TorchDispatchModeKey.FAKE)
        if before is not None:
            _pop_mode(TorchDispatchModeKey.FAKE)
        symbols = self.symbolic is not None
        self.enter_stack.append((before is not self, before, symbols))
        _push_mode(self)
        if symbols:
            _C._push_mode(_C._LAYER_TRACE, _WholeOperators(self), int(self._mode_key))
        return self

    def __exit__(self, *error: object) -> None:
        changed, before, symbols = self.enter_stack.pop()
        if symbols:  # there were some when it was entered
            _C._pop_mode(_C._LAYER_TRACE, int(self._mode_key))
        if not changed:
            return
        _pop_mode(TorchDispatchModeKey.FAKE)
        if before is not None:
            _push_mode(before)

    def from_tensor(
        self,
        tensor: Tensor,
        *,
        static_shapes: bool | None = None,
        source: Any = None,
        symbolic_context: Any = None,
        trace: bool = True,
    ) -> Any:
        """The fake of a tensor: the same one each time, and in the same storage as those of its views.

        Args:
            tensor: real, or a fake of another mode.
            static_shapes: whether sizes are numbers; None: as the mode says.
            source: where the tensor comes from: symbols have their names by it.
            symbolic_context: which sizes are symbols.
            trace: taken for compatibility.

        Raises:
            UnsupportedFakeTensorException: there are no fakes of such tensors.
        """
        static = self.static_shapes if static_shapes is None else static_shapes
        return self.fake_tensor_converter.from_real_tensor(
            self,
            tensor,
            shape_env=None if static else self.shape_env,
            source=source,
            symbolic_context=symbolic_context,
        )

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.dispatch(func, types, args, kwargs or {})

    # ---- results that are known
    @classmethod
    def cache_info(cls) -> CacheInfo:
        """How often results of operators were known from an earlier call on tensors alike."""
        return cls._cache.info()

    @classmethod
    def cache_clear(cls) -> None:
        """Forgets the results of earlier calls."""
        cls._cache.clear()

    def _cache_key(self, state: CacheKeyState, func: Any, args: Any, kwargs: Any) -> tuple[Any, ...]:
        return self._cache.key(self, state, func, args, kwargs)

    # ---- a call
    def dispatch(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What an operator makes of fakes.

        Args:
            func: the operator.
            types: the arguments' classes that handle operators.
            args: its arguments.
            kwargs: those by name.
        """
        for type_ in types:
            if not issubclass(type_, FakeTensor):
                return NotImplemented  # a class that stands for fakes takes itself apart first
        kwargs = kwargs or {}
        facts = facts_of(func)
        if facts.name == "lift_fresh":
            return self._lift(args[0])
        if self.propagate_real_tensors:
            return self._beside_real(func, facts, args, kwargs)
        if not self.cache_enabled:
            return self._compute(func, facts, args, kwargs)
        return self._cache.call(
            self, func, facts, args, kwargs, lambda: self._compute(func, facts, args, kwargs)
        )

    def _beside_real(self, func: Any, facts: OperatorFacts, args: Any, kwargs: Any) -> Any:
        """The fakes of an operator's results, which know the tensors that they stand for."""
        run = RealRun(func, facts.names, facts.written, args, kwargs)
        out = self._compute(func, facts, args, kwargs)
        if run.known:
            for fake, real in zip(tensors_in(out), tensors_in(run.result()), strict=False):
                if isinstance(fake, FakeTensor):
                    fake.real_tensor = real
                    self._learn_sizes(fake, real)
        return out

    def _learn_sizes(self, fake: FakeTensor, real: Tensor) -> None:
        if fake.symbolic is not None:
            for size, n in zip(fake.shape, real.shape, strict=False):
                fake.symbolic.learn(size, n)

    def _compute(self, func: Any, facts: OperatorFacts, args: Any, kwargs: Any) -> Any:
        tensors = tensors_in((args, kwargs))
        if not tensors and facts.device < 0:
            return self._of_numbers(func, args, kwargs)
        args, kwargs, fakes = self._all_fake(func, args, kwargs, tensors)
        constant = self._on_constants(func, facts, args, kwargs, fakes)
        if constant is not NotImplemented:
            return constant
        self._forget_constants(facts.written_arguments(args, kwargs))
        if fake_rules.returns_number_of_elements(facts.name):
            return self._number(func, fakes)
        if "::" in facts.name and facts.name in fake_impl.entries:
            return self._as_registered(func, fake_impl.entries[facts.name], args, kwargs)
        if fake_rules.depends_on_elements(facts.name, args) and not any(t.is_meta for t in fakes):
            return self._of_elements(func, facts, args, kwargs)
        if fake_rules.writes_at_mask(facts.name, args):
            args = self._at_no_positions(args)
        return self._on_meta(func, facts, args, kwargs, tensors_in((args, kwargs)))

    def _at_no_positions(self, args: Any) -> Any:
        """Arguments of `index_put` that write nothing: how many positions its masks name is not known."""
        first = args[0]
        with no_modes():
            index, value = _C.empty(0, dtype=_C.int64, device="meta"), first.elem.new_empty(())
        return (
            first,
            [self.claim_device(index, first.device)],
            self.claim_device(value, first.device),
            *args[3:],
        )

    def _as_registered(self, func: Any, kernel: Any, args: Any, kwargs: Any) -> Any:
        """What a function of `register_fake` makes of the fakes."""
        context = fake_impl.FakeImplCtx(self, func)
        with modes_off(), self, fake_impl.set_ctx_getter(lambda: context):
            return kernel.function(*args, **kwargs)

    def _number(self, func: Any, fakes: list[Any]) -> Any:
        if self.symbolic is not None and len(fakes) == 1:
            return self.symbolic.number(func, fakes[0])
        raise DataDependentOutputException(func)

    def _of_elements(self, func: Any, facts: OperatorFacts, args: Any, kwargs: Any) -> Any:
        """Results whose sizes depend on elements: a new symbol stands for each such size."""
        if self.symbolic is not None:
            out = self.symbolic.of_elements(facts.name, args, kwargs)
            if out is not NotImplemented:
                return out
        raise DynamicOutputShapeException(func)

    def _lift(self, t: Tensor) -> Any:
        if isinstance(t, FakeTensor):
            return t
        if t.is_meta:
            return self.claim_device(t, t.device)
        return self.fake_tensor_converter.from_real_tensor(self, t, make_constant=True)

    def _of_numbers(self, func: Any, args: Any, kwargs: Any) -> Any:
        with no_modes():
            out = func(*args, **kwargs)
        return map_tensors(out, self._lift)

    def _all_fake(self, func: Any, args: Any, kwargs: Any, tensors: list[Any]) -> Any:
        if all(isinstance(t, FakeTensor) and t.fake_mode is self for t in tensors):
            return args, kwargs, tensors
        fakes: list[Any] = []

        def fake(t: Any) -> Any:
            if isinstance(t, FakeTensor):
                if t.fake_mode is not self:
                    raise AssertionError(
                        "Mixing fake modes NYI: the arguments belong to different FakeTensorModes"
                    )
                value: Any = t
            elif self.allow_non_fake_inputs or (t.is_meta and t.dim() == 0):
                value = self.fake_tensor_converter.from_real_tensor(self, t)
            else:
                raise AssertionError(
                    "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                    f"'allow_non_fake_inputs'. Found in {_written_out(func, args, kwargs)}"
                )
            fakes.append(value)
            return value

        return map_tensors(args, fake), map_tensors(kwargs, fake), fakes

    # ---- small numbers whose value is known
    def _note_constant(self, fake: FakeTensor) -> None:
        key = _C._memory_of(fake)[0]
        alive = [ref for ref in self._constants.get(key, ()) if ref() is not None]
        self._constants[key] = [*alive, weakref.ref(fake)]
        if len(self._constants) > 1024:
            self._constants = {
                k: v for k, v in self._constants.items() if any(ref() is not None for ref in v)
            }

    def _forget_constants(self, tensors: list[Any]) -> None:
        for t in tensors:
            for ref in self._constants.pop(_C._memory_of(t)[0], ()) if self._constants else ():
                fake = ref()
                if fake is not None:
                    fake.constant = None

    def _on_constants(self, func: Any, facts: OperatorFacts, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
        if not fakes or facts.is_random or any(t.constant is None for t in fakes):
            return NotImplemented
        device = facts.device_of(args, kwargs)
        if device is not None and _C.device(device).type != "cpu":
            return NotImplemented
        values = {id(t.constant): t for t in fakes}
        with no_modes():
            out = func(*map_tensors(args, _constant), **map_tensors(kwargs, _constant))
        results = tensors_in(out)
        if any(t.numel() > CONSTANT_NUMEL_LIMIT or t.layout is not _C.strided for t in results):
            return NotImplemented
        metas = {id(t): t for t in results if id(t) not in values}
        if not metas:
            return map_tensors(out, lambda t: values[id(t)])
        return self._with_constants(func, facts, args, kwargs, fakes, results)

    def _with_constants(
        self, func: Any, facts: OperatorFacts, args: Any, kwargs: Any, fakes: list[Any], constants: list[Any]
    ) -> Any:
        out = self._on_meta(func, facts, args, kwargs, fakes)
        for fake, constant in zip(tensors_in(out), constants, strict=True):
            if fake.constant is None:
                fake.constant = constant
                self._note_constant(fake)
        return out

    # ---- sizes from meta kernels
    def claim_device(self, elem: Tensor, device: Any) -> FakeTensor:
        """A tensor on meta as a fake that claims to lie elsewhere.

        Args:
            elem: the tensor.
            device: where.
        """
        if not self.allow_meta and device.type == "meta":
            raise AssertionError(
                "fakes on meta aren't allowed: _functorch.config.fake_tensor_allow_meta is False"
            )
        fake: FakeTensor = _C._claim(FakeTensor, elem, device)
        fake.fake_mode = self
        return fake

    def _device_of_result(
        self, func: Any, facts: OperatorFacts, args: Any, kwargs: Any, fakes: list[Any]
    ) -> Any:
        device = facts.device_of(args, kwargs) if facts.device >= 0 else None
        if device is not None:
            return with_index(device)
        return fake_rules.common_device(func, fakes) if fakes else with_index(_C._get_default_device())

    def _on_meta(self, func: Any, facts: OperatorFacts, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
        device = self._device_of_result(func, facts, args, kwargs, fakes)
        if sparse_fakes.any_sparse(fakes):
            return sparse_fakes.call(self, func, facts, args, kwargs, device)
        if self.symbolic is not None and self.symbolic.concerns(args, kwargs):
            return self._symbolic(func, facts, args, kwargs, fakes, device)
        pairs: dict[int, Any] = {}

        def meta(t: Any) -> Any:
            elem = _C._unclaimed(t)
            pairs[id(elem)] = (elem, t)
            return elem

        meta_args, meta_kwargs = map_tensors(args, meta), map_tensors(kwargs, meta)
        if facts.device >= 0 and (not fakes or facts.device_of(args, kwargs) is not None):
            meta_args, meta_kwargs = facts.with_device(meta_args, meta_kwargs, "meta")
        try:
            with no_modes():
                out = func(*meta_args, **meta_kwargs)
        except NotImplementedError as error:
            return self._without_meta_kernel(func, facts, args, kwargs, device, error)
        if facts.written:
            for elem, fake in pairs.values():
                if elem.shape != fake.shape or elem.stride() != fake.stride() or facts.name == "set_":
                    _C._take_geometry(fake, elem)

        def claim(t: Any) -> Any:
            if id(t) in pairs:
                return pairs[id(t)][1]
            return self.claim_device(t if t.is_meta else t.to("meta"), device)

        return map_tensors(out, claim)

    def _symbolic(
        self, func: Any, facts: OperatorFacts, args: Any, kwargs: Any, fakes: list[Any], device: Any
    ) -> Any:
        if facts.device >= 0 and (not fakes or facts.device_of(args, kwargs) is not None):
            args, kwargs = facts.with_device(args, kwargs, "meta")
        try:
            return self.symbolic.call(func, args, kwargs, device)
        except NotImplementedError as error:
            raise UnsupportedOperatorException(func) from error

    def _without_meta_kernel(
        self, func: Any, facts: OperatorFacts, args: Any, kwargs: Any, device: Any, error: Exception
    ) -> Any:
        """Sizes from a run on zeros in real memory."""
        if facts.written and not facts.results:
            return None  # a step of an optimizer: it writes elements, and there are none
        of_library = "::" in facts.name  # nobody knows what it does
        if of_library or not self.allow_fallback_kernels or facts.written or facts.is_view:
            raise UnsupportedOperatorException(func) from error
        with no_modes():

            def zeros(t: Any) -> Any:
                elem = _C.empty_strided(t.shape, t.stride(), dtype=t.dtype)
                return elem.zero_()

            try:
                out = func(*map_tensors(args, zeros), **map_tensors(kwargs, zeros))
            except NotImplementedError:
                raise UnsupportedOperatorException(func) from error
            return map_tensors(out, lambda t: self.claim_device(t.to("meta"), device))


class _WholeOperators:
    """Above autograd, takes calls on symbolic sizes: below it, operators made of others would read the example's."""

    _mode_key = TorchDispatchModeKey.FAKE

    def __init__(self, mode: FakeTensorMode) -> None:
        self.mode = mode

    @classmethod
    def is_infra_mode(cls) -> bool:
        """True: programs do not see it."""
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not self.mode.symbolic.concerns(args, kwargs):
            return func(*args, **kwargs)
        out = self.mode.dispatch(func, (), args, kwargs)
        require_gradients(func, out, args, kwargs)
        return out


def require_gradients(func: Any, out: Any, args: Any, kwargs: Any) -> None:
    """Marks the results of a call above autograd as those of a recorded one.

    Args:
        func: the operator.
        out: the results.
        args: the arguments of the call.
        kwargs: those by name.
    """
    inputs = tensors_in((args, kwargs))
    base = func._native_name.partition(".")[0]
    if base == "detach" or base.startswith("new_") or base.endswith("_like"):
        return
    if not is_grad_enabled() or not any(t.requires_grad for t in inputs):
        return
    input_ids = {id(t) for t in inputs}
    for t in tensors_in(out):
        if id(t) not in input_ids and (t.is_floating_point() or t.is_complex()):
            t.requires_grad_()


def _constant(t: Any) -> Any:
    return t.constant


def _written_out(func: Any, args: Any, kwargs: Any) -> str:
    shown = [f"{type(t).__name__}(...)" if isinstance(t, Tensor) else repr(t) for t in _flat(args)]
    shown += [f"{name}={value!r}" for name, value in kwargs.items() if not isinstance(value, Tensor)]
    return f"{func}({', '.join(shown)})"


def _flat(args: Any) -> Iterator[Any]:
    for a in args:
        if isinstance(a, (list, tuple)) and any(isinstance(item, Tensor) for item in a):
            yield from a
        else:
            yield a


def active_fake_mode() -> Any:
    """The FakeTensorMode that is on; None without one."""
    return _get_dispatch_mode(TorchDispatchModeKey.FAKE)


@contextlib.contextmanager
def unset_fake_temporarily() -> Iterator[Any]:
    """A region without FakeTensorMode; what it gives is the mode, or None."""
    mode = active_fake_mode()
    if mode is not None:
        _pop_mode(TorchDispatchModeKey.FAKE)
    try:
        yield mode
    finally:
        if mode is not None:
            _push_mode(mode)
