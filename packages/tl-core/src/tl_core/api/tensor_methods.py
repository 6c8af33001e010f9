"""The Python half of Tensor: what isn't hot."""

from __future__ import annotations

import warnings
from math import prod
from types import FunctionType
from typing import Any, NoReturn

from tl_core import _C, sparse
from tl_core._C import Tensor
from tl_core.api import tensor_pickling
from tl_core.api.tensor_properties import PROPERTIES, load_autograd, requires_grad_
from tl_core.base import operator_hooks
from tl_core.base.former_names import attributes_of
from tl_core.base.keyword_names import also_named
from tl_core.functions import norms, statistics
from tl_core.functions.lowrank import lu_factors
from tl_core.functions.unique import unique, unique_consecutive
from tl_core.sparse_layouts import methods as sparse_methods
from tl_core.storage import TypedStorage, UntypedStorage
from tl_core.tensors.size import Size
from tl_core.tensors.tensor_types import construct, dtype_of, type_name

TensorMeta = type(Tensor)  # what a metaclass of a subclass derives from


# ---- conversions -----------------------------------------------------------------------------------------------------
def _converter(name: str, dtype: Any) -> Any:
    def convert(self: Tensor, memory_format: Any = _C.preserve_format) -> Tensor:
        return self.to(dtype, memory_format=memory_format)

    convert.__name__ = name
    convert.__qualname__ = f"Tensor.{name}"
    convert.__doc__ = f"The elements as {dtype}."
    return convert


_SPARSE_TYPES = {
    _C.sparse_coo: "sparse", _C.sparse_csr: "sparse_csr", _C.sparse_csc: "sparse_csc", _C.sparse_bsr: "sparse_bsr",
    _C.sparse_bsc: "sparse_bsc",
}  # fmt: skip


def _get_async_or_non_blocking(function_name: str, non_blocking: bool, kwargs: dict[str, Any]) -> bool:
    """The argument `non_blocking`, which older programs call `async`; TypeError for any other keyword."""
    if not kwargs:
        return non_blocking
    if len(kwargs) != 1 or "async" not in kwargs:
        unexpected = next(name for name in kwargs if name != "async")
        raise TypeError(f"{function_name}() got an unexpected keyword argument '{unexpected}'")
    return kwargs["async"]


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """Without an argument the old-style type's name, else the tensor in that type; `async=` is `non_blocking`."""
    if kwargs:
        non_blocking = _get_async_or_non_blocking("type", non_blocking, kwargs)
    if dtype is None:
        name = type_name(self.dtype)
        return (
            name
            if self.layout is _C.strided
            else name.replace("torch.", f"torch.{_SPARSE_TYPES[self.layout]}.")
        )
    return self.to(dtype_of(dtype), non_blocking)


@also_named(other="tensor")
def _type_as(self: Tensor, tensor: Tensor) -> Tensor:
    """In the other tensor's type, on its device."""
    return self.to(tensor.device, tensor.dtype)


def _dequantize(self: Tensor) -> Any:
    """As float32; of a quantized tensor, the numbers that its integers stand for."""
    if self.is_quantized:
        return operator_hooks.quantized_methods["dequantize"](self)
    return self.to(_C.float32)


def _module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What `Module.load_state_dict` makes of an entry where modules swap their parameters.

    Args:
        other: the entry.
        assign: whether the entry itself is taken; otherwise its elements are copied into this tensor.

    Returns:
        Tensor, outside the graph: the entry, or this tensor.
    """
    return other.detach() if assign else self.copy_(other).detach()


def _of_quantized(name: str) -> Any:
    def method(self: Tensor) -> Any:
        if self.is_quantized:
            return operator_hooks.quantized_methods[name](self)
        raise RuntimeError(
            f"{name}: expected a quantized tensor, but got one of {self.dtype}; "
            "tl_quantization.quantize_per_tensor makes one"
        )

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"`{name}` of a quantized tensor; RuntimeError for any other."
    return method


def _cpu(self: Tensor, memory_format: Any = _C.preserve_format) -> Tensor:
    """On the CPU."""
    return self.to("cpu", memory_format=memory_format)


def _mover(kind: str, device_name: str) -> Any:
    """The method that moves a tensor to a kind of device."""

    def move(
        self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = _C.preserve_format
    ) -> Tensor:
        return self.to(
            kind if device is None else device, non_blocking=non_blocking, memory_format=memory_format
        )

    move.__doc__ = f"On {device_name} device."
    return move


def _is_zerotensor(self: Tensor) -> bool:
    return False  # a subclass has such zeros


def _is_distributed(self: Tensor) -> bool:
    """Whether the elements lie on several machines: no tensor's do in this sense."""
    return False


