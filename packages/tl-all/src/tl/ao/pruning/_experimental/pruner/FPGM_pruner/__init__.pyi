# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.pruning.structured.fpgm_pruner import *
