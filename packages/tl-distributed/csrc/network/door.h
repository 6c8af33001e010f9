// The port of a rank, through which the others connect when they first need it. A connection begins with the
// rank, its purpose and the token of the group; without the token it is closed.
#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "base/socket.h"

namespace tl::distributed {

struct Address {
  std::string host;
  int port;
};
enum class LinkKind : int32_t { kData, kMail, kWatch };

class Door {
 public:
  Door(Descriptor listener, int rank, std::string token, std::vector<Address> addresses)
      : listener_(std::move(listener)),
        rank_(rank),
        token_(std::move(token)),
        addresses_(std::move(addresses)) {}

  // A connection to a rank; `check` may end the attempts.
  Descriptor reach(int rank, LinkKind kind, int64_t deadline, const std::function<void()>& check) const;
  // The connection that a rank has made; none yet: an empty one.
  Descriptor take(int rank, LinkKind kind);
  void await() const;  // until somebody comes, some milliseconds at most
  int listener() const { return listener_.get(); }

 private:
  static constexpr size_t kTokenBytes = 32;
  struct Hello {
    int32_t rank;
    LinkKind kind;
    char token[kTokenBytes];
  };
  struct Visitor {
    Descriptor link;
    int64_t until;
    Hello hello;
    int64_t bytes = 0;
    bool is_known = false;
  };
  void let_in();
  bool listen(Visitor& visitor) const;

  Descriptor listener_;
  int rank_;
  std::string token_;
  std::vector<Address> addresses_;
  std::mutex mutex_;
  std::list<Visitor> visitors_;
};

}  // namespace tl::distributed
