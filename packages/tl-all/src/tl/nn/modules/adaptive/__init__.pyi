# Written by `python -m tools.facade_stubs --write`.
from tl_nn.modules.adaptive import *
from tl_nn.modules.adaptive import _ASMoutput as _ASMoutput
