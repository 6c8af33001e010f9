# Written by `python -m tools.facade_stubs --write`.
from . import nn as nn
from . import quantization as quantization
