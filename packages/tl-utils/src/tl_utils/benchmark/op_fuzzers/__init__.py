"""Random inputs for kinds of operators.

>>> from tl_utils.benchmark import BinaryOpFuzzer
>>> tensors, properties, parameters = next(BinaryOpFuzzer(seed=0).take(1))
>>> sorted(tensors)
['x', 'y']
"""

from tl_utils.benchmark.op_fuzzers.binary import BinaryOpFuzzer as BinaryOpFuzzer
from tl_utils.benchmark.op_fuzzers.sparse_binary import BinaryOpSparseFuzzer as BinaryOpSparseFuzzer
from tl_utils.benchmark.op_fuzzers.sparse_unary import UnaryOpSparseFuzzer as UnaryOpSparseFuzzer
from tl_utils.benchmark.op_fuzzers.spectral import SpectralOpFuzzer as SpectralOpFuzzer
from tl_utils.benchmark.op_fuzzers.unary import UnaryOpFuzzer as UnaryOpFuzzer

__all__ = [
    "BinaryOpFuzzer",
    "BinaryOpSparseFuzzer",
    "SpectralOpFuzzer",
    "UnaryOpFuzzer",
    "UnaryOpSparseFuzzer",
]
