# Written by `python -m tools.facade_stubs --write`.
from tl_nn.utils.clip_grad import *
