// Operators of PyTorch that have a C function of their own.
#include <cstdio>
#include <cstring>
#include <vector>

#include "stable_abi/operators.h"

namespace tl::stable {

namespace {
TlValue integer(int64_t i) { return tagged(TL_INT, i); }
TlValue boolean(bool b) { return tagged(TL_BOOL, b); }
TlValue none() { return tagged(TL_NONE); }
TlValue text(const char* s) {
  TlValue v = tagged(TL_STRING);
  v.len = static_cast<uint32_t>(std::strlen(s));
  v.u.p = s;
  return v;
}

// What a new tensor is to be: each NULL where it isn't stated.
struct Options {
  const int32_t *dtype, *layout, *device;
  int32_t index;
  const int32_t* pin_memory;

  TlValue dtype_value() const { return dtype ? tagged(TL_DTYPE, dtype_from_stable(*dtype)) : none(); }
  TlValue layout_value() const { return layout ? tagged(TL_LAYOUT, layout_from_stable(*layout)) : none(); }
  TlValue device_value() const {
    return device ? tagged(TL_DEVICE, device_from_stable(*device, index)) : none();
  }
  TlValue pin_value() const { return pin_memory ? boolean(*pin_memory != 0) : none(); }
};

template <class... A>
Status call(std::initializer_list<Handle*> results, const char* name, const A&... args) {
  return attempt([&] { call_core(name, {args...}, results); });
}

void check_finite(const char* name, Handle h) {
  Handle finite = nullptr, all = nullptr;
  call_core("isfinite", {tensor_value(h)}, {&finite});
  call_core("all", {tensor_value(finite)}, {&all});
  const bool is_finite = *static_cast<const bool*>(api().tensor_data(tensor_of(all)));
  release_handle(finite);
  release_handle(all);
  if (!is_finite) fail(std::string("At least one INF or NAN in ") + name);
}

void put_at(Handle out, Handle self, const Handle* indices, uint32_t n, Handle values, bool accumulate) {
  call_core("copy_", {tensor_value(out), tensor_value(self), boolean(false)}, {});
  std::vector<TlTensor*> list;
  for (uint32_t i = 0; i < n; ++i) list.push_back(tensor_or_null(indices[i]));
  TlValue positions = tagged(TL_TENSOR_LIST);
  positions.len = n;
  positions.u.p = list.data();
  call_core("index_put_", {tensor_value(out), positions, tensor_value(values), boolean(accumulate)}, {});
}
}  // namespace

}  // namespace tl::stable

using namespace tl::stable;

// ---- those of the stable headers --------------------------------------------------------------------------

TL_STABLE Status aoti_torch_aten_amax(Handle self, const int64_t* dim, int64_t n, int32_t keepdim,
                                      Handle* ret) {
  return call({ret}, "amax", tensor_value(self), int_list(dim, n), boolean(keepdim != 0));
}
TL_STABLE Status aoti_torch_aten_fill__Scalar(Handle self, double value) {
  return call({}, "fill_.Scalar", tensor_value(self), float_value(value));
}
TL_STABLE Status aoti_torch_aten_full(const int64_t* size, int64_t n, double value, int32_t* dtype,
                                      int32_t* layout, int32_t* device, int32_t index, int32_t* pin_memory,
                                      Handle* ret) {
  const Options o{dtype, layout, device, index, pin_memory};
  return attempt([&] {
    call_core("full",
              {int_list(size, n), float_value(value), o.dtype_value(), o.layout_value(), o.device_value(),
               o.pin_value()},
              {ret});
  });
}
TL_STABLE Status aoti_torch_aten_narrow(Handle self, int64_t dim, int64_t start, int64_t length,
                                        Handle* ret) {
  return call({ret}, "narrow", tensor_value(self), integer(dim), integer(start), integer(length));
}
TL_STABLE Status aoti_torch_aten_new_empty(Handle self, const int64_t* size, int64_t n, int32_t* dtype,
                                           int32_t* layout, int32_t* device, int32_t index,
                                           int32_t* pin_memory, Handle* ret) {
  const Options o{dtype, layout, device, index, pin_memory};
  return attempt([&] {
    call_core("new_empty",
              {tensor_value(self), int_list(size, n), o.dtype_value(), o.layout_value(), o.device_value(),
               o.pin_value()},
              {ret});
  });
}
TL_STABLE Status aoti_torch_aten_new_zeros(Handle self, const int64_t* size, int64_t n, int32_t* dtype,
                                           int32_t* layout, int32_t* device, int32_t index,
                                           int32_t* pin_memory, Handle* ret) {
  const Options o{dtype, layout, device, index, pin_memory};
  return attempt([&] {
    call_core("new_zeros",
              {tensor_value(self), int_list(size, n), o.dtype_value(), o.layout_value(), o.device_value(),
               o.pin_value()},
              {ret});
  });
}
TL_STABLE Status aoti_torch_aten_pad(Handle self, const int64_t* pad, int64_t n, const char* mode,
                                     double* value, Handle* ret) {
  return call({ret}, "pad", tensor_value(self), int_list(pad, n), text(mode),
              value ? float_value(*value) : none());
}
TL_STABLE Status aoti_torch_aten_subtract_Tensor(Handle self, Handle other, double alpha, Handle* ret) {
  return call({ret}, "sub.Tensor", tensor_value(self), tensor_value(other), float_value(alpha));
}

// ---- copies and writes ------------------------------------------------------------------------------------

