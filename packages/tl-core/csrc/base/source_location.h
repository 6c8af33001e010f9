// Where in a program memory was asked for: the line, and the scope (a module's path) that it ran in.
#pragma once

#include <cstdint>
#include <string>

namespace tl {

struct Origin {
  std::string scope;  // "" outside every scope
  std::string file;   // "" where no line of the program is known
  std::string function;
  int line = 0;

  bool operator==(const Origin&) const = default;
};

// A number for each origin that was ever seen; 0 is the unknown one.
using OriginId = uint32_t;
OriginId intern_origin(const Origin& origin);
Origin origin_of(OriginId id);

// What the language binding lends: the origin of the line that is running, 0 if the thread may not ask.
void set_origin_source(OriginId (*source)());
OriginId current_origin() noexcept;

// The calling thread's origin while it works without the runtime's lock; helpers of its parallel work
// inherit it.
class OriginScope {
 public:
  explicit OriginScope(OriginId id);
  ~OriginScope();
  OriginScope(const OriginScope&) = delete;

 private:
  OriginId before_;
};

// The scope that the thread's allocations count for: what modules set while memory is recorded.
void set_memory_scope(const std::string& scope);
const std::string& memory_scope();

}  // namespace tl
