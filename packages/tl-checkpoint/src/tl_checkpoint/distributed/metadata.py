"""The metadata of a checkpoint: its entries, the chunks of tensors, and the place of each chunk."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import tl_core
from tl_core import Size

__all__ = [
    "BytesStorageMetadata",
    "ChunkStorageMetadata",
    "Metadata",
    "MetadataIndex",
    "StorageMeta",
    "TensorProperties",
    "TensorStorageMetadata",
]


@dataclass
class ChunkStorageMetadata:
    """A box of a tensor: where it begins in each dimension, and how long it is.

    Example:
        >>> import tl_core
        >>> ChunkStorageMetadata(tl_core.Size([2, 0]), tl_core.Size([2, 4])).offsets
        torch.Size([2, 0])
    """

    offsets: Size
    sizes: Size


class _MEM_FORMAT_ENCODING(Enum):
    """The numbers that files hold for memory formats."""

    CONTIGUOUS = 0
    CHANNELS_LAST = 1
    PRESERVE = 2


_CODE_OF = {
    tl_core.contiguous_format: _MEM_FORMAT_ENCODING.CONTIGUOUS,
    tl_core.channels_last: _MEM_FORMAT_ENCODING.CHANNELS_LAST,
    tl_core.preserve_format: _MEM_FORMAT_ENCODING.PRESERVE,
}
_FORMAT_OF = {code: memory_format for memory_format, code in _CODE_OF.items()}


@dataclass
class TensorProperties:
    """Properties of a tensor; loading uses only `dtype`.

    Args:
        dtype: the type of the elements.
        layout: how they lie.
        requires_grad: whether gradients are recorded.
        memory_format: the memory format.
        pin_memory: whether the memory is pinned.

    Example:
        >>> import tl_core
        >>> TensorProperties(dtype=tl_core.float16).dtype
        torch.float16
    """

    dtype: Any = field(default_factory=tl_core.get_default_dtype)
    layout: Any = tl_core.strided
    requires_grad: bool = False
    memory_format: Any = tl_core.contiguous_format
    pin_memory: bool = False

    def __getstate__(self) -> tuple[Any, ...]:
        if self.memory_format not in _CODE_OF:
            raise RuntimeError(f"Invalid torch.memory_format: {self.memory_format}")
        code = _CODE_OF[self.memory_format]
        return self.dtype, self.layout, self.requires_grad, code, self.pin_memory

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype, self.layout, self.requires_grad, code, self.pin_memory = state
        self.memory_format = _FORMAT_OF[code]

    @staticmethod
    def create_from_tensor(tensor: Any) -> TensorProperties:
        """The properties of a tensor."""
        return TensorProperties(tensor.dtype, tensor.layout, tensor.requires_grad)


@dataclass
class TensorStorageMetadata:
    """A tensor of the checkpoint, and the chunks it is stored in.

    Args:
        properties: type and other properties of the tensor.
        size: its size as a whole.
        chunks: the boxes that it is stored in.

    Example:
        >>> import tl_core
        >>> chunk = ChunkStorageMetadata(tl_core.Size([0]), tl_core.Size([4]))
        >>> TensorStorageMetadata(TensorProperties(), tl_core.Size([4]), [chunk]).size
        torch.Size([4])
    """

    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """An entry that is no tensor.

    Example:
        >>> BytesStorageMetadata()
        BytesStorageMetadata()
    """


STORAGE_TYPES = TensorStorageMetadata | BytesStorageMetadata
STATE_DICT_TYPE = dict[str, Any]


@dataclass
class StorageMeta:
    """Identity of the save of a checkpoint.

    Args:
        checkpoint_id: the directory.
        save_id: the id of the save.
        load_id: the id of the load.
        modules: the modules that the file needs.

    Example:
        >>> StorageMeta(checkpoint_id="step 3").checkpoint_id
        'step 3'
    """

    checkpoint_id: str | os.PathLike[str] | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """A checkpoint's entries by name, and what planner and storage need to find them again.

    Args:
        state_dict_metadata: what is stored of each entry, by name.
        planner_data: where entries stood before they were flattened, or None.
        storage_data: where each entry or chunk lies, or None.
        storage_meta: which save it was, or None.
        version: the version of the format.

    Example:
        >>> Metadata({"step": BytesStorageMetadata()}).state_dict_metadata
        {'step': BytesStorageMetadata()}
    """

    state_dict_metadata: dict[str, STORAGE_TYPES]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True, init=False)
class MetadataIndex:
    """The key of an entry, or of a chunk of a tensor; `index` only hints at the chunk's place in the list.

    Args:
        fqn: the name of the entry.
        offset: where the chunk begins in its tensor; None for whole entries.
        index: the chunk's position in the list, a hint.

    >>> MetadataIndex("weight", (0, 4), 1) == MetadataIndex("weight", (0, 4))
    True
    """

    fqn: str
    offset: Size | None = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __init__(self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None) -> None:
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "offset", None if offset is None else Size(offset))
        object.__setattr__(self, "index", index)
