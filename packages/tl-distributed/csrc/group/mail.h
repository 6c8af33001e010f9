// What carries messages from rank to rank: a stream of bytes from each to each. Nothing here waits but
// `await`.
#pragma once

#include <vector>

#include "ranks/membership.h"

namespace tl::distributed {

class Mail {
 public:
  virtual ~Mail() = default;

  virtual Membership& members() = 0;
  // Bytes moved; 0: not now.
  virtual int64_t read(int from, char* to, int64_t most) = 0;
  virtual int64_t write(int to, const char* from, int64_t most) = 0;
  // Fails if the rank is dead or has left, and nothing of it is left to be read where it is a sender.
  virtual void check_peer(int rank, const Call& call) = 0;
  virtual bool is_dead(int rank) = 0;

  // What has changed: seen before one tries to move something, then awaited, at most `ns` nanoseconds.
  virtual uint32_t seen() = 0;
  virtual void tell() = 0;  // that something was moved
  virtual void await(uint32_t seen, const std::vector<int>& readable, const std::vector<int>& writable,
                     int64_t ns) = 0;
};

}  // namespace tl::distributed
