# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.jit import *
from tl_compiler.jit.internal import _overload as _overload
from tl_compiler.jit.internal import _overload_method as _overload_method

from . import _builtins as _builtins
from . import _recursive as _recursive
from . import _script as _script
from . import _state as _state
from . import _trace as _trace
from . import annotations as annotations
from . import frontend as frontend
from . import quantized as quantized
