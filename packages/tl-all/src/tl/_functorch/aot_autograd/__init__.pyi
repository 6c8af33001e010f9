# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.aot.aot_autograd import *
from tl_compiler.aot.aot_autograd import _Compiled as _Compiled
from tl_compiler.aot.aot_autograd import _Settings as _Settings
