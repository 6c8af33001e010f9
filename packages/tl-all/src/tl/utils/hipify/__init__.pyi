# Written by `python -m tools.facade_stubs --write`.
from . import constants as constants
from . import cuda_to_hip_mappings as cuda_to_hip_mappings
from . import hipify_python as hipify_python
