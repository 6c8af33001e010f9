# Written by `python -m tools.facade_stubs --write`.
from ..._functorch.functional_call import *
