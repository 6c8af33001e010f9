// Names of `torch::headeronly`: types and checks that need no library. Here they are the names of `at::`.
#ifndef TL_TORCH_HEADERONLY_HPP
#define TL_TORCH_HEADERONLY_HPP

#include <tl/torch/accessor.hpp>
#include <tl/torch/array_ref.hpp>
#include <tl/torch/dispatch.hpp>
#include <tl/torch/half.hpp>

namespace torch {
TL_FACE {
  namespace headeronly {
  using namespace ::c10;
  template <class T>
  using HeaderOnlyArrayRef = c10::ArrayRef<T>;
  using IntHeaderOnlyArrayRef = c10::IntArrayRef;
  using at::DefaultPtrTraits;
  using at::RestrictPtrTraits;
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class I = int64_t>
  using HeaderOnlyTensorAccessor = at::TensorAccessor<T, N, Traits, I>;
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class I = int64_t>
  using HeaderOnlyGenericPackedTensorAccessor = at::GenericPackedTensorAccessor<T, N, Traits, I>;

  // Tags of operators, by their numbers in the stable interface.
  enum class Tag : int32_t {
    core,
    cudagraph_unsafe,
    data_dependent_output,
    dynamic_output_shape,
    flexible_layout,
    generated,
    inplace_view,
    maybe_aliasing_or_mutating,
    needs_contiguous_strides,
    needs_exact_strides,
    needs_fixed_stride_order,
    nondeterministic_bitwise,
    nondeterministic_seeded,
    out_variant,
    pointwise,
    pt2_compliant_tag,
    reduction,
    view_copy
  };
  }  // namespace headeronly
}
}  // namespace torch
namespace at {
TL_FACE { using torch::headeronly::Tag; }
}  // namespace at

#define STD_TORCH_CHECK TORCH_CHECK
#define THO_DISPATCH_SWITCH AT_DISPATCH_SWITCH
#define THO_DISPATCH_CASE AT_DISPATCH_CASE
#define THO_DISPATCH_CASE_TMPL AT_DISPATCH_CASE_TMPL
#define THO_PRIVATE_CASE_TYPE_USING_HINT AT_PRIVATE_CASE_TYPE_USING_HINT
#define THO_DISPATCH_V2 AT_DISPATCH_V2

// Versions of PyTorch as numbers: the major version in the first byte, then the minor one.
#define TL_FACE_TORCH_VERSION(MAJOR, MINOR) ((MAJOR##ULL << 56) | (MINOR##ULL << 48))
#define TORCH_VERSION_2_9_0 TL_FACE_TORCH_VERSION(2, 9)
#define TORCH_VERSION_2_10_0 TL_FACE_TORCH_VERSION(2, 10)
#define TORCH_VERSION_2_11_0 TL_FACE_TORCH_VERSION(2, 11)
#define TORCH_VERSION_2_12_0 TL_FACE_TORCH_VERSION(2, 12)
#define TORCH_VERSION_2_13_0 TL_FACE_TORCH_VERSION(2, 13)
#define TORCH_ABI_VERSION TORCH_VERSION_2_13_0
#ifdef TORCH_TARGET_VERSION
#define TORCH_FEATURE_VERSION TORCH_TARGET_VERSION
#else
#define TORCH_FEATURE_VERSION TORCH_ABI_VERSION
#endif

#endif  // TL_TORCH_HEADERONLY_HPP
