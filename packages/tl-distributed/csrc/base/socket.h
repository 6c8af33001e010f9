// Connections: owned descriptors, addresses, and calls that never block.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace tl::distributed {

// A file descriptor that this object closes.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int owned) : number_(owned) {}
  Descriptor(Descriptor&& o) noexcept : number_(std::exchange(o.number_, -1)) {}
  Descriptor& operator=(Descriptor&& o) noexcept {
    std::swap(number_, o.number_);
    return *this;
  }
  ~Descriptor();
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

// A socket that listens at a port of all addresses; 0 takes a free one. Failures name the port.
Descriptor listen_at(int port);
Descriptor listening_already(int owned);  // a socket that somebody made, as one of these
// Where a listening socket can be reached from this machine, and its port.
std::pair<std::string, int> own_address(int descriptor);
// A connection that neither blocks nor gathers small packets; tries again until the deadline.
Descriptor connect_to(const std::string& host, int port, int64_t deadline);
void make_quick(int descriptor);  // neither blocks nor gathers small packets

enum class Readiness { kRead, kWrite };
// Waits until it is ready or the deadline; false: the time is over. Looks for Ctrl-C.
bool await_ready(int descriptor, Readiness what, int64_t deadline);

// Bytes moved; 0: not now. Throws a Failure that says what the system said; an end is one too.
int64_t send_some(int descriptor, const char* data, int64_t bytes);
int64_t receive_some(int descriptor, char* data, int64_t most);

}  // namespace tl::distributed
