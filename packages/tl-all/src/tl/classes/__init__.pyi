# Written by `python -m tools.facade_stubs --write`.
from typing import Any

from tl_core.extensions.custom_classes import *
from tl_core.extensions.custom_classes import _ClassNamespace as _ClassNamespace

def __getattr__(name: str) -> Any: ...
