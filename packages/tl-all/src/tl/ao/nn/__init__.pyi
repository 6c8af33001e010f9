# Written by `python -m tools.facade_stubs --write`.
from . import intrinsic as intrinsic
from . import qat as qat
from . import quantizable as quantizable
from . import quantized as quantized