def _sparse_dim(self: Tensor) -> int:
    """An older name of `sparse_dim()`."""
    return self.sparse_dim()


def _dense_dim(self: Tensor) -> int:
    """An older name of `dense_dim()`."""
    return self.dense_dim()


def _resize(self: Tensor, *sizes: Any) -> Tensor:
    """The tensor in other sizes with as many elements: an older form of `reshape`, with a warning that it is.

    Args:
        sizes: the sizes, one by one or in a sequence.

    Raises:
        RuntimeError: they are not as many elements.
    """
    warnings.warn("non-inplace resize is deprecated", stacklevel=2)
    shape = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    if prod(shape) != self.numel():
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, shape))} ({prod(shape)} elements in total), but the given "
            f"tensor has a size of {'x'.join(map(str, self.shape))} ({self.numel()} elements). autograd's resize can "
            "only change the shape of a given tensor, while preserving the number of elements."
        )
    return self.contiguous().view(tuple(shape))


def _resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """`resize` to the sizes of another tensor.

    Args:
        tensor: the other tensor.
    """
    return _resize(self, *tensor.shape)


def _to_mkldnn(self: Tensor, dtype: Any = None) -> Tensor:
    """RuntimeError: tensors have one layout for all libraries."""
    raise RuntimeError(
        "to_mkldnn: tl has no tensors in the layout of MKL-DNN; its own kernels take all layouts"
    )


def _record_stream(self: Tensor, stream: Any) -> None:
    """NotImplementedError on the CPU, whose memory is not used by streams, unless a mode handles it."""
    if _ask_handlers("record_stream", "default", self, stream) is NotImplemented:
        raise NotImplementedError(f"record_stream: tensors on {self.device.type} aren't used by streams")


def _storage_type(self: Tensor) -> type:
    """The class of the typed storage."""
    from tl_core import storage

    return getattr(storage, _legacy_storage_name(self.dtype))


def _legacy_storage_name(dtype: Any) -> str:
    """`FloatStorage` of float32."""
    return type_name(dtype).rpartition(".")[2].removesuffix("Tensor") + "Storage"


def _dim_order(self: Tensor, *, ambiguity_check: bool | list[Any] = False) -> tuple[int, ...]:
    """The dimensions from the outermost to the innermost in memory.

    Args:
        ambiguity_check: True to refuse tensors whose order isn't unique, or the memory formats of which one must fit.

    Raises:
        RuntimeError: if the order isn't unique and that was to be checked.
        TypeError: if `ambiguity_check` is something else.

    Example:
        >>> tensor([[1, 2], [3, 4]]).t().dim_order()
        (1, 0)
    """
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not (isinstance(ambiguity_check, bool) or all(isinstance(f, _C.memory_format) for f in formats)):
        raise TypeError(
            "The ambiguity_check argument must be a bool or a list of memory formats, "
            f"got {type(ambiguity_check).__name__}"
        )
    if isinstance(ambiguity_check, str):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats, got str")
    matching = [f for f in formats if self.is_contiguous(memory_format=f)]
    ambiguous = ambiguity_check is True and _has_ambiguous_order(self)
    if ambiguous or (formats and len(matching) != 1):
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
        )
    strides = self.stride()
    return tuple(sorted(range(self.dim()), key=lambda d: -strides[d]))


