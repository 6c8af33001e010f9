# Written by `python -m tools.facade_stubs --write`.
from tl_autograd.compat.functional_tensor import *
from tl_autograd.compat.functional_tensor import _FunctionalType as _FunctionalType
from tl_autograd.compat.functional_tensor import _Regions as _Regions
