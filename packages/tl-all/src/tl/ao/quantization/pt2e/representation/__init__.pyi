# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.export.reference import *
from tl_quantization.export.reference import _Quantized as _Quantized
from tl_quantization.export.reference import _Writer as _Writer

from . import rewrite as rewrite
