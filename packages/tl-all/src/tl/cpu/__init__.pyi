# Written by `python -m tools.facade_stubs --write`.
from tl_backends.cpu import *
from tl_core.compat.native import _get_cpu_capability as _get_cpu_capability

from . import amp as amp
