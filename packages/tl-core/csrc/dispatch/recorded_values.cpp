// Compact records of arguments: a word for the kind, then sizes, strides and numbers; long lists are cut off.
#include "dispatch/recorded_values.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "dispatch/tensors.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
using Head = RecordedValues::Head;
static_assert(sizeof(Head) == sizeof(int64_t));
constexpr uint32_t kMostNumbers = 64;  // of a list; lists of tensors are whole

uint32_t retained(const TlValue& v) {
  switch (v.tag) {
    case TL_BOOL_LIST:
    case TL_INT_LIST:
    case TL_FLOAT_LIST:
    case TL_SCALAR_LIST:
    case TL_STRING_LIST:
      return std::min(v.len, kMostNumbers);
    case TL_STRING:
      return std::min<uint32_t>(v.len, 256);
    default:
      return v.len;
  }
}

size_t words_of_bytes(size_t bytes) { return (bytes + 7) / 8; }

// Those of a fresh tensor are found again from the sizes.
constexpr uint8_t kContiguous = 0x80;  // in `layout`
bool keeps_strides(const TensorImpl& t) {
  return t.layout == Layout::Strided && !t.has(TensorImpl::Contiguous);
}

size_t words(const TensorImpl* t) {
  return t ? 3 + static_cast<size_t>(t->ndim) * (keeps_strides(*t) ? 2 : 1) : 1;
}

// The words of eight bytes that a value takes; long lists and texts are cut off.
size_t words(const TlValue& v) {
  size_t n = 1;
  switch (v.tag) {
    case TL_NONE:
      return 1;
    case TL_COMPLEX:
      return 3;
    case TL_TENSOR:
      return words(reinterpret_cast<const TensorImpl*>(v.u.t));
    case TL_TENSOR_LIST:
      for (const TensorImpl* t : tensors_of(v)) n += words(t);
      return n;
    case TL_SCALAR_LIST:
    case TL_STRING_LIST:
      for (uint32_t i = 0; i < retained(v); ++i) n += words(static_cast<const TlValue*>(v.u.p)[i]);
      return n;
    case TL_STRING:
    case TL_BOOL_LIST:
      return 1 + words_of_bytes(retained(v));
    case TL_INT_LIST:
    case TL_FLOAT_LIST:
      return 1 + retained(v);
    default:
      return 2;
  }
}

class Writer {
 public:
  explicit Writer(char* to) : at_(reinterpret_cast<int64_t*>(to)) {}

  void value(const TlValue& v) {
    switch (v.tag) {
      case TL_TENSOR:
        return tensor(reinterpret_cast<const TensorImpl*>(v.u.t));
      case TL_TENSOR_LIST:
        head(v);
        for (const TensorImpl* t : tensors_of(v)) tensor(t);
        return;
      case TL_SCALAR_LIST:
      case TL_STRING_LIST:
        head(v);
        for (uint32_t i = 0; i < retained(v); ++i) value(static_cast<const TlValue*>(v.u.p)[i]);
        return;
      default:
        head(v);
        plain(v);
    }
  }

 private:
  void head(const TlValue& v) {
    word(std::bit_cast<int64_t>(Head{static_cast<uint8_t>(v.tag), 0, 0, 0, retained(v)}));
  }
  void word(int64_t w) { *at_++ = w; }
  void word(const void* p) { word(static_cast<int64_t>(reinterpret_cast<intptr_t>(p))); }
  void bytes(const void* from, size_t n) {
    if (n) std::memcpy(at_, from, n);
    at_ += words_of_bytes(n);
  }

  void plain(const TlValue& v) {
    switch (v.tag) {
      case TL_NONE:
        return;
      case TL_COMPLEX:
        return bytes(v.u.p, 2 * sizeof(double));
      case TL_STRING:
      case TL_BOOL_LIST:
        return bytes(v.u.p, retained(v));
      case TL_INT_LIST:
      case TL_FLOAT_LIST:
        return bytes(v.u.p, retained(v) * sizeof(int64_t));
      default:
        word(v.u.i);
    }
  }

  void tensor(const TensorImpl* t) {
    if (!t) return word(std::bit_cast<int64_t>(Head{TL_NONE, 0, 0, 0, 0}));
    const bool contiguous = t->layout == Layout::Strided && t->has(TensorImpl::Contiguous);
    Head head{TL_TENSOR, t->ndim, static_cast<uint8_t>(t->layout), static_cast<uint8_t>(t->dtype), 0};
    if (contiguous) head.layout |= kContiguous;
    head.len = static_cast<uint32_t>(t->device.type) |
               static_cast<uint32_t>(static_cast<uint8_t>(t->device.index)) << 8;
    word(std::bit_cast<int64_t>(head));
    word(t);
    word(t->storage ? t->storage->data : nullptr);
    for (const int64_t n : t->sizes()) word(n);
    if (keeps_strides(*t))
      for (const int64_t n : t->strides()) word(n);
  }

  int64_t* at_;
};
}  // namespace

size_t recorded_bytes(const TlValue* values, int n) {
  size_t total = 0;
  for (int i = 0; i < n; ++i) total += words(values[i]);
  return total * sizeof(int64_t);
}

void record_values(const TlValue* values, int n, char* to) {
  Writer writer(to);
  for (int i = 0; i < n; ++i) writer.value(values[i]);
}

// ---- reading ----------------------------------------------------------------------------------------------
Head RecordedValues::next_head() { return std::bit_cast<Head>(*at_++); }

RecordedTensor RecordedValues::tensor(const Head& head) {
  const auto pointer = [&] { return reinterpret_cast<const void*>(static_cast<intptr_t>(*at_++)); };
  RecordedTensor t;
  t.impl = pointer();
  t.memory = pointer();
  t.dtype = static_cast<DType>(head.dtype);
  t.device = {static_cast<DeviceType>(head.len & 0xff), static_cast<int8_t>(head.len >> 8 & 0xff)};
  t.layout = static_cast<Layout>(head.layout & ~kContiguous);
  t.sizes = {at_, head.ndim};
  at_ += head.ndim;
  if (head.layout & kContiguous) {
    t.strides = contiguous_strides(t.sizes);
  } else if (t.layout == Layout::Strided) {
    t.strides = DimVector(IntSpan{at_, head.ndim});
    at_ += head.ndim;
  }
  return t;
}

double RecordedValues::number() { return std::bit_cast<double>(*at_++); }

std::string_view RecordedValues::text(const Head& head) {
  const std::string_view bytes(reinterpret_cast<const char*>(at_), head.len);
  at_ += words_of_bytes(head.len);
  return bytes;
}

}  // namespace tl
