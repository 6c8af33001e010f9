// Messages from one rank to another, matched by sender and tag. A thread that waits for one moves all
// that are pending.
#pragma once

#include <deque>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "base/pieces.h"
#include "group/mail.h"
#include "group/task.h"

namespace tl::distributed {

struct Message {
  std::shared_ptr<Task> task;
  Piece data;
  int64_t dtype;
  int64_t tag;
  int peer;  // -1: from any rank
  int64_t limit;
  int64_t deadline = 0;
  int64_t moved = 0;  // bytes of header and data
};

class Messages {
 public:
  explicit Messages(Mail& mail);
  ~Messages();

  void send(std::shared_ptr<Message> message);
  void receive(std::shared_ptr<Message> message);
  void wait_here(const std::shared_ptr<Message>& message);  // moves messages until this one is over
  void start_thread();                                      // moves them while no thread waits
  void stop();

 private:
  struct Header {
    int64_t bytes, dtype, tag, reserved;
  };
  struct Incoming {  // the incoming message of one rank
    Header header{};
    int64_t header_bytes = 0, got = 0;
    std::shared_ptr<Message> target;  // its receiver; without one the data is put aside
    std::vector<char> aside;
  };
  struct Stored {
    Header header;
    std::vector<char> data;
  };

  bool progress();
  bool push(Message& message);
  bool pull(int from);
  bool read_header(int from);
  void choose_target(int from);
  bool finish_incoming(int from);
  bool take_stored(Message& message);
  void deliver(Message& message, const Header& header, int from);
  void check_waits();
  void give_up(const std::exception_ptr& error);
  bool wants(int from) const;
  bool is_empty() const { return sends_.empty() && receives_.empty(); }
  void await(uint32_t seen);
  Call call_of(const Message& message, Kind kind) const;
  void work();

  Mail& mail_;
  Membership& members_;
  std::mutex mutex_;
  std::vector<std::list<std::shared_ptr<Message>>> outgoing_;  // by receiver, in order
  std::list<std::shared_ptr<Message>> receives_;
  std::list<std::shared_ptr<Message>> sends_;
  std::vector<Incoming> incoming_;
  std::vector<std::deque<Stored>> stored_;
  int64_t next_look_ = 0;
  bool stopping_ = false;
  int64_t stop_at_ = 0;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace tl::distributed
