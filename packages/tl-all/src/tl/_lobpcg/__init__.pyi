# Written by `python -m tools.facade_stubs --write`.
from tl_core.functions.lobpcg import *
from tl_core.functions.lobpcg import _Progress as _Progress
from tl_core.functions.lobpcg import _Search as _Search
