"""Names of PyTorch's exporter to ONNX: a tensor of tl as a tensor of a model, and its assertion."""

from __future__ import annotations

import sys
from typing import Any

from tl_core import Tensor

from ..onnx.dtypes import onnx_dtype
from ..onnx.libraries import libraries

ir: Any = libraries().ir  # or MissingLibraryError, before a module that needs the extra
_Base: Any = ir.Tensor

from ..onnx.lowering.tensors import array_of  # noqa: E402
from ..onnx.testing import assert_onnx_program  # noqa: E402

__all__ = ["TorchTensor", "assert_onnx_program", "check_onnx_proto"]
_core = _testing = sys.modules[__name__]  # PyTorch's modules of the two names


class TorchTensor(_Base):
    """A tensor of tl as a tensor of a model, which shares the memory where it can.

    Args:
        tensor: the tensor.
        name: the name in the model.

    Example:
        >>> import tl_core
        >>> TorchTensor(tl_core.ones(2), "weight").numpy().tolist()
        [1.0, 1.0]
    """

    def __init__(self, tensor: Tensor, name: str | None = None) -> None:
        super().__init__(tensor, dtype=ir.DataType(onnx_dtype(tensor.dtype)), name=name)

    def numpy(self) -> Any:
        """The array of the numbers. Element types that numpy lacks are those of ml_dtypes."""
        return array_of(self.raw)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def tobytes(self) -> bytes:
        """The bytes of the numbers, in the order of the machine's little end."""
        content: bytes = self.numpy().tobytes()
        return content

    def tofile(self, file: Any) -> None:
        """Writes the bytes of the numbers.

        Args:
            file: a file that is open for writing.
        """
        file.write(self.tobytes())


def check_onnx_proto(proto: bytes, full_check: bool = False) -> None:
    """Checks the bytes of a model.

    Args:
        proto: the bytes.
        full_check: whether the types and shapes are inferred as well.

    Raises:
        RuntimeError: the model isn't valid.
    """
    import onnx

    try:
        onnx.checker.check_model(onnx.load_from_string(proto), full_check=full_check)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, ValueError) as error:
        raise RuntimeError(f"the model isn't valid: {error}") from error
