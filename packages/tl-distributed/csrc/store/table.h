// The keys and values of a store, and the requests of its clients.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "store/wire.h"

namespace tl::distributed {

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <class T>
using ByText = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

// A client of the table: its received bytes, its answers, the keys that it waits for.
struct Session {
  std::string received, outgoing;
  size_t needed = 0;  // bytes of `received` before the next attempt to parse
  bool is_known = false;
  std::unordered_set<std::string, TextHash, std::equal_to<>> awaited;
};

class Table {
 public:
  // Answers all complete requests; throws Malformed for other bytes.
  void serve(Session& session);
  void forget(Session& session);  // it is gone
  // Sessions with a new answer, without the session that was served.
  std::vector<Session*> take_notified() { return std::exchange(notified_, {}); }

 private:
  bool serve_one(Session& session, Reader& reader);
  void answer(Session& session, Request kind, Reader& reader);
  void look(Session& session, Request kind, Reader& reader);
  void change(Session& session, Request kind, Reader& reader);
  void queue(Session& session, Request kind, Reader& reader);
  void wait(Session& session, Reader& reader);
  void come_to_barrier(Session& session, Reader& reader);
  void put(std::string_view key, std::string value);
  void arrived(std::string_view key);
  bool has(std::string_view key) const;
  int64_t add(std::string_view key, int64_t amount);
  std::string_view compare_set(std::string_view key, std::string_view expected, std::string_view desired);

  ByText<std::string> values_;
  ByText<std::deque<std::string>> queues_;
  ByText<std::vector<Session*>> waiting_;
  ByText<std::vector<Session*>> barriers_;
  std::vector<Session*> notified_;
};

}  // namespace tl::distributed
