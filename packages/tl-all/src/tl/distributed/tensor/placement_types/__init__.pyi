# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.groups.device_mesh import DeviceMesh as DeviceMesh
from tl_distributed.tensor.dtensor_spec import DTensorSpec as DTensorSpec
from tl_distributed.tensor.dtensor_spec import TensorMeta as TensorMeta
from tl_distributed.tensor.placement_types import *
from tl_distributed.tensor.placement_types import _NormPartial as _NormPartial
from tl_distributed.tensor.placement_types import _StridedShard as _StridedShard