TL_STABLE Status aoti_torch_clone(Handle self, Handle* ret) {
  return call({ret}, "clone", tensor_value(self), none());
}
TL_STABLE Status aoti_torch_clone_preserve_strides(Handle self, Handle* ret) {
  return call({ret}, "clone", tensor_value(self), tagged(TL_MEMORY_FORMAT, TL_PRESERVE));
}
TL_STABLE Status aoti_torch_copy_(Handle self, Handle source, int32_t non_blocking) {
  return call({}, "copy_", tensor_value(self), tensor_value(source), boolean(non_blocking != 0));
}
TL_STABLE Status aoti_torch_tensor_copy_(Handle source, Handle to) { return aoti_torch_copy_(to, source, 0); }
TL_STABLE Status aoti_torch_zero_(Handle self) { return call({}, "zero_", tensor_value(self)); }
TL_STABLE Status aoti_torch_scatter_out(Handle out, Handle self, int64_t dim, Handle index, Handle source) {
  return call({}, "scatter.src_out", tensor_value(self), integer(dim), tensor_value(index),
              tensor_value(source), tensor_value(out));
}
TL_STABLE Status aoti_torch_scatter_reduce_out(Handle out, Handle self, int64_t dim, Handle index,
                                               Handle source, const char* reduce, int32_t include_self) {
  return call({}, "scatter_reduce.two_out", tensor_value(self), integer(dim), tensor_value(index),
              tensor_value(source), text(reduce), boolean(include_self != 0), tensor_value(out));
}
TL_STABLE Status aoti_torch_index_put_out(Handle out, Handle self, const Handle* indices, const uint32_t n,
                                          const Handle values, bool accumulate) {
  return attempt([&] { put_at(out, self, indices, n, values, accumulate); });
}
TL_STABLE Status aoti_torch_check_inf_and_nan(const char* name, Handle h) {
  return attempt([&] { check_finite(name, h); });
}

// ---- products ---------------------------------------------------------------------------------------------

TL_STABLE Status aoti_torch_mm_out(Handle out, Handle self, Handle other) {
  return call({}, "mm.out", tensor_value(self), tensor_value(other), tensor_value(out));
}
TL_STABLE Status aoti_torch_bmm_out(Handle out, Handle self, Handle other) {
  return call({}, "bmm.out", tensor_value(self), tensor_value(other), tensor_value(out));
}
TL_STABLE Status aoti_torch_addmm_out(Handle out, Handle self, Handle a, Handle b, float beta, float alpha) {
  return call({}, "addmm.out", tensor_value(self), tensor_value(a), tensor_value(b), float_value(beta),
              float_value(alpha), tensor_value(out));
}
TL_STABLE Status aoti_torch__mm_plus_mm_out(Handle out, Handle a, Handle b, Handle c, Handle d) {
  const Status status = aoti_torch_mm_out(out, a, b);
  return status ? status : aoti_torch_addmm_out(out, out, c, d, 1, 1);
}
TL_STABLE Status aoti_torch_convolution(Handle input, Handle weight, Handle bias, const int64_t* stride,
                                        int64_t n_stride, const int64_t* padding, int64_t n_padding,
                                        const int64_t* dilation, int64_t n_dilation, int transposed,
                                        const int64_t* output_padding, int64_t n_output_padding,
                                        int64_t groups, Handle* ret) {
  return call({ret}, "convolution", tensor_value(input), tensor_value(weight), tensor_value(bias),
              int_list(stride, n_stride), int_list(padding, n_padding), int_list(dilation, n_dilation),
              boolean(transposed != 0), int_list(output_padding, n_output_padding), integer(groups));
}

// ---- others -----------------------------------------------------------------------------------------------

TL_STABLE Status aoti_torch_nonzero(Handle self, Handle* ret) {
  return call({ret}, "nonzero", tensor_value(self));
}
TL_STABLE Status aoti_torch_repeat_interleave_Tensor(Handle repeats, int64_t* output_size, Handle* ret) {
  return call({ret}, "repeat_interleave.Tensor", tensor_value(repeats),
              output_size ? integer(*output_size) : none());
}
TL_STABLE Status aoti_torch_view_as_real(Handle self, Handle* ret) {
  return call({ret}, "view_as_real", tensor_value(self));
}
TL_STABLE Status aoti_torch_view_dtype(Handle self, int32_t dtype, Handle* ret) {
  return attempt([&] {
    call_core("view.dtype", {tensor_value(self), tagged(TL_DTYPE, dtype_from_stable(dtype))}, {ret});
  });
}
TL_STABLE Status aoti_torch__fft_c2c(Handle self, const int64_t* dim, int64_t n, int64_t normalization,
                                     int32_t forward, Handle* ret) {
  return call({ret}, "_fft_c2c", tensor_value(self), int_list(dim, n), integer(normalization),
              boolean(forward != 0));
}
TL_STABLE Status aoti_torch__embedding_bag(Handle weight, Handle indices, Handle offsets,
                                           int32_t scale_grad_by_freq, int32_t mode, int32_t sparse,
                                           Handle per_sample_weights, int32_t include_last_offset,
                                           int32_t padding_idx, Handle* ret0, Handle* ret1, Handle* ret2,
                                           Handle* ret3) {
  return call({ret0, ret1, ret2, ret3}, "_embedding_bag", tensor_value(weight), tensor_value(indices),
              tensor_value(offsets), boolean(scale_grad_by_freq != 0), integer(mode), boolean(sparse != 0),
              tensor_value(per_sample_weights), boolean(include_last_offset != 0), integer(padding_idx));
}
