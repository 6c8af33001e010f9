# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.script.state import _Functions as _Functions
