# Written by `python -m tools.facade_stubs --write`.
from typing import Any

from tl_core.extensions.custom_classes import *
from tl_core.extensions.custom_classes import _ClassNamespace as _ClassNamespace
from tl_core.extensions.custom_classes import _Method as _Method

def __getattr__(name: str) -> Any: ...
