# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.pruning.data_sparsifier import *
