// An exchange over UCX. A frame is a message with the fingerprint and up to kInside bytes of data, and a
// second message if there are more.
#pragma once

#include <mutex>
#include <vector>

#include "network/exchange.h"
#include "ucx/worker.h"

namespace tl::distributed {

class UcxExchange final : public Exchange {
 public:
  UcxExchange(Mesh& mesh, UcxWorker& worker, const Frames& outgoing, const Frames& incoming, const Call& call,
              const Deadline& deadline);
  ~UcxExchange() override;

  void pump() override;
  void finish() override;

 private:
  struct Move {
    int peer;
    Way way;
    Pieces pieces;
    int64_t bytes;
    std::vector<ucx::Vector> head, body;
    UcxRequest head_request{}, body_request{};
    bool has_head = false, is_over = false;
  };

  void add(const Frame& frame, Way way, char* room);
  void start(Move& move);
  bool advance(Move& move);
  void read_head(Move& move);
  void look_for_ends();
  std::vector<int> missing(Way way) const override;

  UcxWorker& worker_;
  std::unique_lock<std::mutex> lock_;
  std::vector<Move> moves_;
  size_t left_ = 0;
  int64_t left_since_ = 0;  // when a rank was first seen to have left
};

}  // namespace tl::distributed
