"""The headers under PyTorch's names, each of which includes the part of tl's headers that defines its names."""

from __future__ import annotations

# Part of `tl/torch` -> the headers of PyTorch whose names it defines, by folder.
FORWARDED = {
    "errors": {
        "c10/macros": "Macros.h Export.h",
        "c10/util": "Exception.h StringUtil.h string_view.h Optional.h Deprecated.h CallOnce.h",
        "ATen": "Config.h",
        "torch": "version.h",
        "torch/csrc": "Export.h Exceptions.h",
    },
    "logging": {"c10/util": "Logging.h"},
    "half": {
        "c10/util": "Half.h BFloat16.h complex.h qint8.h quint8.h qint32.h Float8_e4m3fn.h Float8_e5m2.h "
        "Float8_e4m3fnuz.h Float8_e5m2fnuz.h BFloat16-math.h",
    },
    "scalar_type": {
        "c10/core": "ScalarType.h DeviceType.h Device.h Layout.h MemoryFormat.h TensorOptions.h Backend.h "
        "ScalarTypeToTypeMeta.h DefaultDtype.h",
        "c10/util": "typeid.h",
        "ATen": "ScalarType.h Device.h Layout.h TensorOptions.h Backend.h DeviceAccelerator.h",
        "ATen/core": "ScalarType.h DeprecatedTypeProperties.h",
    },
    "array_ref": {
        "c10/util": "ArrayRef.h SmallVector.h OptionalArrayRef.h",
        "c10/core": "SymInt.h SymIntArrayRef.h",
        "ATen": "ArrayRef.h SmallVector.h",
        "ATen/core": "ArrayRef.h",
    },
    "scalar": {"c10/core": "Scalar.h", "ATen": "Scalar.h", "ATen/core": "Scalar.h"},
    "accessor": {"ATen": "TensorAccessor.h", "ATen/core": "TensorAccessor.h"},
    "dispatch": {"ATen": "Dispatch.h Dispatch_v2.h NumericUtils.h"},
    "containers": {
        "c10/util": "intrusive_ptr.h",
        "ATen/core": "List.h Dict.h",
    },
    "ivalue": {
        "ATen/core": "ivalue.h ivalue_inl.h stack.h jit_type.h",
        "torch/csrc/jit/runtime": "custom_operator.h operator.h",
    },
    "modes": {
        "c10/util": "irange.h MaybeOwned.h accumulate.h llvmMathExtras.h",
        "c10/core": "DeviceGuard.h GradMode.h InferenceMode.h WrapDimMinimal.h StorageImpl.h Storage.h CPUAllocator.h "
        "Allocator.h DispatchKey.h DispatchKeySet.h TensorImpl.h "
        "UndefinedTensorImpl.h Stream.h",
        "c10/core/impl": "LocalDispatchKeySet.h",
        "ATen": "Parallel.h ParallelOpenMP.h ParallelFuture.h DeviceGuard.h TensorUtils.h AccumulateType.h "
        "OpMathType.h "
        "Context.h CPUGeneratorImpl.h "
        "Generator.h WrapDimUtils.h autocast_mode.h ExpandUtils.h TensorIndexing.h Utils.h "
        "ScalarOps.h TensorGeometry.h MemoryOverlap.h InitialTensorOptions.h core/grad_mode.h record_function.h",
        "ATen/core": "Tensor.h TensorBase.h TensorBody.h grad_mode.h Generator.h Reduction.h Formatting.h",
        "ATen/native": "Resize.h TensorIterator.h IndexingUtils.h",
        "torch/csrc/autograd": "grad_mode.h",
    },
    "aten": {
        "ATen": "ATen.h Functions.h Tensor.h Operators.h TensorOperators.h NativeFunctions.h MethodOperators.h "
        "CPUFunctions.h MetaFunctions.h",
        "torch/csrc/api/include/torch": "types.h",
        "torch": "types.h utils.h serialize/tensor.h cuda.h",
        "torch/csrc/utils": "tensor_flatten.h",
    },
    "custom_class": {
        "torch": "library.h script.h custom_class.h custom_class_detail.h serialize.h",
        "ATen/core": "op_registration/op_registration.h",
        "ATen/core/dispatch": "Dispatcher.h",
        "ATen/core/boxing": "KernelFunction.h",
        "torch/csrc/jit": "api/module.h serialization/import.h runtime/operator_options.h",
        "torch/csrc": "CudaIPCTypes.h",
    },
    "autograd": {
        "torch": "autograd.h",
        "torch/csrc/autograd": "custom_function.h variable.h function.h VariableTypeUtils.h autograd.h edge.h "
        "functions/utils.h saved_variable.h autograd_not_implemented_fallback.h",
    },
    "all": {
        "torch": "torch.h all.h fft.h linalg.h special.h",
        "torch/csrc/api/include/torch": "torch.h all.h fft.h linalg.h special.h",
    },
    "pybind": {
        "torch/csrc/utils": "pybind.h",
        "torch/csrc": "THP.h utils.h Device.h Dtype.h",
        "torch": "python.h",
        "torch/csrc/autograd": "python_variable.h",
    },
    "extension": {"torch": "extension.h"},
    "headeronly": {
        "torch/headeronly": "version.h",
        "torch/headeronly/core": "ScalarType.h DeviceType.h Layout.h MemoryFormat.h TensorAccessor.h Dispatch.h "
        "Dispatch_v2.h enum_tag.h",
        "torch/headeronly/macros": "Macros.h Export.h",
        "torch/headeronly/util": "Exception.h Half.h BFloat16.h complex.h Float8_e4m3fn.h Float8_e4m3fnuz.h "
        "Float8_e5m2.h Float8_e5m2fnuz.h Float8_e8m0fnu.h HeaderOnlyArrayRef.h Deprecated.h bit_cast.h qint8.h "
        "quint8.h qint32.h TypeTraits.h",
    },
    "stable_words": {
        "torch/csrc/stable": "library.h stableivalue_conversions.h macros.h version.h",
        "torch/csrc/stable/c": "shim.h",
        "torch/csrc/inductor/aoti_torch": "utils.h",
        "torch/csrc/inductor/aoti_torch/c": "shim.h",
        "torch/headeronly/util": "shim_utils.h",
    },
    "stable": {
        "torch/csrc/stable": "tensor.h tensor_struct.h tensor_inl.h ops.h device.h device_struct.h device_inl.h "
        "generator.h generator_struct.h generator_inl.h accelerator.h",
    },
}


def names() -> dict[str, str]:
    """Header of PyTorch -> part of tl's headers."""
    return {
        f"{folder}/{name}": part
        for part, folders in FORWARDED.items()
        for folder, listed in folders.items()
        for name in listed.split()
    }


def headers() -> dict[str, str]:
    """File name -> text."""
    return {name: f"#pragma once\n#include <tl/torch/{part}.hpp>\n" for name, part in names().items()}