def _has_ambiguous_order(t: Tensor) -> bool:
    """Whether dimensions could be exchanged without moving an element."""
    strides = t.stride()
    return len(set(strides)) < len(strides) or 1 in t.shape


def _numpy(self: Tensor, *, force: bool = False) -> Any:
    """A numpy array on the tensor's memory; `force` copies whatever stands in the way."""
    try:
        import numpy
    except ModuleNotFoundError as error:
        from tl_core.base.optional import absence

        raise absence(error, "numpy", "Tensor.numpy()") from None
    if not isinstance(force, (bool, numpy.bool_)):
        raise TypeError(f"numpy(): argument 'force' must be bool, not {type(force).__name__}")
    if force:
        self = self.detach().cpu().resolve_conj().resolve_neg()
    elif self.requires_grad and _C._grad_enabled():
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    return numpy.asarray(memoryview(self))


def _array(self: Tensor, dtype: Any = None, copy: Any = None) -> Any:
    array = self.numpy()
    if dtype is not None:
        array = array.astype(dtype, copy=False)
    return array.copy() if copy else array


def _array_wrap(self: Tensor, array: Any, *context: Any) -> Tensor:
    return _C.from_numpy(array)


# ---- storages --------------------------------------------------------------------------------------------
def _untyped_storage(self: Tensor) -> UntypedStorage:
    """The bytes the tensor's elements lie in."""
    return UntypedStorage._of(self)


def _typed_storage(self: Tensor) -> TypedStorage:
    """The elements the tensor is a view of."""
    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype)


def _storage(self: Tensor) -> TypedStorage:
    """As `_typed_storage`, deprecated in favor of `untyped_storage`, which has no type of its own."""
    warnings.warn(
        "TypedStorage is deprecated: Tensor.untyped_storage() gives the memory itself, whose length counts bytes",
        stacklevel=2,
    )
    return _typed_storage(self)


