// Anomaly detection: nodes remember where they were made, and the backward looks for NaN.
#pragma once

#include <atomic>

#include "node.h"
#include "origin.h"

namespace tl::autograd {

extern std::atomic<bool> g_anomaly, g_anomaly_nan;

void remember_origin(Node& node);                     // keeps the Python stack in the node's metadata
void explain_failure(Node& node);                     // warns with that stack; the pending error stays
void refuse_nan(Node& node, TlTensor* const* grads);  // raises if a gradient holds NaN

inline void note_origin(Node& node) {
  if (g_anomaly.load(std::memory_order_relaxed)) [[unlikely]]
    remember_origin(node);
}

// Runs the node; errors say whose derivative failed.
inline void apply_node(Node& node, const GradientsIn& in, TlTensor** out) {
  try {
    node.apply(in, out);
    if (g_anomaly.load(std::memory_order_relaxed) && g_anomaly_nan.load(std::memory_order_relaxed))
        [[unlikely]]
      refuse_nan(node, out);
  } catch (const Pending&) {
    if (g_anomaly.load(std::memory_order_relaxed)) explain_failure(node);
    name_failing(node);
    throw;
  }
}

}  // namespace tl::autograd
