"""Quantized tensors and networks: integers of 8 bits that stand for floating numbers, and the way there.

>>> import tl_core, tl_quantization as tq
>>> q = tq.quantize_per_tensor(tl_core.tensor([0.1, 0.5]), scale=0.1, zero_point=0, dtype=tq.quint8)
>>> q.int_repr(), q.dequantize()
(tensor([1, 5], dtype=torch.uint8), tensor([0.1000, 0.5000]))
"""

from . import nn, operators
from .dtypes import *
from .fake_quantization import *
from .fake_quantize import *
from .functions import *
from .fuse_modules import *
from .fuser_method_mappings import *
from .observer import *
from .qconfig import *
from .quantization_mappings import *
from .quantize import *
from .quantizer import *
from .stubs import *
from .tensor import *
from .version import __version__ as __version__
