// Time that only goes forward, and how errors write it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>

namespace tl::distributed {

inline int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Nanoseconds as seconds: "0.05", "300".
inline std::string seconds_text(int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", static_cast<double>(ns) * 1e-9);
  return text;
}

// When something that may take that long from now on is over.
inline int64_t deadline_after(int64_t ns) {
  int64_t end;
  return __builtin_add_overflow(now_ns(), ns, &end) ? INT64_MAX : end;
}

}  // namespace tl::distributed
