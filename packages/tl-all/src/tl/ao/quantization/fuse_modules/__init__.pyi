# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.eager_steps import _fuse_modules as _fuse_modules
from tl_quantization.compat.eager_steps import _get_module as _get_module
from tl_quantization.compat.eager_steps import _set_module as _set_module
from tl_quantization.fuse_modules import *
