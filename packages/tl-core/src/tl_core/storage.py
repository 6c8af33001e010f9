"""The memory that tensors are views of."""

from tl_core.base.former_names import attributes_of
from tl_core.memory.typed_storage import *  # noqa: F403 - it names what it exports
from tl_core.memory.typed_storage import _dtype_to_storage_type_map as _dtype_to_storage_type_map
from tl_core.memory.typed_storage import _storage_type_to_dtype_map as _storage_type_to_dtype_map
from tl_core.memory.untyped_storage import UntypedStorage as UntypedStorage
from tl_core.memory.untyped_storage import bytes_of as bytes_of
from tl_core.memory.untyped_storage import memory_of as memory_of
from tl_core.memory.untyped_storage import read_tensor as read_tensor
from tl_core.memory.untyped_storage import tensor_on as tensor_on

__getattr__ = attributes_of(__name__)  # of names that pickles hold
