// Point-to-point over TCP: bytes moved without blocking on a connection for each pair of ranks.
#include "group/network_mail.h"

#include <poll.h>

#include "base/failure.h"

namespace tl::distributed {

// The end of a connection is stored, and raised when a message of that rank is awaited.
template <class F>
int64_t NetworkMail::unless_ended(int rank, F&& body) {
  std::string& ended = ended_[static_cast<size_t>(rank)];
  if (!ended.empty()) return 0;
  try {
    return body(mesh_.mail(rank).get());
  } catch (const Failure& failure) {
    ended = failure.what();
    return 0;
  }
}

int64_t NetworkMail::read(int from, char* to, int64_t most) {
  return most == 0 ? 0 : unless_ended(from, [&](int link) { return receive_some(link, to, most); });
}

int64_t NetworkMail::write(int to, const char* from, int64_t most) {
  return most == 0 ? 0 : unless_ended(to, [&](int link) { return send_some(link, from, most); });
}

void NetworkMail::check_peer(int rank, const Call& call) {
  const std::string& ended = ended_[static_cast<size_t>(rank)];
  if (!ended.empty()) mesh_.lost(rank, text_of(call), ended);
}

void NetworkMail::await(uint32_t, const std::vector<int>& readable, const std::vector<int>& writable,
                        int64_t ns) {
  std::vector<pollfd> watched = {{mesh_.alarm(), POLLIN, 0}};
  for (int rank : readable) watched.push_back({mesh_.mail(rank).get(), POLLIN, 0});
  for (int rank : writable) watched.push_back({mesh_.mail(rank).get(), POLLOUT, 0});
  const timespec time = {0, static_cast<long>(ns)};
  ppoll(watched.data(), watched.size(), &time, nullptr);
}

}  // namespace tl::distributed
