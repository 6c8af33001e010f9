// The door: connections are accepted and known by whoever waits for one; no thread is needed.
#include "network/door.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/failure.h"
#include "tl/tl.hpp"

namespace tl::distributed {

namespace {
constexpr int64_t kAttempt = 400'000'000;
constexpr int64_t kHelloWithin = 5'000'000'000;
constexpr int kWait = 2;  // milliseconds

// Takes as long for every wrong token.
bool is_equal(const char* shown, const std::string& token) {
  unsigned difference = 0;
  for (size_t i = 0; i < token.size(); ++i)
    difference |= static_cast<unsigned char>(shown[i]) ^ static_cast<unsigned char>(token[i]);
  return difference == 0;
}
}  // namespace

Descriptor Door::reach(int rank, LinkKind kind, int64_t deadline, const std::function<void()>& check) const {
  const Address& address = addresses_[static_cast<size_t>(rank)];
  Hello hello{rank_, kind, {}};
  std::memcpy(hello.token, token_.data(), std::min(token_.size(), kTokenBytes));
  while (true) {
    check();
    try {
      Descriptor link = connect_to(address.host, address.port, std::min(deadline, now_ns() + kAttempt));
      // The buffer of a new connection has room for it.
      send_some(link.get(), reinterpret_cast<const char*>(&hello), sizeof hello);
      return link;
    } catch (const Failure&) {
      check();
      if (now_ns() >= deadline) throw;
    }
  }
}

Descriptor Door::take(int rank, LinkKind kind) {
  std::lock_guard lock(mutex_);
  let_in();
  for (auto visitor = visitors_.begin(); visitor != visitors_.end(); ++visitor) {
    if (!visitor->is_known || visitor->hello.rank != rank || visitor->hello.kind != kind) continue;
    Descriptor link = std::move(visitor->link);
    visitors_.erase(visitor);
    return link;
  }
  return {};
}

void Door::await() const {
  pollfd watched = {listener_.get(), POLLIN, 0};
  poll(&watched, 1, kWait);
}

void Door::let_in() {
  while (true) {
    Descriptor link(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!link) {
      if (errno == EMFILE || errno == ENFILE)
        throw Failure(FailureKind::kBackend, std::string("a connection of another rank is refused: ") +
                                                 std::strerror(errno) +
                                                 "; raise the limit of open files (ulimit -n)");
      break;
    }
    make_quick(link.get());
    visitors_.push_back({std::move(link), now_ns() + kHelloWithin, {}});
  }
  visitors_.remove_if([this](Visitor& visitor) { return !visitor.is_known && !listen(visitor); });
}

// False: this is no rank of the group.
bool Door::listen(Visitor& visitor) const {
  try {
    const int64_t got =
        receive_some(visitor.link.get(), reinterpret_cast<char*>(&visitor.hello) + visitor.bytes,
                     static_cast<int64_t>(sizeof visitor.hello) - visitor.bytes);
    visitor.bytes += got;
  } catch (const Failure&) {
    return false;
  }
  if (visitor.bytes < static_cast<int64_t>(sizeof visitor.hello)) return now_ns() < visitor.until;
  visitor.is_known = true;
  return token_.size() == kTokenBytes && is_equal(visitor.hello.token, token_);
}

}  // namespace tl::distributed
