# Written by `python -m tools.facade_stubs --write`.
from tl_autograd.func import *
from tl_nn.func import functional_call as functional_call
from tl_nn.func import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from tl_nn.func import stack_module_state as stack_module_state
