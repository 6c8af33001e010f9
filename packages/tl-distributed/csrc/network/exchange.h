// Frames that a rank sends to, and receives from, some ranks at once. Each carries the fingerprint of the
// call, and one that does not fit fails.
#pragma once

#include <poll.h>

#include <vector>

#include "network/mesh.h"

namespace tl::distributed {

class Exchange {
 public:
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;

  virtual void pump() = 0;    // moves what can be moved now
  virtual void finish() = 0;  // returns when all is over

 protected:
  enum class Way { kOut, kIn };

  Exchange(Mesh& mesh, const Call& call, const Deadline& deadline)
      : mesh_(mesh), call_(call), deadline_(deadline) {}
  // Waits for events, of which the last is the mesh's alarm; false: none has come. Raises what ends a wait.
  bool wait(std::vector<pollfd>& watched);
  void compare(const FrameHeader& header, int peer, int64_t bytes) const;
  virtual std::vector<int> missing(Way way) const = 0;  // peers of moves that are not over

  // NOLINTBEGIN(misc-non-private-member-variables-in-classes): of the carriers' exchanges
  Mesh& mesh_;
  const Call& call_;
  const Deadline& deadline_;
  // NOLINTEND(misc-non-private-member-variables-in-classes)

 private:
  [[noreturn]] void time_out() const;
};

}  // namespace tl::distributed
