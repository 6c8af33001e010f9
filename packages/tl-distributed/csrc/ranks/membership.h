// The ranks of a group as errors name them, and the first failure among them, which every rank raises from
// then on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ranks/call.h"

namespace tl::distributed {

struct Member {
  int64_t global_rank;
  int pid;
  std::string host;  // empty: this machine
};

// The end of a wait, which Ctrl-C may interrupt.
struct Deadline {
  int64_t time;   // as now_ns()
  int64_t limit;  // nanoseconds, for the message
  bool interruptible;
};

class Membership {
 public:
  Membership(int rank, std::vector<Member> members, std::string group_name);
  virtual ~Membership() = default;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  const std::string& group_name() const { return name_; }
  int64_t global_rank(int rank) const { return members_[static_cast<size_t>(rank)].global_rank; }
  std::string describe(int rank) const;  // "rank 3 (pid 71 on node2)"

  virtual bool has_failed() const = 0;
  virtual bool has_left(int) const { return false; }  // as far as this rank was told
  virtual void poison(const std::string& text) = 0;
  virtual void leave() = 0;
  void check_failed(const std::string& doing) const;
  [[noreturn]] void fail(const std::string& text);
  // After the end of a connection to a rank: waits briefly for the failure that another rank has seen.
  void await_failure(int rank) const;

  // Failures in a wait.
  [[noreturn]] void interrupted(const std::string& doing);
  [[noreturn]] void disagree(int a, const Call& call_a, int b, const Call& call_b);
  [[noreturn]] void refuse_sizes(const Call& call, int from, int to, int64_t sent, int64_t expected);

 protected:
  virtual std::string failure() const = 0;  // after has_failed()
  // After a timeout: the ranks in the world that this rank has not seen arrive.
  virtual std::vector<int64_t> missing_ranks() const { return {}; }

 private:
  int rank_;
  std::vector<Member> members_;
  std::string name_;
};

}  // namespace tl::distributed
