// The structures of DLPack 1.x.
#pragma once

#include <cstdint>

namespace tl::bind {

struct DlDevice {
  int32_t type;
  int32_t index;
};
struct DlDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  int32_t ndim;
  DlDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; NULL: dense rows
  uint64_t byte_offset;
};
struct DlUnversioned {
  DlTensor tensor;
  void* ctx;
  void (*deleter)(DlUnversioned* self);
};
struct DlVersioned {
  uint32_t major, minor;
  void* ctx;
  void (*deleter)(DlVersioned* self);
  uint64_t flags;
  DlTensor tensor;
};

// The functions that a class of tensors has in C, since 1.2: readers in C need no capsule and no attribute of
// the tensor. Those that return an int return 0, or -1 with an exception of Python.
struct DlExchange {
  uint32_t major, minor;
  DlExchange* previous;  // of an older major version; NULL: none
  // Needs no interpreter: errors go to `set_error`.
  int (*allocate)(DlTensor* prototype, DlVersioned** out, void* error_ctx,
                  void (*set_error)(void* error_ctx, const char* kind, const char* message));
  int (*from_object)(void* object, DlVersioned** out);  // owned
  int (*to_object)(DlVersioned* managed, void** out);   // takes the memory over
  int (*describe)(void* object, DlTensor* out);         // borrowed from the object
  int (*stream)(int32_t device_type, int32_t device_index, void** out);
};

}  // namespace tl::bind
