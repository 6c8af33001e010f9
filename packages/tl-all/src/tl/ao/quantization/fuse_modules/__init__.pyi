# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.fuse_modules import *
