# Written by `python -m tools.facade_stubs --write`.
from tl_checkpoint.distributed.staging import *
from tl_checkpoint.distributed.staging import _Copies as _Copies
from tl_checkpoint.distributed.staging import _Search as _Search
