// A connection to the process that holds the values of a store. One request at a time; threads take turns.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/socket.h"
#include "store/wire.h"

namespace tl::distributed {

class StoreClient {
 public:
  using Texts = std::vector<std::string>;

  // `name` is how errors call the store; the limit, in nanoseconds, is that of this and of every answer.
  StoreClient(const std::string& host, int port, std::string name, int64_t limit);

  void set_limit(int64_t ns) { limit_ = ns; }

  void set(const std::string& key, const std::string& value);
  void append(const std::string& key, const std::string& value);
  void multi_set(const Texts& keys, const Texts& values);
  int64_t add(const std::string& key, int64_t amount);
  bool check(const Texts& keys);
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired);
  bool erase(const std::string& key);
  int64_t count_keys();
  Texts list_keys();

  // Waits until all keys have a value; a DistStoreError names those that have none.
  void wait(const Texts& keys, int64_t ns);
  Texts get(const Texts& keys);
  std::string get(const std::string& key);

  void queue_push(const std::string& key, const std::string& value);
  std::optional<std::string> queue_pop(const std::string& key);  // none: the queue is empty
  int64_t queue_length(const std::string& key);
  // Waits until so many clients have come to it.
  void barrier(const std::string& key, int64_t size, int64_t ns);

 private:
  class Exchange;
  bool arrives(Exchange& exchange, int64_t ns);
  void ping();

  std::mutex mutex_;
  std::string name_;
  int64_t limit_;
  int forks_;
  Descriptor link_;
  std::string lost_;  // why there is no connection any more
  std::string outgoing_, received_;
  size_t read_ = 0;  // of `received_`
};

}  // namespace tl::distributed
