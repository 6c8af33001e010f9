// libucp: found at run time, and its functions.
#pragma once

#include <string>
#include <vector>

#include "ucx/api.h"

namespace tl::distributed {

class UcxLibrary {
 public:
  // The library at a path, or of a name that the system finds. It stays loaded: it has threads of its own.
  // Throws a Failure that says why it cannot be used.
  static const UcxLibrary& load(const std::string& path);

  const ucx::Functions& functions() const { return functions_; }
  const std::string& version() const { return version_; }
  std::string path() const;  // where the system found it
  // What it can use on this machine, as "transport/device".
  std::vector<std::string> resources() const;
  ucx::Context context() const;  // a new one
  void check(ucx::Status status, const char* what) const;

 private:
  explicit UcxLibrary(const std::string& path);
  void be_quiet() const;

  void* handle_;
  ucx::Functions functions_{};
  std::string version_;
};

}  // namespace tl::distributed
