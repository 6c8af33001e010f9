# Written by `python -m tools.facade_stubs --write`.
from tl_checkpoint.distributed.metadata import *
from tl_checkpoint.distributed.metadata import _MEM_FORMAT_ENCODING as _MEM_FORMAT_ENCODING
