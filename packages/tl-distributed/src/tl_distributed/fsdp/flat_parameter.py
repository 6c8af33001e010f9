"""One parameter with the elements of several, and the location of each of them in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import tl_core
from tl_core import Tensor
from tl_nn import Module, Parameter

from ..tensor.api import distribute_tensor
from ..tensor.dtensor import DTensor
from ..tensor.dtensor_spec import DTensorSpec

__all__ = ["FLAT_PARAMETER", "WRAPPED_MODULE", "FlatEntry", "FlatParameter", "clean_name"]

WRAPPED_MODULE = "_fsdp_wrapped_module"
FLAT_PARAMETER = "_flat_param"
_WRAPPERS = (f"{WRAPPED_MODULE}.", "_checkpoint_wrapped_module.")


class FlatParameter(Parameter):
    """The parameter of a wrapped module: this rank's piece of the elements of all its parameters.

    Attributes:
        _fqns: the names of the parameters in the wrapped module.
        _shapes: their sizes.
        _numels: their numbers of elements.
        _unpadded_unsharded_size: the size of the whole.

    Example:
        >>> import tl_nn
        >>> from tl_distributed import fsdp
        >>> isinstance(tl_nn.Linear(1, 1).weight, fsdp.FlatParameter)
        False
    """

    _fqns: tuple[str, ...]
    _shapes: tuple[tl_core.Size, ...]
    _numels: tuple[int, ...]
    _unpadded_unsharded_size: tl_core.Size


@dataclass
class FlatEntry:
    """A parameter that is a part of a flat one.

    Args:
        parameter: the parameter that the program created.
        owners: the modules that have it, with its name in each.
        names: its names in the wrapped module.
        offset: the location of its first element in the flat parameter.
        shape: its size.
        start: the location of its first element that this rank has, from the beginning of the rank's piece.
        end: the location after its last element there.
        skipped: the number of its elements that ranks before this one have.
        spec: the layout of a distributed tensor, of which the flat parameter has this rank's part; None otherwise.
    """

    parameter: Parameter
    owners: list[tuple[Module, str]]
    names: list[str]
    offset: int
    shape: tl_core.Size
    start: int = 0
    end: int = 0
    skipped: int = 0
    spec: DTensorSpec | None = None

    @property
    def whole_shape(self) -> tl_core.Size:
        """The size of the parameter, of a distributed tensor that of the whole."""
        return self.shape if self.spec is None else self.spec.shape

    def wrap(self, value: Tensor) -> Any:
        """A tensor of its size as the model has it: a distributed one if the parameter is one.

        Args:
            value: the tensor.
        """
        if self.spec is None:
            return value
        meta = self.spec.tensor_meta._replace(dtype=value.dtype)
        spec = DTensorSpec(self.spec.mesh, self.spec.placements, meta)
        return DTensor(value, spec, requires_grad=False)

    def unwrap(self, value: Any) -> Tensor:
        """This rank's part of a tensor of the parameter's whole size, in whatever layout it is.

        Args:
            value: the tensor, whole or distributed.
        """
        is_distributed = isinstance(value, DTensor)
        if self.spec is None:
            return value.full_tensor().detach() if is_distributed else value
        if is_distributed and value.device_mesh == self.spec.mesh:
            part: Tensor = value.detach().redistribute(placements=self.spec.placements)._local_tensor
            return part
        full = value.detach().full_tensor() if is_distributed else value.detach()
        return distribute_tensor(full, self.spec.mesh, self.spec.placements, src_data_rank=None)._local_tensor

    @property
    def numel(self) -> int:
        """The number of its elements."""
        return self.shape.numel()

    def cut(self, rank: int, chunk: int) -> None:
        """Sets the elements that a rank has.

        Args:
            rank: the rank.
            chunk: the number of elements of a piece.
        """
        begin = rank * chunk
        start, end = max(self.offset, begin), min(self.offset + self.numel, begin + chunk)
        self.skipped = start - self.offset if end > start else 0
        self.start, self.end = (start - begin, end - begin) if end > start else (0, 0)

    def view(self, flat: Tensor) -> Tensor:
        """Its elements in a flat tensor, in its size.

        Args:
            flat: the flat tensor.
        """
        return flat[self.offset : self.offset + self.numel].view(self.shape)

    def local_part(self, value: Tensor) -> Tensor:
        """The elements of a tensor of its size that this rank has.

        Args:
            value: the tensor.
        """
        return value.reshape(-1)[self.skipped : self.skipped + self.end - self.start]


def clean_name(name: str) -> str:
    """The name of a parameter without the parts that wrappers add.

    Args:
        name: the name.

    Example:
        >>> clean_name("_fsdp_wrapped_module.0._fsdp_wrapped_module.weight")
        '0.weight'
    """
    for wrapper in _WRAPPERS:
        name = name.replace(wrapper, "")
    return name


def entries_of(
    owners: Iterable[tuple[Parameter, list[tuple[Module, str]]]], root: Module, alignment: int
) -> tuple[list[FlatEntry], int]:
    """The parameters of a wrapped module one after the other, and the number of elements with the gaps.

    Args:
        owners: the parameters with the modules that have them.
        root: the wrapped module.
        alignment: the number of elements of which the location of a parameter is a multiple.
    """
    prefixes: dict[int, str] = {}
    for prefix, module in root.named_modules():
        prefixes[id(module)] = f"{prefix}." if prefix else ""
    entries, position = [], 0
    for parameter, modules in owners:
        position = -(-position // alignment) * alignment
        names = [prefixes[id(module)] + name for module, name in modules]
        spec = parameter._spec if isinstance(parameter, DTensor) else None
        if isinstance(parameter, DTensor):  # the optimizer and the collectives have the elements of this rank
            parameter = Parameter(parameter._local_tensor, requires_grad=parameter.requires_grad)
        entries.append(FlatEntry(parameter, modules, names, position, parameter.shape, spec=spec))
        position += parameter.numel()
    return entries, position


def check_entries(entries: Iterable[FlatEntry], mixes_frozen: bool) -> Any:
    """The type of the elements of parameters.

    Args:
        entries: the parameters.
        mixes_frozen: whether some may be frozen.

    Raises:
        ValueError: they can't be in one flat parameter.
    """
    dtype, frozen = None, None
    for entry in entries:
        parameter, name = entry.parameter, entry.names[0]
        if parameter.dim() == 0:
            raise ValueError(
                f"FSDP doesn't support scalar parameters. Change {name} to a 1D tensor with numel equal to 1."
            )
        if isinstance(parameter, FlatParameter):
            raise ValueError(f"Cannot flatten a `FlatParameter`: {name} is one; wrap its module once")
        if not parameter.is_floating_point() and not parameter.is_complex():
            raise ValueError(f"Cannot flatten integer dtype tensors: {name} is of {parameter.dtype}")
        if dtype is not None and parameter.dtype != dtype:
            raise ValueError(
                f"Must flatten tensors with uniform dtype but got {dtype} and {parameter.dtype} ({name})"
            )
        if not mixes_frozen and frozen is not None and frozen == parameter.requires_grad:
            raise ValueError(
                f"Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`: {name} differs"
            )
        dtype, frozen = parameter.dtype, not parameter.requires_grad
    return dtype
