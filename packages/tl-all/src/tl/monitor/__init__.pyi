# Written by `python -m tools.facade_stubs --write`.
from tl_utils.monitor import *
from tl_utils.monitor import _WaitCounter as _WaitCounter
