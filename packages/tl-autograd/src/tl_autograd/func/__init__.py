"""Function transforms: derivatives of functions, and functions of batches, nested in any order.

Each takes a function and returns a function. `grad`, `vjp`, `jvp` and the transforms built on them differentiate it,
`vmap` runs it on a batch without a loop. The rules of each operator follow from its row.
"""

from tl_autograd.func import custom_function
from tl_autograd.func.debug import debug_unwrap
from tl_autograd.func.functionalize import functionalize
from tl_autograd.func.grad import grad, grad_and_value, vjp
from tl_autograd.func.jacobian import hessian, jacfwd, jacrev
from tl_autograd.func.jvp import jvp, linearize
from tl_autograd.func.vmap import vmap

__all__ = [
    "debug_unwrap",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "vjp",
    "vmap",
]
