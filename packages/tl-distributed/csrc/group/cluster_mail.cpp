// Messages between machines: bytes moved without blocking on connections that are made when first needed.
#include "group/cluster_mail.h"

#include <poll.h>

#include <algorithm>

#include "base/clock.h"
#include "base/failure.h"

namespace tl::distributed {

namespace {
constexpr int64_t kReachWithin = 10'000'000'000;
constexpr int64_t kShortWait = 200'000;  // nanoseconds: neighbours write to memory meanwhile
constexpr int64_t kHelloWait = 1'000'000;
}  // namespace

ClusterMail::ClusterMail(Cluster& cluster)
    : cluster_(cluster), local_(cluster.segment()), links_(static_cast<size_t>(cluster.size())) {}

// The end of a connection is stored, and raised when a message of that rank is awaited.
template <class F>
int64_t ClusterMail::unless_ended(Links& links, F&& body) {
  if (!links.end.empty()) return 0;
  try {
    return body();
  } catch (const Failure& failure) {
    if (failure.kind() != FailureKind::kNetwork) throw;
    links.end = failure.what();
    return 0;
  }
}

int64_t ClusterMail::read(int from, char* to, int64_t most) {
  if (is_here(from)) return local_.read(number(from), to, most);
  Links& peer = links(from);
  if (most == 0) return 0;
  if (!peer.in) peer.in = cluster_.door().take(from, LinkKind::kMail);
  return peer.in ? unless_ended(peer, [&] { return receive_some(peer.in.get(), to, most); }) : 0;
}

int64_t ClusterMail::write(int to, const char* from, int64_t most) {
  if (is_here(to)) return local_.write(number(to), from, most);
  Links& peer = links(to);
  if (most == 0) return 0;
  return unless_ended(peer, [&] {
    if (!peer.out)
      peer.out = cluster_.door().reach(to, LinkKind::kMail, now_ns() + kReachWithin,
                                       [this] { cluster_.check_failed("a message"); });
    return send_some(peer.out.get(), from, most);
  });
}

void ClusterMail::check_peer(int rank, const Call& call) {
  if (is_here(rank)) return local_.check_peer(number(rank), call);
  const std::string& end = links(rank).end;
  if (end.empty()) return;
  cluster_.await_failure(rank);
  cluster_.check_failed(text_of(call));
  cluster_.fail(cluster_.describe(rank) + " has left the group, died or cannot be reached: " + end +
                ", during " + text_of(call) + " of group " + cluster_.group_name());
}

bool ClusterMail::is_dead(int rank) {
  return is_here(rank) ? local_.is_dead(number(rank)) : !links(rank).end.empty();
}

void ClusterMail::await(uint32_t seen, const std::vector<int>& readable, const std::vector<int>& writable,
                        int64_t ns) {
  std::vector<pollfd> watched;
  bool waits_here = false, waits_for_link = false;
  const auto watch = [&](int rank, const Descriptor& link, short what) {
    if (is_here(rank))
      waits_here = true;
    else if (link)
      watched.push_back({link.get(), what, 0});
    else
      waits_for_link = true;
  };
  for (const int rank : readable) watch(rank, links(rank).in, POLLIN);
  for (const int rank : writable) watch(rank, links(rank).out, POLLOUT);
  if (watched.empty() && !waits_for_link) return local_.await(seen, readable, writable, ns);
  if (waits_for_link) watched.push_back({cluster_.door().listener(), POLLIN, 0});
  const int64_t most = waits_here ? kShortWait : waits_for_link ? kHelloWait : ns;
  const timespec time = {0, static_cast<long>(std::min(ns, most))};
  ppoll(watched.data(), watched.size(), &time, nullptr);
}

}  // namespace tl::distributed
