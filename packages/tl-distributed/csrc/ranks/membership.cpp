// Members of a group: descriptions of ranks for errors, and failures that poison the group for all of them.
#include "ranks/membership.h"

#include <unistd.h>

#include <utility>

#include "base/clock.h"
#include "base/failure.h"
#include "tl/tl.hpp"

namespace tl::distributed {

namespace {
constexpr int64_t kNoticeWait = 500'000'000;
constexpr useconds_t kLookAgain = 1000;  // microseconds
}  // namespace

Membership::Membership(int rank, std::vector<Member> members, std::string group_name)
    : rank_(rank), members_(std::move(members)), name_(std::move(group_name)) {}

std::string Membership::describe(int rank) const {
  const Member& member = members_[static_cast<size_t>(rank)];
  const std::string where = member.host.empty() ? "" : " on " + member.host;
  return "rank " + std::to_string(member.global_rank) + " (pid " + std::to_string(member.pid) + where + ")";
}

void Membership::check_failed(const std::string& doing) const {
  if (has_failed())
    throw Failure(FailureKind::kBackend, doing + ": the group " + name_ + " has failed: " + failure(),
                  missing_ranks());
}

void Membership::fail(const std::string& text) {
  poison(text);
  throw Failure(FailureKind::kBackend, text);
}

void Membership::await_failure(int rank) const {
  const int64_t end = now_ns() + kNoticeWait;
  while (!has_failed() && !has_left(rank) && now_ns() < end) usleep(kLookAgain);
}

void Membership::interrupted(const std::string& doing) {
  poison("interrupted on " + describe(rank_) + " during " + doing);
  throw Pending();
}

void Membership::disagree(int a, const Call& call_a, int b, const Call& call_b) {
  if (a > b) disagree(b, call_b, a, call_a);
  fail("the ranks of group " + name_ + " disagree: " + describe(a) + " called " + text_of(call_a) + ", " +
       describe(b) + " called " + text_of(call_b));
}

void Membership::refuse_sizes(const Call& call, int from, int to, int64_t sent, int64_t expected) {
  fail(text_of(call) + " of group " + name_ + ": " + describe(from) + " sends " + std::to_string(sent) +
       " bytes to " + describe(to) + ", which expects " + std::to_string(expected));
}

}  // namespace tl::distributed
