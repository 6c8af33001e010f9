# Written by `python -m tools.facade_stubs --write`.
from tl_backends.device_modules import get_device_module as __get_device_module_
from tl_checkpoint.nested import strided as __rebuild_nested_tensor_
from tl_checkpoint.rebuild import meta_tensor as __rebuild_meta_tensor_no_storage_
from tl_checkpoint.rebuild import parameter as __rebuild_parameter_
from tl_checkpoint.rebuild import parameter_with_state as __rebuild_parameter_with_state_
from tl_checkpoint.rebuild import tensor as __rebuild_tensor_v2_
from tl_checkpoint.rebuild import tensor_of_dtype as __rebuild_tensor_v3_
from tl_checkpoint.serialization_steps import _get_restore_location as _get_restore_location
from tl_core.api.tensor_pickling import _rebuild_sparse_tensor as _rebuild_sparse_tensor
from tl_core.base.type_info import element_size as __element_size_
from tl_core.compat.utils import _Shown as _Shown

_element_size = __element_size_
_get_device_module = __get_device_module_
_rebuild_meta_tensor_no_storage = __rebuild_meta_tensor_no_storage_
_rebuild_nested_tensor = __rebuild_nested_tensor_
_rebuild_parameter = __rebuild_parameter_
_rebuild_parameter_with_state = __rebuild_parameter_with_state_
_rebuild_tensor_v2 = __rebuild_tensor_v2_
_rebuild_tensor_v3 = __rebuild_tensor_v3_
