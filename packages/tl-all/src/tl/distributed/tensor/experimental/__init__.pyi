# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.tensor.experimental import *

from . import _attention as _attention
