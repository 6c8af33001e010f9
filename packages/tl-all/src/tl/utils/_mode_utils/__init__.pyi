# Written by `python -m tools.facade_stubs --write`.
from tl_core.dispatch.modes import *
from tl_core.dispatch.modes import _Without as _Without
