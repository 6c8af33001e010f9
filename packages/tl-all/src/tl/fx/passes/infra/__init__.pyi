# Written by `python -m tools.facade_stubs --write`.
from . import partitioner as partitioner
from . import pass_base as pass_base
from . import pass_manager as pass_manager
