# Written by `python -m tools.facade_stubs --write`.
from ...ao.quantization.fuser_method_mappings import *
