"""`functorch.experimental`: the older place of some names of `tl.func`."""

from tl_autograd.func import functionalize, hessian, jacfwd, jvp
from tl_autograd.func.vmap import chunk_vmap
from tl_nn.func import replace_all_batch_norm_modules_

__all__ = [
    "chunk_vmap",
    "functionalize",
    "hessian",
    "jacfwd",
    "jvp",
    "replace_all_batch_norm_modules_",
]
