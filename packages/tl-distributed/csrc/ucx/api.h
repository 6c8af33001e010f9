// The part of UCP's interface, version 1.10, that this package calls. The structures begin as the library's
// do. A mask says which fields count, so a newer library reads no more than these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace tl::distributed::ucx {

inline constexpr unsigned kMajor = 1, kMinor = 10;

using Status = int8_t;  // errors are negative
inline constexpr Status kOk = 0, kInProgress = 1, kErrorBusy = -15, kErrorLast = -100;

using Context = struct OpaqueContext*;
using Worker = struct OpaqueWorker*;
using Endpoint = struct OpaqueEndpoint*;
using Config = struct OpaqueConfig*;
using Address = struct OpaqueAddress*;

struct ContextParams {
  static constexpr uint64_t kFeatures = 1 << 0;
  static constexpr uint64_t kTag = 1 << 0, kWakeup = 1 << 4;  // features
  uint64_t field_mask;
  uint64_t features;
  char rest[112];
};
struct WorkerParams {
  static constexpr uint64_t kThreadMode = 1 << 0;
  static constexpr int kSerialized = 1;
  uint64_t field_mask;
  int thread_mode;
  char rest[244];
};
struct WorkerAttributes {
  static constexpr uint64_t kAddress = 1 << 1;
  uint64_t field_mask;
  int thread_mode;
  uint32_t address_flags;
  Address address;
  size_t address_length;
  char rest[128];
};
using ErrorCallback = void (*)(void* ctx, Endpoint endpoint, Status status);
struct EndpointParams {
  static constexpr uint64_t kRemoteAddress = 1 << 0, kErrorMode = 1 << 1, kErrorHandler = 1 << 2;
  static constexpr int kErrorModePeer = 1;
  uint64_t field_mask;
  const void* address;
  int error_mode;
  ErrorCallback on_error;
  void* on_error_ctx;
  char rest[112];
};
struct RequestParams {
  static constexpr uint32_t kDatatype = 1 << 3, kFlags = 1 << 4, kMemoryType = 1 << 6;
  static constexpr uint32_t kCloseForce = 1 << 0;  // a flag
  uint32_t attribute_mask;
  uint32_t flags;
  void* request;
  void (*callback)();
  uint64_t datatype;
  void* user_data;
  void* reply_buffer;
  int memory_type;  // 0: of the host
  char rest[96];
};
inline constexpr uint64_t kBytes = 1 << 3;  // a datatype: contiguous elements of one byte
inline constexpr uint64_t kVectors = 2;     // a datatype: an array of Vector
struct Vector {
  void* data;
  size_t bytes;
};

// An operation that is over is a status in place of a pointer.
inline bool is_pointer(const void* request) {
  return reinterpret_cast<uintptr_t>(request) - 1 < static_cast<uintptr_t>(int64_t{kErrorLast}) - 1;
}
inline Status status_of(const void* request) {
  return is_pointer(request) ? kInProgress : static_cast<Status>(reinterpret_cast<intptr_t>(request));
}

// The library's functions, by their names without "ucp_".
struct Functions {
  void (*get_version)(unsigned* major, unsigned* minor, unsigned* release);
  Status (*config_read)(const char* prefix, const char* file, Config* config);
  void (*config_release)(Config config);
  Status (*init_version)(unsigned major, unsigned minor, const ContextParams* params, Config config,
                         Context* context);
  void (*cleanup)(Context context);
  void (*context_print_info)(Context context, FILE* stream);
  Status (*worker_create)(Context context, const WorkerParams* params, Worker* worker);
  void (*worker_destroy)(Worker worker);
  Status (*worker_query)(Worker worker, WorkerAttributes* attributes);
  void (*worker_release_address)(Worker worker, Address address);
  unsigned (*worker_progress)(Worker worker);
  Status (*worker_get_efd)(Worker worker, int* descriptor);
  Status (*worker_arm)(Worker worker);
  Status (*ep_create)(Worker worker, const EndpointParams* params, Endpoint* endpoint);
  void* (*ep_close_nbx)(Endpoint endpoint, const RequestParams* params);
  void* (*tag_send_nbx)(Endpoint endpoint, const void* data, size_t count, uint64_t tag,
                        const RequestParams* params);
  void* (*tag_recv_nbx)(Worker worker, void* data, size_t count, uint64_t tag, uint64_t mask,
                        const RequestParams* params);
  Status (*request_check_status)(void* request);
  void (*request_free)(void* request);
  const char* (*status_string)(Status status);  // of libucs
};

}  // namespace tl::distributed::ucx
