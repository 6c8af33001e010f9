# Written by `python -m tools.facade_stubs --write`.
from tl_checkpoint.legacy import load_from_bytes as __load_from_bytes_
from tl_core.base.former_names import attributes_of as attributes_of
from tl_core.memory.typed_storage import BFloat16Storage as BFloat16Storage
from tl_core.memory.typed_storage import BoolStorage as BoolStorage
from tl_core.memory.typed_storage import ByteStorage as ByteStorage
from tl_core.memory.typed_storage import CharStorage as CharStorage
from tl_core.memory.typed_storage import ComplexDoubleStorage as ComplexDoubleStorage
from tl_core.memory.typed_storage import ComplexFloatStorage as ComplexFloatStorage
from tl_core.memory.typed_storage import DoubleStorage as DoubleStorage
from tl_core.memory.typed_storage import FloatStorage as FloatStorage
from tl_core.memory.typed_storage import HalfStorage as HalfStorage
from tl_core.memory.typed_storage import IntStorage as IntStorage
from tl_core.memory.typed_storage import LongStorage as LongStorage
from tl_core.memory.typed_storage import QInt8Storage as QInt8Storage
from tl_core.memory.typed_storage import QInt32Storage as QInt32Storage
from tl_core.memory.typed_storage import QUInt2x4Storage as QUInt2x4Storage
from tl_core.memory.typed_storage import QUInt4x2Storage as QUInt4x2Storage
from tl_core.memory.typed_storage import QUInt8Storage as QUInt8Storage
from tl_core.memory.typed_storage import ShortStorage as ShortStorage
from tl_core.memory.typed_storage import Storage as Storage
from tl_core.memory.typed_storage import TypedStorage as TypedStorage
from tl_core.memory.untyped_storage import UntypedStorage as UntypedStorage
from tl_core.memory.untyped_storage import bytes_of as bytes_of
from tl_core.memory.untyped_storage import memory_of as memory_of
from tl_core.memory.untyped_storage import read_tensor as read_tensor
from tl_core.memory.untyped_storage import tensor_on as tensor_on

_load_from_bytes = __load_from_bytes_
