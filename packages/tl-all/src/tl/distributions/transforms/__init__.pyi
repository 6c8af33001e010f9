# Written by `python -m tools.facade_stubs --write`.
from tl_distributions.transform import _InverseTransform as _InverseTransform
from tl_distributions.transforms import *
