# Written by `python -m tools.facade_stubs --write`.
from tl_checkpoint.distributed.hf_storage import *
from tl_checkpoint.distributed.hf_storage import _Box as _Box
