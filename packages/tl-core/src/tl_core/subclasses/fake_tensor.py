"""FakeTensor: a tensor that claims to lie on a device and holds no memory, and the mode that computes with them.

Sizes may be expressions: what they are, and how operators compute with them, a package with a tracer adds by
`operator_hooks.makers["symbolic_fakes"]`.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.base import operator_hooks
from tl_core.dispatch.grad_mode import is_grad_enabled
from tl_core.dispatch.modes import modes_off, no_modes
from tl_core.overrides import DisableTorchFunctionSubclass, TorchFunctionMode, disabled_torch_function
from tl_core.subclasses import config, fake_impl, fake_rules
from tl_core.subclasses.fake_cache import CacheInfo, CacheKeyState, FakeCache, extract_tensor_metadata
from tl_core.subclasses.fake_exceptions import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    MetadataMismatchError,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from tl_core.subclasses.meta_utils import MetaConverter
from tl_core.subclasses.python_dispatch import (
    TorchDispatchMode,
    TorchDispatchModeKey,
    _get_dispatch_mode,
    _pop_mode,
    _push_mode,
    is_traceable_wrapper_subclass,
)
from tl_core.subclasses.real_run import RealRun

__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "FakeCopyMode",
    "FakeTensor",
    "FakeTensorConverter",
    "FakeTensorMode",
    "MetadataMismatchError",
    "UnsupportedFakeTensorException",
    "UnsupportedOperatorException",
    "extract_tensor_metadata",
    "get_plain_tensors",
    "is_fake",
    "maybe_get_fake_mode",
    "require_gradients",
    "unset_fake_temporarily",
]

CONSTANT_NUMEL_LIMIT = 1
_CacheKeyState = CacheKeyState


class FakeTensor(Tensor):
    """A tensor with a geometry, a type and a device, but without memory.

    Made by `FakeTensorMode`: by factories inside of it, by its `from_tensor`, and by what is computed from fakes.

    Args:
        fake_mode: the mode it belongs to.
        elem: a tensor on meta with the geometry and type.
        device: where it claims to lie.
        constant: its elements where they are known, of one number at most.
        real_tensor: the tensor that it stands for, or None.
        pytype: the class that it stands for, or None.
        dispatch_keys: accepted for compatibility.

    Attributes:
        fake_mode: the mode.
        constant: the elements, or None.
        symbolic: where sizes are expressions: what says them; None: all are numbers.

    Example:
        >>> with FakeTensorMode():
        ...     x = empty(1 << 40, 1 << 10)
        >>> (x + 1).sum(1)
        FakeTensor(..., size=(1099511627776,))
    """

    __torch_function__ = disabled_torch_function
    handles_kernels_only = True  # of operators that are methods it sees the parts

    fake_mode: FakeTensorMode
    symbolic: Any = None
    constant: Tensor | None = None
    real_tensor: Tensor | None = None
    pytype: type | None = None
    dispatch_keys: Any = None

    @staticmethod
    def __new__(
        cls,
        fake_mode: FakeTensorMode,
        elem: Tensor,
        device: Any,
        constant: Tensor | None = None,
        real_tensor: Tensor | None = None,
        pytype: type | None = None,
        dispatch_keys: Any = None,
    ) -> FakeTensor:
        if elem.device.type != "meta":
            raise AssertionError(f"FakeTensor: elem must lie on meta, got a tensor on {elem.device}")
        fake: FakeTensor = _C._claim(cls, elem, _with_index(device))
        fake.fake_mode = fake_mode
        if constant is not None:
            fake.constant = constant
            fake_mode._note_constant(fake)
        if real_tensor is not None:
            fake.real_tensor = real_tensor
        if pytype is not None:
            fake.pytype = pytype
        if dispatch_keys is not None:
            fake.dispatch_keys = dispatch_keys
        return fake

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    @staticmethod
    def from_tensor(t: Tensor, fake_mode: FakeTensorMode) -> FakeTensor:
        """The fake of a tensor, as `fake_mode.from_tensor`."""
        return fake_mode.from_tensor(t)

    @property
    def elem(self) -> Tensor:
        """A tensor on meta in its storage, with its geometry: another object each time."""
        return _C._unclaimed(self)

    def take_geometry(self, elem: Tensor) -> None:
        """Takes the storage, sizes and strides of a tensor on meta; the device stays.

        Args:
            elem: the tensor.
        """
        _C._take_geometry(self, elem)

    def say_sizes(self, symbolic: Any) -> None:
        """From now on an object answers what programs ask of the sizes.

        Args:
            symbolic: has `says(fake, name, args)`; None: the geometry answers.
        """
        self.symbolic = symbolic
        if symbolic is not None:
            _C._ask_handler(self)

    @property
    def fake_device(self) -> Any:
        """Where it claims to lie."""
        return self.device

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Its mode's, whether or not that is on."""
        mode = maybe_get_fake_mode((args, kwargs))
        if mode is None:
            return NotImplemented
        return mode.dispatch(func, types, args, kwargs or {})

    # ---- elements
    def item(self) -> Any:
        """The one element where it is known; where sizes may be expressions, a number that only the data decide.

        Raises:
            DataDependentOutputException: it is not known.
            RuntimeError: there are several elements.
        """
        symbolic = self.fake_mode.symbolic
        if symbolic is None or self.constant is not None or self.is_meta:
            return Tensor.item(self)
        return symbolic.item(self)

    def data_ptr(self) -> int:
        """RuntimeError: two fakes would seem to share an address.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(
            "Cannot access data pointer of Tensor that doesn't have storage: a FakeTensor has no memory"
        )

    def tolist(self) -> Any:
        """The elements, each as `item` says.

        Raises:
            DataDependentOutputException: they aren't known.
        """
        if self.dim() == 0:
            return self.item()
        return [row.tolist() for row in self.unbind()]

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __index__(self) -> int:
        if self.dtype.is_floating_point or self.dtype.is_complex:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    # ---- sizes
    def __len__(self) -> int:
        if self.dim() == 0:
            raise TypeError("len() of a 0-d tensor")
        return int(self.shape[0])

    def __getitem__(self, index: Any) -> Any:
        symbolic = self.fake_mode.symbolic
        return Tensor.__getitem__(self, index) if symbolic is None else symbolic.indexed(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        symbolic = self.fake_mode.symbolic
        if symbolic is None:
            Tensor.__setitem__(self, index, value)
        else:
            symbolic.assign(self, index, value)

    def on_device(self, device: Any) -> FakeTensor:
        """The same fake, which claims to lie elsewhere.

        Args:
            device: where.
        """
        with no_modes():
            fake = FakeTensor(self.fake_mode, _C._unclaimed(self), device, self.constant)
        if self.symbolic is not None:
            self.symbolic.attached_to(fake)
        return fake.requires_grad_() if self.requires_grad else fake

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Another fake alike, in a storage of its own."""
        with no_modes():
            elem = _C._unclaimed(self).clone()
            fake: Any = FakeTensor(self.fake_mode, elem, self.device, self.constant)
            if self.symbolic is not None:
                self.symbolic.attached_to(fake)
        memo[id(self)] = fake
        return fake.requires_grad_() if self.requires_grad else fake

    def __reduce_ex__(self, protocol: Any) -> Any:
        elem = _C._unclaimed(self)
        return _rebuild, (
            elem.dtype, tuple(elem.shape), elem.stride(), elem.storage_offset(), str(self.device), self.requires_grad,
        )  # fmt: skip


