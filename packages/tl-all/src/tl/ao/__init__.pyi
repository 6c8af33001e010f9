# Written by `python -m tools.facade_stubs --write`.
from . import nn as nn
from . import ns as ns
from . import pruning as pruning
from . import quantization as quantization
