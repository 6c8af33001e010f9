# Written by `python -m tools.facade_stubs --write`.
from tl_core.library.custom_ops import *
from tl_core.library.custom_ops import _Fake as _Fake
