# Written by `python -m tools.facade_stubs --write`.
from . import composite_compliance as composite_compliance
from . import distributed as distributed
