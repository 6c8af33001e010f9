# Written by `python -m tools.facade_stubs --write`.
from tl_nn.utils.per_sample_grad import *
