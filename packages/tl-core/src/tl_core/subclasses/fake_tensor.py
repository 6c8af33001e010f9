"""FakeTensor: a tensor that claims to lie on a device and holds no memory."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.base.former_names import attributes_of
from tl_core.dispatch.modes import no_modes
from tl_core.overrides import disabled_torch_function
from tl_core.subclasses import sparse_fakes
from tl_core.subclasses.fake_cache import CacheKeyState, extract_tensor_metadata
from tl_core.subclasses.fake_exceptions import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    MetadataMismatchError,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from tl_core.subclasses.python_dispatch import is_traceable_wrapper_subclass
from tl_core.subclasses.tensor_structures import tensors_in

__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "FakeTensor",
    "MetadataMismatchError",
    "UnsupportedFakeTensorException",
    "UnsupportedOperatorException",
    "extract_tensor_metadata",
    "get_plain_tensors",
    "is_fake",
    "maybe_get_fake_mode",
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
        >>> from tl_core.subclasses import FakeTensorMode
        >>> with FakeTensorMode():
        ...     x = empty(1 << 40, 1 << 10)
        >>> (x + 1).sum(1)
        FakeTensor(..., size=(1099511627776,))
    """

    __torch_function__ = disabled_torch_function
    handles_kernels_only = True  # of operators that are methods it sees the parts

    fake_mode: Any
    symbolic: Any = None
    constant: Tensor | None = None
    real_tensor: Tensor | None = None
    pytype: type | None = None
    dispatch_keys: Any = None

    @staticmethod
    def __new__(
        cls,
        fake_mode: Any,
        elem: Tensor,
        device: Any,
        constant: Tensor | None = None,
        real_tensor: Tensor | None = None,
        pytype: type | None = None,
        dispatch_keys: Any = None,
    ) -> FakeTensor:
        if elem.device.type != "meta":
            raise AssertionError(f"FakeTensor: elem must lie on meta, got a tensor on {elem.device}")
        fake: FakeTensor = _C._claim(cls, elem, with_index(device))
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
    def from_tensor(t: Tensor, fake_mode: Any) -> FakeTensor:
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

    def on_zeros(self, function: Any) -> Any:
        """The fakes of the results of a function that looks for elements other than zero.

        Args:
            function: receives zeros of the same geometry.
        """
        return sparse_fakes.on_empty(self, function)

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

    def numpy(self, *, force: bool = False) -> Any:
        """The array of the tensor that it stands for, where its mode knows that.

        Args:
            force: whether a copy does, of a tensor that requires a gradient or lies elsewhere.

        Raises:
            RuntimeError: the mode doesn't know it.
        """
        values_of = self.fake_mode.values_of
        return Tensor.numpy(self, force=force) if values_of is None else values_of(self).numpy(force=force)

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
        return Tensor.__getitem__(self, index) if symbolic is None else symbolic.index_fake(self, index)

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
        return self.fake_mode.rebuild_fake, (
            elem.dtype, tuple(elem.shape), elem.stride(), elem.storage_offset(), str(self.device), self.requires_grad,
        )  # fmt: skip


def with_index(device: Any) -> Any:
    device = _C.device(device)
    if device.type in ("cpu", "meta") or device.index is not None:
        return device
    return _C.device(device.type, 0)


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
    for each in tensors_in(t):
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


def _is_tensor_constructor(func: Any) -> bool:
    """Whether an operator makes a tensor of none: no argument is one, and the only result is."""
    schema = func._schema
    takes = any("Tensor" in str(argument.type) for argument in schema.arguments)
    return not takes and len(schema.returns) == 1 and str(schema.returns[0].type) == "Tensor"


__getattr__ = attributes_of(__name__)  # of names that pickles hold
