# Written by `python -m tools.facade_stubs --write`.
from tl_checkpoint.distributed.state_dict import *
from tl_checkpoint.distributed.state_dict import _IncompatibleKeys as _IncompatibleKeys
