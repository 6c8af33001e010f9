# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.groups.device_mesh import *
from tl_distributed.groups.device_mesh import _MeshEnv as _MeshEnv
