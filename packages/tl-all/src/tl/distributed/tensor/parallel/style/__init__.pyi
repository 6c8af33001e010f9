# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.tensor.parallel.style import *
from tl_distributed.tensor.parallel.style import _LayerStyle as _LayerStyle
