// The store's server: one thread with epoll over all connections, requests served as their bytes arrive.
#include "store/server.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "base/failure.h"
#include "base/forks.h"

namespace tl::distributed {

namespace {
constexpr size_t kAtOnce = 1 << 18;  // bytes taken from a client before the others have their turn

void watch(int events, int operation, int descriptor, uint32_t what, void* whom) {
  epoll_event event{};
  event.events = what;
  event.data.ptr = whom;
  epoll_ctl(events, operation, descriptor, &event);
}
}  // namespace

StoreServer::StoreServer(Descriptor listening)
    : listening_(std::move(listening)),
      events_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC)),
      forks_(fork_count()),
      room_(kAtOnce) {
  if (!events_ || !wake_)
    throw Failure(FailureKind::kNetwork, std::string("no room for a server: ") + std::strerror(errno));
  std::tie(host_, port_) = own_address(listening_.get());
  watch(events_.get(), EPOLL_CTL_ADD, listening_.get(), EPOLLIN, &listening_);
  watch(events_.get(), EPOLL_CTL_ADD, wake_.get(), EPOLLIN, &wake_);
  thread_ = std::thread([this] { work(); });
}

StoreServer::~StoreServer() {
  if (fork_count() != forks_) {  // the thread stayed in the parent
    thread_.detach();
    return;
  }
  const uint64_t one = 1;
  static_cast<void>(!write(wake_.get(), &one, sizeof one));
  thread_.join();
}

void StoreServer::work() {
  std::array<epoll_event, 64> happened;
  while (true) {
    const int n = epoll_wait(events_.get(), happened.data(), static_cast<int>(happened.size()), -1);
    for (int i = 0; i < n; ++i) {
      void* whom = happened[static_cast<size_t>(i)].data.ptr;
      if (whom == &wake_) return;
      if (whom == &listening_) {
        accept_all();
        continue;
      }
      const auto found = clients_.find(static_cast<Session*>(whom));
      if (found == clients_.end()) continue;  // dropped a moment ago
      serve(*found->second, happened[static_cast<size_t>(i)].events);
    }
  }
}

void StoreServer::accept_all() {
  while (true) {
    Descriptor link(accept4(listening_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!link) {
      if (errno == EMFILE || errno == ENFILE)
        usleep(1000);  // until a client leaves; others are served meanwhile
      return;
    }
    make_quick(link.get());
    auto client = std::make_unique<Client>();
    client->link = std::move(link);
    Session* key = client.get();
    watch(events_.get(), EPOLL_CTL_ADD, client->link.get(), EPOLLIN, key);
    clients_.emplace(key, std::move(client));
  }
}

void StoreServer::serve(Client& client, uint32_t events) {
  bool is_there = true;
  try {
    if (events & EPOLLOUT) send(client);
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) is_there = receive(client);
    if (is_there) send(client);
  } catch (const Failure&) {
    is_there = false;
  } catch (const Malformed&) {
    is_there = false;
  } catch (const std::bad_alloc&) {
    is_there = false;
  }
  if (!is_there) drop(client);
  for (Session* session : table_.take_notified()) {
    const auto found = clients_.find(session);
    if (found == clients_.end()) continue;
    try {
      send(*found->second);
    } catch (const Failure&) {
      drop(*found->second);
    }
  }
}

// Whether it may have more to say.
bool StoreServer::receive(Client& client) {
  int64_t got = 0;
  try {
    got = receive_some(client.link.get(), room_.data(), static_cast<int64_t>(room_.size()));
  } catch (const Failure&) {
    return false;
  }
  client.received.append(room_.data(), static_cast<size_t>(got));
  table_.serve(client);
  return true;
}

void StoreServer::send(Client& client) {
  size_t sent = 0;
  while (sent < client.outgoing.size()) {
    const int64_t done = send_some(client.link.get(), client.outgoing.data() + sent,
                                   static_cast<int64_t>(client.outgoing.size() - sent));
    if (done == 0) break;
    sent += static_cast<size_t>(done);
  }
  client.outgoing.erase(0, sent);
  if (client.awaits_room == !client.outgoing.empty()) return;
  client.awaits_room = !client.outgoing.empty();
  Session* key = &client;
  watch(events_.get(), EPOLL_CTL_MOD, client.link.get(), EPOLLIN | (client.awaits_room ? EPOLLOUT : 0u), key);
}

void StoreServer::drop(Client& client) {
  table_.forget(client);
  clients_.erase(&client);
}

}  // namespace tl::distributed
