# Written by `python -m tools.facade_stubs --write`.
from tl_autograd.forward_ad import *
from tl_autograd.forward_ad import _Identity as _Identity
from tl_autograd.forward_ad import _set_fwd_grad_enabled as _set_fwd_grad_enabled
