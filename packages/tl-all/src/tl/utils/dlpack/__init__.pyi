# Written by `python -m tools.facade_stubs --write`.
from tl_core._C import Tensor as Tensor
from tl_core.tensors.dlpack import from_dlpack as from_dlpack
from tl_core.tensors.dlpack import to_dlpack as to_dlpack
