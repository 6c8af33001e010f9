# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.pruning import *

from . import pruner as pruner
