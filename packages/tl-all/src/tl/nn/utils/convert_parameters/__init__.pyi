# Written by `python -m tools.facade_stubs --write`.
from tl_nn.compat.parameter_devices import _check_param_device as _check_param_device
from tl_nn.utils.convert_parameters import *
