// The devices other libraries brought: their allocators and copies. Constant after registration, so reads
// take no lock.
#pragma once

#include <cstddef>

#include "base/device.h"
#include "tl/c_api.h"

namespace tl {

struct DeviceEntry {
  TlDeviceDef def;
  std::string name;
  DeviceType type;

  void* allocate(int index, size_t bytes) const;
  void free(void* data, size_t bytes) const;
  void copy_to_host(int index, void* host, const void* device, size_t bytes) const;
  void copy_from_host(int index, void* device, const void* host, size_t bytes) const;
  void copy_within(int index, void* to, const void* from, size_t bytes) const;
};

const DeviceEntry& device_entry(DeviceType type);  // raises if no library registered it
// Raises PyTorch's error for 'cuda', which is no kind of error of the C interface.
using DeviceRefusal = void (*)(const char* message);
void set_cuda_refusal(DeviceRefusal refuse);
bool device_registered(DeviceType type);
bool has_row(DeviceType type);  // whether it has kernels; the reference's other types have a name alone
DeviceType register_device(const TlDeviceDef& def);
// Names PyTorch's type `privateuseone`, once a process. It means the plug-in of that name, if there is one.
void name_private_device(const std::string& name);
std::string private_device_name();

}  // namespace tl
