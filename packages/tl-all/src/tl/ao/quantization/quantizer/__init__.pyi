# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.quantizer import *

from . import utils as utils
