"""`tl_data.collate` under PyTorch's name."""

import re

from tl_data.collate import collate as collate
from tl_data.collate import collate_float_fn as collate_float_fn
from tl_data.collate import collate_int_fn as collate_int_fn
from tl_data.collate import collate_numpy_array_fn as collate_numpy_array_fn
from tl_data.collate import collate_numpy_scalar_fn as collate_numpy_scalar_fn
from tl_data.collate import collate_str_fn as collate_str_fn
from tl_data.collate import collate_tensor_fn as collate_tensor_fn
from tl_data.collate import default_collate as default_collate
from tl_data.collate import default_collate_fn_map as default_collate_fn_map
from tl_data.collate import default_convert as default_convert

np_str_obj_array_pattern = re.compile("[SaUO]")
"""Codes of NumPy element types without a tensor type: texts and objects."""
