# Written by `python -m tools.facade_stubs --write`.
from tl_core.base.weak import *
from tl_core.base.weak import _WeakHashRef as _WeakHashRef
