// The waits of an exchange: a slice at a time, with a look at failures, Ctrl-C and the deadline.
#include "network/exchange.h"

#include <algorithm>

#include "base/clock.h"
#include "tl/tl.hpp"

namespace tl::distributed {

void Exchange::compare(const FrameHeader& header, int peer, int64_t bytes) const {
  if (!header.call.agrees(call_)) mesh_.disagree(mesh_.rank(), call_, peer, header.call);
  if (header.bytes != bytes) mesh_.refuse_sizes(call_, peer, mesh_.rank(), header.bytes, bytes);
}

bool Exchange::wait(std::vector<pollfd>& watched) {
  const int64_t end = mesh_.end_of(deadline_);
  const int64_t left = std::clamp<int64_t>(end - now_ns(), 0, mesh_.slice());
  const timespec time = {0, static_cast<long>(left)};
  mesh_.note_absence(true);
  const int ready = ppoll(watched.data(), watched.size(), &time, nullptr);
  if (watched.back().revents || ready <= 0) mesh_.check_failed(text_of(call_));
  if (ready > 0) return true;
  if (deadline_.interruptible && api().interrupted()) mesh_.interrupted(text_of(call_));
  if (now_ns() >= end) time_out();
  for (pollfd& each : watched) each.revents = 0;
  return false;
}

void Exchange::time_out() const {
  const std::vector<int> senders = missing(Way::kIn);
  mesh_.time_out(senders.empty() ? missing(Way::kOut) : senders, call_, deadline_);
}

}  // namespace tl::distributed