def _rebuild(dtype: Any, size: Any, stride: Any, offset: int, device: str, requires_grad: bool) -> Any:
    """From a pickle: a fake of the mode that is on, or of a new one."""
    mode = active_fake_mode() or FakeTensorMode()
    with no_modes():
        span = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) + 1 if 0 not in size else 0
        memory = _C.empty(offset + span, dtype=dtype, device="meta")
        elem = _C._with_storage(memory, dtype, size, stride, offset)
    fake = FakeTensor(mode, elem, _C.device(device))
    return fake.requires_grad_() if requires_grad else fake


def _with_index(device: Any) -> Any:
    device = _C.device(device)
    if device.type in ("cpu", "meta") or device.index is not None:
        return device
    return _C.device(device.type, 0)


# ---- facts of operators ----------------------------------------------------------------------------------------------
class _Facts:
    """What is the same for each call of an operator."""

    def __init__(self, func: Any) -> None:
        self.name = func._native_name
        arguments, self.results, self.is_view, self.is_random = _C._alias_info(self.name)
        self.names = [name for name, _, _ in arguments]
        self.written = [i for i, (_, _, is_write) in enumerate(arguments) if is_write]
        self.device = self.names.index("device") if "device" in self.names else -1

    def device_of(self, args: Any, kwargs: Any) -> Any:
        """The argument `device`, or None."""
        if 0 <= self.device < len(args):
            return args[self.device]
        return kwargs.get("device")

    def with_device(self, args: Any, kwargs: Any, device: Any) -> Any:
        if 0 <= self.device < len(args):
            return (*args[: self.device], device, *args[self.device + 1 :]), kwargs
        return args, {**kwargs, "device": device}

    def written_arguments(self, args: Any, kwargs: Any) -> list[Any]:
        values: list[Any] = []
        for i in self.written:
            value = args[i] if i < len(args) else kwargs.get(self.names[i])
            values.extend(value if isinstance(value, (list, tuple)) else [value])
        return [t for t in values if isinstance(t, Tensor)]


