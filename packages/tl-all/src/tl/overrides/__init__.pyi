# Written by `python -m tools.facade_stubs --write`.
from tl_core.overrides import *
from tl_core.overrides import _enable_torch_function as _enable_torch_function
from tl_core.overrides import _EnableTorchFunction as _EnableTorchFunction
from tl_core.overrides import _popped as _popped
