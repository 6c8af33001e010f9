# Written by `python -m tools.facade_stubs --write`.
from . import _fsdp_init as _fsdp_init
from . import _fsdp_param as _fsdp_param
from . import _fsdp_param_group as _fsdp_param_group
