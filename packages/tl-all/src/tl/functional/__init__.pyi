# Written by `python -m tools.facade_stubs --write`.
from tl_core._C import istft as istft
from tl_core._C import split as split
from tl_core._C import stft as stft
from tl_core.functional import *
from tl_core.functions.contractions import chain_matmul as chain_matmul
from tl_core.functions.contractions import einsum as einsum
from tl_core.functions.contractions import tensordot as tensordot
from tl_core.functions.distances import cdist as cdist
from tl_core.functions.index_conversion import unravel_index as unravel_index
from tl_core.functions.lowrank import lu as lu
from tl_core.functions.lowrank import pca_lowrank as pca_lowrank
from tl_core.functions.lowrank import svd_lowrank as svd_lowrank
from tl_core.functions.norms import norm as norm
from tl_core.functions.unique import unique as unique
from tl_core.functions.unique import unique_consecutive as unique_consecutive
from tl_core.tensors.named_tensor import align_tensors as align_tensors

from ..nn import functional as F