def _set_(
    self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Makes the tensor another view: of a storage, or the same as another tensor."""
    if _C._grad_enabled() and self.requires_grad and self.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    arguments = (
        () if source is None else (source,) if size is None else (source, storage_offset, size, stride or [])
    )
    if _ask_handlers("set_", _overload_of_set(source, size), self, *arguments) is not NotImplemented:
        return self
    if source is None:
        source = _C.empty(0, dtype=self.dtype)
    if isinstance(source, Tensor):
        if source.dtype != self.dtype:
            raise RuntimeError(
                f"Could not set tensor of type {source.dtype} to a tensor of type {self.dtype}: set_() keeps the type"
            )
        view = (
            source
            if size is None
            else source.as_strided(size, stride or _dense_strides(size), storage_offset)
        )
    else:
        memory = source._tensor
        own = getattr(source, "dtype", None) or self.dtype
        if own != self.dtype:
            raise RuntimeError(
                f"set_(): Expected a Storage of type {self.dtype} or an UntypedStorage, but got type {own} for "
                "argument 'source'"
            )
        n = source.nbytes() // self.element_size()
        size = (n - storage_offset,) if size is None else tuple(size)
        view = _C._with_storage(
            memory, self.dtype, size, tuple(stride or _dense_strides(size)), storage_offset
        )
    if view.device != self.device:
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{self.device}" to a storage on different device '
            f'"{view.device}".  This is no longer allowed; the devices must match.'
        )
    _C._set_storage(self, view)
    _C._bump_version(self)
    return self


def _overload_of_set(source: Any, size: Any) -> str:
    if source is None:
        return "default"
    kind = "source_Tensor" if isinstance(source, Tensor) else "source_Storage"
    return kind if size is None else f"{kind}_storage_offset"


def _ask_handlers(name: str, overload: str, *args: Any) -> Any:
    """What a mode or a class makes of an operator that is a method here; NotImplemented where nobody handles it."""
    from tl_core.dispatch import modes as dispatch_modes

    if not dispatch_modes.is_handled(args):
        return NotImplemented
    packet = operator_hooks.maker("operator of Python")(f"aten::{name}")
    return dispatch_modes.ask_handlers(getattr(packet, overload), args)


def _dense_strides(size: Any) -> tuple[int, ...]:
    strides, step = [], 1
    for n in reversed(tuple(size)):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


# ---- names of dimensions -------------------------------------------------------------------------------
def _named_tensor() -> Any:
    from tl_core.tensors import named_tensor  # few programs name dimensions

    return named_tensor


def _has_names(self: Tensor) -> bool:
    """Whether any dimension has a name."""
    return _C._has_names(self)


def _rename(self: Tensor, *names: Any, **rename_map: Any) -> Tensor:
    """A view with other names: all of them by position, or some by keywords; `rename(None)` drops them."""
    return _named_tensor().rename(self, *names, **rename_map)


def _rename_(self: Tensor, *names: Any, **rename_map: Any) -> Tensor:
    """`rename` in place."""
    return _named_tensor().rename_(self, *names, **rename_map)


def _refine_names(self: Tensor, *names: Any) -> Tensor:
    """A view in which dimensions without a name have one; those with a name keep it."""
    return _named_tensor().refine_names(self, *names)


def _align_to(self: Tensor, *names: Any) -> Tensor:
    """A view with its dimensions in this order, and dimensions of size one for names that it hasn't."""
    return _named_tensor().align_to(self, *names)


def _align_as(self: Tensor, other: Tensor) -> Tensor:
    """A view with its dimensions in the order of another tensor's, and of size one where it hasn't them."""
    return _named_tensor().align_as(self, other)


_C._set_fallback("diagonal", lambda *args, **kwargs: _named_tensor().diagonal(*args, **kwargs))
_C._set_fallback("flatten", lambda *args, **kwargs: _named_tensor().flatten(*args, **kwargs))
_C._set_fallback("unflatten", lambda *args, **kwargs: _named_tensor().unflatten(*args, **kwargs))


# ---- construction ----------------------------------------------------------------------------------------
def _new(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """`Tensor(2, 3)`, `Tensor([1, 2])`, `Tensor(tensor)`: the older constructor, in the default type."""
    kwargs.pop("device", None)
    if kwargs:
        raise TypeError(f"new() received unexpected keyword arguments {sorted(kwargs)}")
    if cls is not Tensor and len(args) == 1 and isinstance(args[0], Tensor):
        return _C._make_subclass(cls, args[0])  # of any type
    tensor = construct(_C.get_default_dtype(), args)
    return tensor if cls is Tensor else _C._make_subclass(cls, tensor)


def _new_like(self: Tensor, *args: Any, size: Any = None, device: Any = None) -> Tensor:
    """`tensor.new(2, 3)`, `tensor.new([1, 2])`: the older constructor, in this tensor's type and on its device."""
    if size is not None:
        if args:
            raise TypeError(f"new(): argument 'size' is given beside {len(args)} positional arguments")
        args = (Size(size),)
    if self.layout is not _C.strided:
        return _new_sparse(self, args, device)
    if self.is_quantized:
        raise RuntimeError("new() makes no quantized tensors; call torch.empty_quantized")
    return construct(self.dtype, args).to(self.device if device is None else device)


def _new_sparse(self: Tensor, args: Any, device: Any) -> Tensor:
    if device is not None and _C.device(device).type != self.device.type:
        raise RuntimeError(f"new(): expected a device of type {self.device.type}, got {device}")
    if self.layout is _C.sparse_coo:
        if not args:
            return sparse.sparse_coo_tensor(size=(0,), dtype=self.dtype, device=self.device)
        if isinstance(args[0], Size) or all(isinstance(n, int) for n in args):
            size = args[0] if isinstance(args[0], Size) else args
            return sparse.sparse_coo_tensor(size=tuple(size), dtype=self.dtype, device=self.device)
        if len(args) in (2, 3) and all(isinstance(t, Tensor) for t in args[:2]):
            return sparse.sparse_coo_tensor(*args, dtype=self.dtype, device=self.device)
    raise TypeError(
        "new(): of a sparse tensor, it takes nothing, a size, or indices and values, got "
        f"{', '.join(type(a).__name__ for a in args)}"
    )


def _share_memory_(self: Tensor) -> Tensor:
    """Moves the elements, in place, into memory that other processes can see; see `UntypedStorage.share_memory_`."""
    self.untyped_storage().share_memory_()
    return self


def _is_shared(self: Tensor) -> bool:
    """Whether other processes can see the memory."""
    return self.untyped_storage().is_shared()


def _contains(self: Tensor, element: Any) -> bool:
    if isinstance(element, (Tensor, int, float, complex, bool)):
        return bool(_C.any(_C.eq(self, element)))
    raise RuntimeError(
        f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
    )


def _reversed(self: Tensor) -> Tensor:
    return self if self.dim() == 0 else self[list(range(self.shape[0] - 1, -1, -1))]


def _format(self: Tensor, spec: str) -> str:
    if self.dim() == 0 and not self.is_meta and type(self) is Tensor:
        return format(self.item(), spec)
    return object.__format__(self, spec)


def _dir(self: Tensor) -> list[str]:
    return sorted(set(dir(type(self))) | set(self.__dict__))


def _is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape."""
    return self.shape == other.shape


def _apply_(self: Tensor, callable: Any) -> Tensor:
    """Puts what a Python function makes of each element in its place; slow."""
    return self.map_(self, lambda element, _: callable(element))


def _map_(self: Tensor, tensor: Tensor, callable: Any) -> Tensor:
    """Puts what a Python function makes of each element and another tensor's in its place; slow."""
    return _map_elements(self, (tensor,), callable)


def _map2_(self: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:
    """Puts what a Python function makes of each element and two other tensors' in its place; slow."""
    return _map_elements(self, (x, y), callable)


def _map_elements(self: Tensor, operands: tuple[Tensor, ...], callable: Any) -> Tensor:
    if any(each.requires_grad for each in (self, *operands)):
        raise RuntimeError(
            "a Python function has no gradient, and a tensor requires grad: use detach() first"
        )
    columns = [self.flatten().tolist(), *(other.expand_as(self).flatten().tolist() for other in operands)]
    values = [callable(*elements) for elements in zip(*columns, strict=True)]
    return self.copy_(_C.tensor(values, dtype=self.dtype).view(self.shape))


def _polygamma(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of digamma."""
    return _C.polygamma(n, self)


def _polygamma_(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of digamma in place."""
    if not self.is_floating_point():
        return _C.polygamma(n, self, out=self)  # which refuses the type
    return self.copy_(_C.polygamma(n, self.clone()))


def _reinforce(self: Tensor, reward: Any) -> NoReturn:
    """Removed: policies have gradients through `log_prob` of a distribution."""
    raise RuntimeError(
        "reinforce() was removed. Use torch.distributions instead: the loss of an action is "
        "-distribution.log_prob(action) * reward"
    )


def _where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """The tensor's elements where the condition holds, else the other's."""
    return _C.where(condition, self, other)


_find_nonzero = Tensor.nonzero


def _nonzero(self: Tensor, *, as_tuple: bool = False) -> Any:
    """The positions of the elements that are not zero: one a row, or with `as_tuple` a tensor a dimension."""
    return self.nonzero_numpy() if as_tuple else _find_nonzero(self)


def _norm(self: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The p-norm of all elements, or along one or more dimensions."""
    return norms.norm(self, p, dim, keepdim, dtype=dtype)


def _new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = _C.strided,
    pin_memory: bool = False,
) -> Tensor:
    """A copy of the data with this tensor's type and device."""
    if layout is not None and layout is not _C.strided:
        raise RuntimeError(f"new_tensor(): layout must be torch.strided, got {layout}")
    return _C.tensor(
        data,
        dtype=dtype or self.dtype,
        device=device or self.device,
        requires_grad=requires_grad,
        pin_memory=pin_memory,
    )


def _pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The tensor in memory that an accelerator reads by itself; there is no accelerator.

    Raises RuntimeError.
    """
    raise RuntimeError(
        "Cannot access accelerator device when none is available: pin_memory() needs one; leave it out on a CPU"
    )


def _load_attribute(self: Tensor, name: str) -> Any:
    load_autograd(f"Tensor.{name}")
    return getattr(self, name)


def _backward(
    self: Tensor,
    gradient: Any = None,
    retain_graph: Any = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Provided by tl-autograd."""
    _load_attribute(self, "backward")(gradient, retain_graph, create_graph, inputs)


def _register_hook(self: Tensor, hook: Any) -> Any:
    """Provided by tl-autograd."""
    return _load_attribute(self, "register_hook")(hook)


def _retain_grad(self: Tensor) -> None:
    """Provided by tl-autograd."""
    _load_attribute(self, "retain_grad")()


def _register_post_accumulate_grad_hook(self: Tensor, hook: Any) -> Any:
    """Provided by tl-autograd."""
    return _load_attribute(self, "register_post_accumulate_grad_hook")(hook)


def _detach_(self: Tensor) -> Tensor:
    """Takes the tensor out of its graph, making it a leaf."""
    return self


def _lu(self: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """As `lu`, without its warning."""
    return lu_factors(self, pivot, get_infos)


def _unique(
    self: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """As `unique`."""
    return unique(self, sorted, return_inverse, return_counts, dim)


def _unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """As `unique_consecutive`."""
    return unique_consecutive(self, return_inverse, return_counts, dim)


def _cov(
    self: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """As `cov`."""
    return statistics.cov(self, correction=correction, fweights=fweights, aweights=aweights)


def _corrcoef(self: Tensor) -> Tensor:
    """As `corrcoef`."""
    return statistics.corrcoef(self)


def _array_namespace(self: Tensor, /, *, api_version: str | None = None) -> Any:
    """The module with the functions of the Array API standard; versions before 2024.12 ask for fewer of them.

    Raises ValueError for a later version.
    """
    if api_version is not None and api_version not in ("2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"api_version must be one from 2021.12 to 2024.12, got {api_version!r}")
    return operator_hooks.maker("array namespace")


def _to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """The array on a device, as the Array API standard spells `to`; no device here has streams."""
    if stream is not None:
        raise ValueError(f"to_device(): there are no streams on {device}, got {stream!r}")
    return self.to(device)


def _slice_inverse(
    self: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """The tensor of which `self` is the slice: a view of its memory with the sizes and strides of `src`."""
    offset = 0 if start is None else start % max(1, src.shape[dim]) if start < 0 else start
    return self.as_strided(src.shape, src.stride(), self.storage_offset() - offset * src.stride(dim))


_METHODS: dict[str, Any] = {
    "__array_namespace__": _array_namespace, "to_device": _to_device,
    "lu": _lu, "slice_inverse": _slice_inverse,
    "module_load": _module_load, "to_mkldnn": _to_mkldnn, "record_stream": _record_stream,
    "storage_type": _storage_type, "dim_order": _dim_order,
    "backward": _backward, "register_hook": _register_hook, "retain_grad": _retain_grad,
    "register_post_accumulate_grad_hook": _register_post_accumulate_grad_hook,
    "type": _type, "type_as": _type_as, "cpu": _cpu, "numpy": _numpy, "__array__": _array,
    "__array_wrap__": _array_wrap,
    "untyped_storage": _untyped_storage, "storage": _storage, "_typed_storage": _typed_storage, "set_": _set_,
    "__contains__": _contains,
    "__reversed__": _reversed, "__format__": _format, "__dir__": _dir, "is_same_size": _is_same_size,
    "where": _where, "__rdiv__": Tensor.__rtruediv__, "is_nonzero": Tensor.__bool__, "apply_": _apply_, "map_": _map_,
    "map2_": _map2_,
    "polygamma": _polygamma, "polygamma_": _polygamma_,
    "nonzero": _nonzero,
    "share_memory_": _share_memory_, "is_shared": _is_shared, "new": _new_like, "new_tensor": _new_tensor,
    "dequantize": _dequantize, "reinforce": _reinforce,
    "requires_grad_": requires_grad_, "detach_": _detach_, "norm": _norm, "pin_memory": _pin_memory,
    "has_names": _has_names, "rename": _rename, "rename_": _rename_, "refine_names": _refine_names,
    "align_to": _align_to, "align_as": _align_as,
    "resize": _resize, "resize_as": _resize_as, "is_distributed": _is_distributed,
    "_is_zerotensor": _is_zerotensor,
    "_dimI": _sparse_dim, "_dimV": _dense_dim, "cuda": _mover("cuda", "a CUDA"), "xpu": _mover("xpu", "an XPU"),
    "mtia": _mover("mtia", "an MTIA"), "ipu": _mover("ipu", "an IPU"),
    "corrcoef": _corrcoef, "cov": _cov,
    "unique": _unique, "unique_consecutive": _unique_consecutive,
    **sparse_methods.METHODS,
    **tensor_pickling.METHODS,
    "__array_priority__": 1000,
}  # fmt: skip

_MODULES = {__name__, tensor_pickling.__name__, requires_grad_.__module__, sparse_methods.__name__}
_named: set[Any] = set()
for _name, _method in _METHODS.items():
    setattr(Tensor, _name, _method)
    # as the reference page and pickle know them: by the first of their names
    if isinstance(_method, FunctionType) and _method.__module__ in _MODULES and _method not in _named:
        _named.add(_method)
        _method.__name__, _method.__qualname__ = _name, f"Tensor.{_name}"
for _name, _dtype in {
    "float": _C.float32, "double": _C.float64, "half": _C.float16, "bfloat16": _C.bfloat16, "long": _C.int64,
    "int": _C.int32, "short": _C.int16, "char": _C.int8, "byte": _C.uint8, "bool": _C.bool,
    "cfloat": _C.complex64, "cdouble": _C.complex128, "chalf": _C.complex32,
}.items():  # fmt: skip
    setattr(Tensor, _name, _converter(_name, _dtype))
for _name in (
    "int_repr", "q_scale", "q_zero_point", "qscheme", "q_per_channel_scales", "q_per_channel_zero_points",
    "q_per_channel_axis",
):  # fmt: skip
    setattr(Tensor, _name, _of_quantized(_name))


def _removed_method(name: str) -> FunctionType:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        from tl_core.tensors import removed

        return getattr(removed, name)(self, *args, **kwargs)

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = "Removed: raises RuntimeError that names the function of `linalg` to call."
    return method  # type: ignore[return-value]


for _name in ("eig", "lstsq", "solve", "symeig"):
    setattr(Tensor, _name, _removed_method(_name))
# What makes plain tensors of others, and what Python asks of classes, sees no overrides.
_PLAIN = {"__array_namespace__", "__dir__", "as_subclass", "new", "record_stream", "to_device"}
for _name, _method in list(vars(Tensor).items()):
    if isinstance(_method, FunctionType) and _name not in _PLAIN:
        setattr(Tensor, _name, _C.overridable(_method))


for _name, _property in PROPERTIES.items():
    setattr(Tensor, _name, _property)
_C._set_python_helper("new", _new)


def _convert(ret: Any, cls: type) -> Any:
    """A result as a subclass: a tensor, or the tensors of a tuple or list."""
    if cls is Tensor:
        return ret
    if isinstance(ret, Tensor) and not isinstance(ret, cls):
        ret = ret.as_subclass(cls)
    if isinstance(ret, (tuple, list)):
        ret = type(ret)(_convert(item, cls) for item in ret)
    return ret


__getattr__ = attributes_of(__name__)  # of names that pickles hold
