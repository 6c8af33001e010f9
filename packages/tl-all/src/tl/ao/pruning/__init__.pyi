# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.pruning import *

from . import _experimental as _experimental
