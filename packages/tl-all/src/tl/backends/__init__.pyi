# Written by `python -m tools.facade_stubs --write`.
from tl_backends.backends import fp32_precision as fp32_precision

from . import cpu as cpu
from . import cuda as cuda
from . import cudnn as cudnn
from . import cusparselt as cusparselt
from . import kleidiai as kleidiai
from . import mha as mha
from . import mkl as mkl
from . import mkldnn as mkldnn
from . import mps as mps
from . import nnpack as nnpack
from . import openmp as openmp
from . import opt_einsum as opt_einsum
from . import quantized as quantized
from . import xeon as xeon
from . import xnnpack as xnnpack
