// Frames that a rank sends to, and receives from, some ranks at once. Each carries the fingerprint of the
// call, and one that does not fit fails.
#pragma once

#include <poll.h>

#include <vector>

#include "network/mesh.h"

namespace tl::distributed {

class Exchange {
 public:
  Exchange(Mesh& mesh, const Frames& outgoing, const Frames& incoming, const Call& call,
           const Deadline& deadline);
  Exchange(const Exchange&) = delete;

  void pump();    // moves what can be moved now
  void finish();  // returns when all is over

 private:
  enum class Way { kOut, kIn };
  struct Move {
    int peer, descriptor;
    Way way;
    FrameHeader header;
    int64_t bytes;
    Cursor head, body;
    bool is_over = false;
  };

  void add(const Frame& frame, Way way);
  void advance(Move& move);
  bool step(Move& move);
  void compare(const Move& move) const;
  void await();
  [[noreturn]] void time_out() const;

  Mesh& mesh_;
  const Call& call_;
  const Deadline& deadline_;
  std::vector<Move> moves_;
  std::vector<pollfd> watched_;
  size_t left_ = 0;
};

}  // namespace tl::distributed
