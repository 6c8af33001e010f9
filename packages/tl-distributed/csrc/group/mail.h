// The transport of messages: a stream of bytes from each rank to each. Only `await` waits.
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

  // The number of changes: read before an attempt to move bytes, then awaited, at most `ns` nanoseconds.
  virtual uint32_t change_count() = 0;
  virtual void notify() = 0;  // after bytes have moved
  virtual void await(uint32_t seen, const std::vector<int>& readable, const std::vector<int>& writable,
                     int64_t ns) = 0;
};

}  // namespace tl::distributed
