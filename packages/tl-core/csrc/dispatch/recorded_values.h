// Arguments and results as an event keeps them: what tensors look like, not what is in them.
#pragma once

#include <string_view>

#include "dispatch/value.h"

namespace tl {

size_t recorded_bytes(const TlValue* values, int n);
void record_values(const TlValue* values, int n, char* to);

// Reads them back, one behind the other.
struct RecordedTensor {
  const void *impl, *memory;  // where the storage's memory begins
  DType dtype;
  Device device;
  Layout layout;
  IntSpan sizes;
  DimVector strides;  // none where the layout has no strides
};
class RecordedValues {
 public:
  explicit RecordedValues(const char* at) : at_(reinterpret_cast<const int64_t*>(at)) {}

  struct Head {
    uint8_t tag;
    uint8_t ndim, layout, dtype;  // of a tensor; its device stands in `len`
    uint32_t len;
  };
  Head next_head();
  RecordedTensor tensor(const Head& head);
  int64_t integer() { return *at_++; }
  double number();
  std::string_view text(const Head& head);  // strings, and lists of bools a byte each

 private:
  const int64_t* at_;
};

}  // namespace tl
