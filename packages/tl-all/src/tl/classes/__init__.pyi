# Written by `python -m tools.facade_stubs --write`.
from tl_core.operators.packets import load_library as load_library
