# Written by `python -m tools.facade_stubs --write`.
from typing import Any

from tl_core.operators.packets import load_library as load_library

def __getattr__(name: str) -> Any: ...
