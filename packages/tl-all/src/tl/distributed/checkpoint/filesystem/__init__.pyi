# Written by `python -m tools.facade_stubs --write`.
from tl_checkpoint.distributed.filesystem import *
from tl_checkpoint.distributed.filesystem import _Appender as _Appender
from tl_checkpoint.distributed.filesystem import _StoragePrefix as _StoragePrefix
from tl_checkpoint.distributed.filesystem import _Task as _Task