_facts: dict[Any, _Facts] = {}


def _facts_of(func: Any) -> _Facts:
    if func not in _facts:
        _facts[func] = _Facts(func)
    return _facts[func]


def _map(x: Any, f: Callable[[Any], Any]) -> Any:
    if isinstance(x, Tensor):
        return f(x)
    if type(x) is tuple or type(x) is list:
        return type(x)([_map(item, f) for item in x])
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*[_map(item, f) for item in x])
    if isinstance(x, dict):
        return {name: _map(item, f) for name, item in x.items()}
    if isinstance(x, tuple):
        return type(x)([_map(item, f) for item in x])
    return x


def _tensors_in(x: Any, result: list[Any]) -> list[Any]:
    if isinstance(x, Tensor):
        result.append(x)
    elif isinstance(x, (tuple, list)):
        for item in x:
            _tensors_in(item, result)
    elif isinstance(x, dict):
        for item in x.values():
            _tensors_in(item, result)
    return result


# ---- the mode --------------------------------------------------------------------------------------------------------
class FakeTensorMode(TorchDispatchMode):
    """Inside, tensors have no memory: operators work out sizes, types and devices alone.

    What factories make is fake, and so is what is computed from fakes, inside and outside of the mode. Real tensors are
    made fake by `from_tensor`.

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
        facts = _facts_of(func)
        if facts.name == "lift_fresh":
            return self._lift(args[0])
        if self.propagate_real_tensors:
            return self._beside_real(func, facts, args, kwargs)
        if not self.cache_enabled:
            return self._compute(func, facts, args, kwargs)
        return self._cache.call(
            self, func, facts, args, kwargs, lambda: self._compute(func, facts, args, kwargs)
        )

    def _beside_real(self, func: Any, facts: _Facts, args: Any, kwargs: Any) -> Any:
        """The fakes of an operator's results, which know the tensors that they stand for."""
        run = RealRun(func, facts.names, facts.written, args, kwargs)
        out = self._compute(func, facts, args, kwargs)
        if run.known:
            for fake, real in zip(_tensors_in(out, []), _tensors_in(run.result(), []), strict=False):
                if isinstance(fake, FakeTensor):
                    fake.real_tensor = real
                    self._learn_sizes(fake, real)
        return out

    def _learn_sizes(self, fake: FakeTensor, real: Tensor) -> None:
        if fake.symbolic is not None:
            for size, n in zip(fake.shape, real.shape, strict=False):
                fake.symbolic.learn(size, n)

    def _compute(self, func: Any, facts: _Facts, args: Any, kwargs: Any) -> Any:
        tensors = _tensors_in((args, kwargs), [])
        if not tensors and facts.device < 0:
            return self._of_numbers(func, args, kwargs)
        args, kwargs, fakes = self._all_fake(func, args, kwargs, tensors)
        constant = self._on_constants(func, facts, args, kwargs, fakes)
        if constant is not NotImplemented:
            return constant
        self._forget_constants(facts.written_arguments(args, kwargs))
        if facts.name in fake_rules.NUMBER_OF_VALUES:
            return self._number(func, fakes)
        if "::" in facts.name and facts.name in fake_impl.entries:
            return self._as_registered(func, fake_impl.entries[facts.name], args, kwargs)
        if fake_rules.depends_on_elements(facts.name, args) and not any(t.is_meta for t in fakes):
            return self._of_elements(func, facts, args, kwargs)
        if facts.name in fake_rules.WRITE_AT_INDICES and fake_rules.has_mask(args):
            args = self._at_no_positions(args)
        return self._on_meta(func, facts, args, kwargs, _tensors_in((args, kwargs), []))

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

    def _of_elements(self, func: Any, facts: _Facts, args: Any, kwargs: Any) -> Any:
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
        return _map(out, self._lift)

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

        return _map(args, fake), _map(kwargs, fake), fakes

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

    def _on_constants(self, func: Any, facts: _Facts, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
        if not fakes or facts.is_random or any(t.constant is None for t in fakes):
            return NotImplemented
        device = facts.device_of(args, kwargs)
        if device is not None and _C.device(device).type != "cpu":
            return NotImplemented
        values = {id(t.constant): t for t in fakes}
        with no_modes():
            out = func(*_map(args, _constant), **_map(kwargs, _constant))
        results = _tensors_in(out, [])
        if any(t.numel() > CONSTANT_NUMEL_LIMIT or t.layout is not _C.strided for t in results):
            return NotImplemented
        metas = {id(t): t for t in results if id(t) not in values}
        if not metas:
            return _map(out, lambda t: values[id(t)])
        return self._with_constants(func, facts, args, kwargs, fakes, results)

    def _with_constants(
        self, func: Any, facts: _Facts, args: Any, kwargs: Any, fakes: list[Any], constants: list[Any]
    ) -> Any:
        out = self._on_meta(func, facts, args, kwargs, fakes)
        for fake, constant in zip(_tensors_in(out, []), constants, strict=True):
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

    def _device_of_result(self, func: Any, facts: _Facts, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
        device = facts.device_of(args, kwargs) if facts.device >= 0 else None
        if device is not None:
            return _with_index(device)
        return fake_rules.common_device(func, fakes) if fakes else _with_index(_C._get_default_device())

    def _on_meta(self, func: Any, facts: _Facts, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
        device = self._device_of_result(func, facts, args, kwargs, fakes)
        if self.symbolic is not None and self.symbolic.concerns(args, kwargs):
            return self._symbolic(func, facts, args, kwargs, fakes, device)
        pairs: dict[int, Any] = {}

        def meta(t: Any) -> Any:
            elem = _C._unclaimed(t)
            pairs[id(elem)] = (elem, t)
            return elem

        meta_args, meta_kwargs = _map(args, meta), _map(kwargs, meta)
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

        return _map(out, claim)

    def _symbolic(
        self, func: Any, facts: _Facts, args: Any, kwargs: Any, fakes: list[Any], device: Any
    ) -> Any:
        if facts.device >= 0 and (not fakes or facts.device_of(args, kwargs) is not None):
            args, kwargs = facts.with_device(args, kwargs, "meta")
        try:
            return self.symbolic.call(func, args, kwargs, device)
        except NotImplementedError as error:
            raise UnsupportedOperatorException(func) from error

    def _without_meta_kernel(
        self, func: Any, facts: _Facts, args: Any, kwargs: Any, device: Any, error: Exception
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
                out = func(*_map(args, zeros), **_map(kwargs, zeros))
            except NotImplementedError:
                raise UnsupportedOperatorException(func) from error
            return _map(out, lambda t: self.claim_device(t.to("meta"), device))


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
    inputs = _tensors_in((args, kwargs), [])
    base = func._native_name.partition(".")[0]
    if base == "detach" or base.startswith("new_") or base.endswith("_like"):
        return
    if not is_grad_enabled() or not any(t.requires_grad for t in inputs):
        return
    input_ids = {id(t) for t in inputs}
    for t in _tensors_in(out, []):
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


# ---- from real tensors -----------------------------------------------------------------------------------------------
class FakeTensorConverter:
    """Makes fakes of tensors, one of each as long as both live.

    Attributes:
        meta_converter: what makes the storages and geometries.
    """

    def __init__(self, *, copy_data: bool = False, export: bool = False) -> None:
        self.meta_converter = MetaConverter(copy_data=copy_data)
        self.export = export

    @property
    def tensor_memo(self) -> Any:
        """The fakes, by their tensors."""
        return self.meta_converter.tensor_memo

    def from_real_tensor(
        self,
        fake_mode: FakeTensorMode,
        t: Tensor,
        make_constant: bool = False,
        shape_env: Any = None,
        *,
        source: Any = None,
        symbolic_context: Any = None,
        trace: bool = True,
    ) -> Any:
        """The fake of a tensor.

        Args:
            fake_mode: the mode it is to belong to.
            t: the tensor.
            make_constant: whether its elements stay known, if it has few.
            shape_env: where sizes are to be symbols, the mode's environment.
            source: where the tensor comes from.
            symbolic_context: which sizes are symbols.
            trace: taken for compatibility.

        Raises:
            UnsupportedFakeTensorException: there are no fakes of such tensors.
        """
        if isinstance(t, FakeTensor) and t.fake_mode is fake_mode:
            return t
        cached = self.tensor_memo.get(t) if not make_constant else None
        if cached is not None:
            return cached
        with no_modes():
            constant = t if make_constant and t.numel() <= CONSTANT_NUMEL_LIMIT else None
            real = t.detach().clone() if fake_mode.propagate_real_tensors and not _C._is_hollow(t) else None
        device = t.device

        def fake(elem: Tensor) -> Any:
            return FakeTensor(fake_mode, elem, device, constant, real)

        if shape_env is None:
            return self.meta_converter.convert(t, fake, remember=not make_constant)

        def with_symbols(elem: Tensor) -> Any:
            result = fake(elem)
            if isinstance(t, FakeTensor) and t.fake_mode.shape_env is shape_env:
                return result if t.symbolic is None else t.symbolic.attached_to(result)
            fake_mode.symbolic.name_sizes(result, source, symbolic_context)
            return result

        return self.meta_converter.convert(t, with_symbols, remember=not make_constant, views=False)

    def from_meta_and_device(
        self, fake_mode: FakeTensorMode, t: Tensor, device: Any, pytype: Any = None, dispatch_keys: Any = None
    ) -> Any:
        """The fake with a meta tensor's geometry.

        Args:
            fake_mode: the mode it is to belong to.
            t: a tensor on meta.
            device: where it claims to lie.
            pytype: kept as its attribute.
            dispatch_keys: likewise.
        """
        cached = self.tensor_memo.get(t)
        if cached is not None:
            return cached
        fake = FakeTensor(fake_mode, t, device, pytype=pytype, dispatch_keys=dispatch_keys)
        self.tensor_memo[t] = fake
        return fake


class FakeCopyMode(TorchFunctionMode):
    """Inside, `copy.deepcopy` of tensors makes fakes.

    Args:
        fake_mode: the mode they are to belong to.
    """

    def __init__(self, fake_mode: FakeTensorMode) -> None:
        self.fake_mode = fake_mode

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is Tensor.clone:
            return func(self.fake_mode.from_tensor(args[0], static_shapes=True), **kwargs)
        if func is Tensor.__deepcopy__:
            tensor, memo = args
            if id(tensor) not in memo:
                memo[id(tensor)] = self.fake_mode.from_tensor(tensor, static_shapes=True)
            return memo[id(tensor)]
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs)


# ---- who is fake -----------------------------------------------------------------------------------------------------
def active_fake_mode() -> Any:
    """The FakeTensorMode that is on; None without one."""
    return _get_dispatch_mode(TorchDispatchModeKey.FAKE)


def is_fake(x: object) -> bool:
    """Whether a tensor is fake, or stands for fakes only.

    Args:
        x: any object.

    Example:
        >>> is_fake(ones(2))
        False
    """
    if isinstance(x, FakeTensor):
        return True
    if is_traceable_wrapper_subclass(x):
        names, _ = x.__tensor_flatten__()  # type: ignore[attr-defined]
        return all(is_fake(getattr(x, name)) for name in names)
    return False


def maybe_get_fake_mode(t: Any) -> Any:
    """The mode of the first fake in a tensor or in a structure of them; None without any.

    Args:
        t: a tensor, or lists, tuples and dictionaries of them.
    """
    for each in _tensors_in(t, []):
        if isinstance(each, FakeTensor):
            return each.fake_mode
        if is_traceable_wrapper_subclass(each):
            names, _ = each.__tensor_flatten__()
            mode = maybe_get_fake_mode([getattr(each, name) for name in names])
            if mode is not None:
                return mode
    return None


def get_plain_tensors(subclass: Any, out: list[Any] | None = None) -> list[Any]:
    """The tensors that a tensor is made of in the end.

    Args:
        subclass: the tensor.
        out: a list to be added to.
    """
    tensors = [] if out is None else out
    if not is_traceable_wrapper_subclass(subclass):
        tensors.append(subclass)
        return tensors
    for name in subclass.__tensor_flatten__()[0]:
        get_plain_tensors(getattr(subclass, name), tensors)
    return tensors


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


def _is_tensor_constructor(func: Any) -> bool:
    """Whether an operator makes a tensor of none: no argument is one, and the only result is."""
    schema = func._schema
    takes = any("Tensor" in str(argument.type) for argument in schema.arguments)
    return not takes and len(schema.returns) == 1 and str(schema.returns[0].type) == "Tensor"
