# Written by `python -m tools.facade_stubs --write`.
from . import functional as functional
from . import impl as impl
