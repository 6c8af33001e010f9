# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.pruning.structured import *

from . import FPGM_pruner as FPGM_pruner
