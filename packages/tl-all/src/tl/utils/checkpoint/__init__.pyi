# Written by `python -m tools.facade_stubs --write`.
from typing import Any

from tl_autograd.checkpoint import *
from tl_autograd.checkpoint import _Holder as _Holder
from tl_autograd.checkpoint import _Region as _Region
from tl_autograd.checkpoint import _Settings as _Settings
from tl_autograd.checkpoint import _Stop as _Stop

SAC_IGNORED_OPS: Any
