# Written by `python -m tools.facade_stubs --write`.
from typing import Any

from tl_core.library import CustomOpDef as CustomOpDef
from tl_core.library import Library as Library
from tl_core.library import custom_op as custom_op
from tl_core.library import define as define
from tl_core.library import fallthrough_kernel as fallthrough_kernel
from tl_core.library import get_ctx as get_ctx
from tl_core.library import impl as impl
from tl_core.library import impl_abstract as impl_abstract
from tl_core.library import infer_schema as infer_schema
from tl_core.library import register_autocast as register_autocast
from tl_core.library import register_autograd as register_autograd
from tl_core.library import register_fake as register_fake
from tl_core.library import register_kernel as register_kernel
from tl_core.library import register_torch_dispatch as register_torch_dispatch
from tl_core.library import register_vmap as register_vmap
from tl_core.library import triton_op as triton_op
from tl_core.library import wrap_triton as wrap_triton

opcheck: Any
