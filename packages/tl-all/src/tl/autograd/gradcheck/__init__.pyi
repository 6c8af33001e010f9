# Written by `python -m tools.facade_stubs --write`.
from tl_autograd.gradcheck import *
from tl_autograd.gradcheck import _Nudged as _Nudged
from tl_autograd.gradcheck import _Problem as _Problem
from tl_autograd.gradcheck import _Undefined as _Undefined
