// What goes wrong between processes, as an exception of this library.
#pragma once

#include <stdexcept>
#include <string>

namespace tl::distributed {

enum class FailureKind { kBackend, kNetwork, kStore };

// Becomes DistBackendError, DistNetworkError or DistStoreError in Python.
class Failure : public std::runtime_error {
 public:
  Failure(FailureKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  FailureKind kind() const { return kind_; }

 private:
  FailureKind kind_;
};

}  // namespace tl::distributed
