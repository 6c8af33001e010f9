// An exchange over connections of the system: a stream of bytes from each rank to each.
#pragma once

#include <vector>

#include "network/exchange.h"

namespace tl::distributed {

class StreamExchange final : public Exchange {
 public:
  StreamExchange(Mesh& mesh, const Frames& outgoing, const Frames& incoming, const Call& call,
                 const Deadline& deadline);

  void pump() override;
  void finish() override;

 private:
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
  std::vector<int> missing(Way way) const override;

  std::vector<Move> moves_;
  std::vector<pollfd> watched_;
  size_t left_ = 0;
};

}  // namespace tl::distributed
