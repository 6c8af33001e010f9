// What happens to a call whose device has no kernel for the operator.
#pragma once

#include "dispatch/operator.h"

namespace tl {

// Runs on the CPU by copying there and back if the device asked for that; otherwise says that the kernel is
// missing.
int run_without_kernel(const Operator& op, DeviceType device, const TlValue* args, int n_args, TlValue* rets,
                       int n_rets) noexcept;

// The call on the CPU, with copies of the device's tensors; what it wrote and made goes to the device.
int call_on_host(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept;

// A copy of `t` on another device, element for element.
Tensor to_device(const Tensor& t, Device device);
// Copies the elements of `src`, broadcast and converted, into `dst` on another device.
void copy_across(const Tensor& dst, const Tensor& src);

}  // namespace tl
