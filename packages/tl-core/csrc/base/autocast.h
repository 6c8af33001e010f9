// In which type the operators of a thread run that choose it for themselves.
#pragma once

#include <array>

#include "base/device.h"
#include "base/dtype.h"

namespace tl {

struct AutocastState {
  uint32_t on = 0;  // a bit for each type of device
  bool caches = true;
  std::array<DType, kNumDeviceTypes> types;  // the lower types

  constexpr AutocastState() {
    types.fill(DType::Float16);
    types[static_cast<size_t>(DeviceType::CPU)] = DType::BFloat16;
  }
  bool is_on(DeviceType device) const { return on >> static_cast<int>(device) & 1; }
};
static_assert(kNumDeviceTypes <= 32);

}  // namespace tl
