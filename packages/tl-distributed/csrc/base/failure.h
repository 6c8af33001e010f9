// Failures between processes, as an exception of this library.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tl::distributed {

enum class FailureKind { kBackend, kNetwork, kStore };

// Becomes DistBackendError, DistNetworkError or DistStoreError in Python.
class Failure : public std::runtime_error {
 public:
  Failure(FailureKind kind, const std::string& message, std::vector<int64_t> missing_ranks = {})
      : std::runtime_error(message), kind_(kind), missing_ranks_(std::move(missing_ranks)) {}
  FailureKind kind() const { return kind_; }
  // Ranks in the world that did not arrive before a timeout.
  const std::vector<int64_t>& missing_ranks() const { return missing_ranks_; }

 private:
  FailureKind kind_;
  std::vector<int64_t> missing_ranks_;
};

}  // namespace tl::distributed
