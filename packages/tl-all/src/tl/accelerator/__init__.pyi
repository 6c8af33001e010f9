# Written by `python -m tools.facade_stubs --write`.
from tl_backends.accelerator import *
from tl_backends.compat.device_index import _get_accelerator_device_index as __get_device_index_

_get_device_index = __get_device_index_
