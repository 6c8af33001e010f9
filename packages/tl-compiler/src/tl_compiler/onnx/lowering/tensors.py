"""Tensors of tl as tensors of an ONNX model. The model shares the memory of the tensor where it can."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

import tl_core
from tl_core.subclasses import FakeTensor

from ..dtypes import DTYPE_OF_ONNX, STORED_BITS, onnx_dtype
from ..errors import OnnxExporterError

__all__ = ["array_of", "model_tensor", "pending_tensor", "tensor_of"]


def pending_tensor(name: str, dtype: Any, shape: Any) -> Any:
    """A tensor of a model that was exported from fake tensors: to read its numbers is an error.

    Args:
        name: the name.
        dtype: ONNX's element type.
        shape: the sizes.
    """

    def numbers() -> Any:
        raise OnnxExporterError(
            f"the tensor {name} of the model is a fake tensor without numbers: "
            "call ONNXProgram.apply_weights(state_dict) first"
        )

    result = ir.LazyTensor(numbers, dtype=dtype, shape=shape, name=name)
    result.meta["pending"] = True
    return result


def array_of(tensor: Any) -> Any:
    """The numpy array of a tensor; element types that numpy lacks are those of ml_dtypes.

    Args:
        tensor: the tensor.
    """
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    bits = STORED_BITS.get(plain.dtype)
    if bits is None:
        return plain.numpy()
    return plain.view(bits).numpy().view(ir.DataType(onnx_dtype(plain.dtype)).numpy())


def model_tensor(tensor: Any, name: str) -> Any:
    """A tensor of a model.

    Args:
        tensor: tl's tensor.
        name: the name in the model.

    Returns:
        The tensor of the model.
    """
    dtype = ir.DataType(onnx_dtype(tensor.dtype))
    if isinstance(tensor, FakeTensor) or tensor.is_meta:
        return pending_tensor(name, dtype, ir.Shape([int(n) for n in tensor.shape]))
    return ir.Tensor(array_of(tensor), dtype=dtype, name=name)


def tensor_of(array: Any) -> Any:
    """A tensor of tl with the numbers of an array of numpy or ml_dtypes.

    Args:
        array: the array.
    """
    array = np.asarray(array)
    if array.dtype.isbuiltin == 1 or array.dtype.kind in "biufc":
        return tl_core.from_numpy(np.array(array, copy=True, order="C"))
    dtype = DTYPE_OF_ONNX[int(ir.DataType.from_numpy(array.dtype))]
    bits = np.int16 if array.dtype.itemsize == 2 else np.uint8
    return tl_core.from_numpy(np.array(array, order="C").view(bits)).view(dtype)
