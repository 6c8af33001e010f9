// TCP sockets: non-blocking, without Nagle's delay, addresses tried in the order of getaddrinfo.
#include "base/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/clock.h"
#include "base/failure.h"
#include "tl/tl.hpp"

namespace tl::distributed {

namespace {
constexpr int kBacklog = 4096;
constexpr int64_t kSlice = 100'000'000;  // after which a wait looks for Ctrl-C
constexpr int kTryAgain = 20'000;        // microseconds

[[noreturn]] void fail(const std::string& what, int number = errno) {
  throw Failure(FailureKind::kNetwork, what + ": " + std::strerror(number));
}

void set_option(int descriptor, int level, int option, int value) {
  setsockopt(descriptor, level, option, &value, sizeof value);
}

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses look_up(const std::string& host, int port, std::string& why) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  const int status = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (status != 0) why = gai_strerror(status);
  return {status == 0 ? found : nullptr, [](addrinfo* a) {
            if (a) freeaddrinfo(a);
          }};
}

// A connection to a local port where nobody listens may get that port itself, and then be its own other side.
bool is_to_itself(int descriptor) {
  sockaddr_storage here{}, there{};
  socklen_t size = sizeof here, other = sizeof there;
  return getsockname(descriptor, reinterpret_cast<sockaddr*>(&here), &size) == 0 &&
         getpeername(descriptor, reinterpret_cast<sockaddr*>(&there), &other) == 0 && size == other &&
         std::memcmp(&here, &there, size) == 0;
}

// None: it says why not.
Descriptor try_address(const addrinfo& address, int64_t deadline, std::string& why) {
  Descriptor made(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) fail("socket");
  int error = 0;
  if (connect(made.get(), address.ai_addr, address.ai_addrlen) != 0) {
    error = errno;
    if (error == EINPROGRESS) {
      if (!await_ready(made.get(), Readiness::kWrite, deadline)) {
        why = "no answer";
        return {};
      }
      socklen_t size = sizeof error;
      getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  if (error == 0 && is_to_itself(made.get())) error = ECONNREFUSED;
  if (error == 0) return made;
  why = std::strerror(error);
  return {};
}
}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Descriptor listen_at(int port) {
  int family = AF_INET6;
  Descriptor made(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) {  // a machine without IPv6
    family = AF_INET;
    made = Descriptor(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  }
  if (!made) fail("socket");
  set_option(made.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  sockaddr_in6 six{};
  sockaddr_in four{};
  six.sin6_family = AF_INET6, four.sin_family = AF_INET;
  six.sin6_port = four.sin_port = htons(static_cast<uint16_t>(port));
  if (family == AF_INET6) set_option(made.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  const bool is_six = family == AF_INET6;
  const sockaddr* address = is_six ? reinterpret_cast<sockaddr*>(&six) : reinterpret_cast<sockaddr*>(&four);
  if (bind(made.get(), address, is_six ? sizeof six : sizeof four) != 0 || listen(made.get(), kBacklog) != 0)
    fail("cannot listen on port " + std::to_string(port));
  return made;
}

Descriptor listening_already(int owned) {
  Descriptor made(owned);
  if (fcntl(owned, F_SETFL, fcntl(owned, F_GETFL) | O_NONBLOCK) != 0 || listen(owned, kBacklog) != 0)
    fail("cannot listen on descriptor " + std::to_string(owned));
  return made;
}

std::pair<std::string, int> own_address(int descriptor) {
  sockaddr_storage found{};
  socklen_t size = sizeof found;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&found), &size) != 0) fail("getsockname");
  char text[INET6_ADDRSTRLEN] = "";
  if (found.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(found);
    inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof text);
    return {IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr) ? "127.0.0.1" : text, ntohs(six.sin6_port)};
  }
  const auto& four = reinterpret_cast<const sockaddr_in&>(found);
  inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
  return {four.sin_addr.s_addr == INADDR_ANY ? "127.0.0.1" : text, ntohs(four.sin_port)};
}

Descriptor connect_to(const std::string& host, int port, int64_t deadline) {
  std::string why = "no answer";
  while (true) {
    const Addresses addresses = look_up(host, port, why);
    for (const addrinfo* a = addresses.get(); a; a = a->ai_next) {
      Descriptor made = try_address(*a, deadline, why);
      if (!made) continue;
      make_quick(made.get());
      return made;
    }
    if (now_ns() >= deadline) throw Failure(FailureKind::kNetwork, why);
    usleep(kTryAgain);
    if (api().interrupted()) throw Pending();
  }
}

void make_quick(int descriptor) { set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1); }

bool await_ready(int descriptor, Readiness what, int64_t deadline) {
  pollfd watched = {descriptor, static_cast<short>(what == Readiness::kRead ? POLLIN : POLLOUT), 0};
  while (true) {
    const int64_t left = std::max<int64_t>(deadline - now_ns(), 0), slice = std::min(left, kSlice);
    const timespec time = {0, static_cast<long>(slice)};
    if (ppoll(&watched, 1, &time, nullptr) > 0) return true;
    if (api().interrupted()) throw Pending();
    if (left == 0) return false;
  }
}

int64_t send_some(int descriptor, const char* data, int64_t bytes) {
  const ssize_t sent = send(descriptor, data, static_cast<size_t>(bytes), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return sent;
  if (errno == EAGAIN || errno == EINTR) return 0;
  fail("the other side does not take more");
}

int64_t receive_some(int descriptor, char* data, int64_t most) {
  const ssize_t got = recv(descriptor, data, static_cast<size_t>(most), MSG_DONTWAIT);
  if (got > 0) return got;
  if (got == 0)
    throw Failure(FailureKind::kNetwork, "closed by the other side, whose process may have ended");
  if (errno == EAGAIN || errno == EINTR) return 0;
  fail("the other side is lost");
}

}  // namespace tl::distributed
