# Written by `python -m tools.facade_stubs --write`.
from tl_checkpoint.rebuild import from_type as __rebuild_from_type_v2_
from tl_core._C import Tensor as Tensor
from tl_core.api.tensor_methods import TensorMeta as TensorMeta
from tl_core.api.tensor_pickling import _rebuild_from_type as _rebuild_from_type
from tl_core.api.tensor_properties import PROPERTIES as PROPERTIES
from tl_core.api.tensor_properties import load_autograd as load_autograd
from tl_core.api.tensor_properties import requires_grad_ as requires_grad_
from tl_core.base.former_names import attributes_of as attributes_of
from tl_core.base.keyword_names import also_named as also_named
from tl_core.functions.lowrank import lu_factors as lu_factors
from tl_core.functions.unique import unique as unique
from tl_core.functions.unique import unique_consecutive as unique_consecutive
from tl_core.memory.typed_storage import TypedStorage as TypedStorage
from tl_core.memory.untyped_storage import UntypedStorage as UntypedStorage
from tl_core.tensors.size import Size as Size
from tl_core.tensors.tensor_types import construct as construct
from tl_core.tensors.tensor_types import dtype_of as dtype_of
from tl_core.tensors.tensor_types import type_name as type_name

_rebuild_from_type_v2 = __rebuild_from_type_v2_
