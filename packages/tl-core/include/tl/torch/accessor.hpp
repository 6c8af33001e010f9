// Elements of a tensor by their indices.
#ifndef TL_TORCH_ACCESSOR_HPP
#define TL_TORCH_ACCESSOR_HPP

#include <tl/torch/array_ref.hpp>

namespace at {
TL_FACE {
  template <class T>
  struct DefaultPtrTraits {
    using PtrType = T*;
  };
  template <class T>
  struct RestrictPtrTraits {
    using PtrType = T* __restrict__;
  };

  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class I = int64_t>
  class TensorAccessor {
   public:
    using PtrType = typename Traits<T>::PtrType;
    TensorAccessor(PtrType data, const I* sizes, const I* strides)
        : data_(data), sizes_(sizes), strides_(strides) {}
    I size(I i) const { return sizes_[i]; }
    I stride(I i) const { return strides_[i]; }
    PtrType data() const { return data_; }
    ArrayRef<I> sizes() const { return {sizes_, N}; }
    ArrayRef<I> strides() const { return {strides_, N}; }
    decltype(auto) operator[](I i) const {
      if constexpr (N == 1)
        return (data_[strides_[0] * i]);
      else
        return TensorAccessor<T, N - 1, Traits, I>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
    }

   private:
    PtrType data_;
    const I *sizes_, *strides_;
  };

  // The same with sizes and strides of its own.
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class I = int64_t>
  class GenericPackedTensorAccessor {
   public:
    using PtrType = typename Traits<T>::PtrType;
    template <class J>
    GenericPackedTensorAccessor(PtrType data, const J* sizes, const J* strides) : data_(data) {
      std::copy(sizes, sizes + N, sizes_);
      std::copy(strides, strides + N, strides_);
    }
    I size(I i) const { return sizes_[i]; }
    I stride(I i) const { return strides_[i]; }
    PtrType data() const { return data_; }
    decltype(auto) operator[](I i) const {
      if constexpr (N == 1)
        return (data_[strides_[0] * i]);
      else
        return TensorAccessor<T, N - 1, Traits, I>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
    }

   private:
    PtrType data_;
    I sizes_[N], strides_[N];
  };
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, int32_t>;
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, int64_t>;
}
}  // namespace at

#endif  // TL_TORCH_ACCESSOR_HPP
