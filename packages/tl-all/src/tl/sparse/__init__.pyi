# Written by `python -m tools.facade_stubs --write`.
from tl_core.sparse import *

from . import _triton_ops_meta as _triton_ops_meta
from . import semi_structured as semi_structured
