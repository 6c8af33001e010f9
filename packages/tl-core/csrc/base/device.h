// Where a tensor lives. Device types index the dispatch tables, so they are small and dense.
#pragma once

#include <cstdint>
#include <string>

namespace tl {

enum class DeviceType : uint8_t { CPU = 0, Meta = 1, CUDA = 2, Extension0 = 3 };
inline constexpr int kNumDeviceTypes = 11;  // CPU, meta, CUDA and eight extensions

struct Device {
  DeviceType type = DeviceType::CPU;
  int8_t index = -1;  // -1: the type's only or current device

  bool operator==(const Device&) const = default;
  bool is_cpu() const { return type == DeviceType::CPU; }
  bool is_meta() const { return type == DeviceType::Meta; }
};

std::string device_name(DeviceType type);
std::string device_name(Device device);        // "cpu", "toy:0"
Device parse_device(const std::string& text);  // raises RuntimeError for names nobody registered

int64_t device_to_abi(Device device);  // TL_DEVICE_OF
Device device_from_abi(int64_t code);  // raises for codes no device has
int device_row(
    int64_t code) noexcept;     // the device type's place in the dispatch tables; -1: no device has the code
Device settled(Device device);  // as tensors report it: extensions with an index, the CPU without

}  // namespace tl
