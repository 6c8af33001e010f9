// The store's client: one request and its answer at a time over a connection, under a lock.
#include "store/client.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/clock.h"
#include "base/failure.h"
#include "base/forks.h"
#include "tl/tl.hpp"

namespace tl::distributed {

namespace {
constexpr char kPrefix = '/';  // the reference puts it before every key
constexpr size_t kAtOnce = 1 << 16;
constexpr int64_t kAnswerWithin =
    30'000'000'000;  // at least: a short limit is for keys, not for a busy server
}  // namespace

// One request with its answer. Whatever ends it early ends the connection, which would be out of step.
class StoreClient::Exchange {
 public:
  Exchange(StoreClient& client, Request kind)
      : client_(client),
        lock_(client.mutex_),
        answer_within_(std::max(client.limit_, kAnswerWithin)),
        deadline_(deadline_after(answer_within_)) {
    if (fork_count() != client.forks_)
      throw Failure(FailureKind::kStore,
                    "this process was forked after its store had been connected; connect one in the child");
    if (!client.lost_.empty()) lose(client.lost_);
    client.outgoing_.clear();
    byte(static_cast<uint8_t>(kind));
  }
  ~Exchange() {
    if (!is_over_) client_.lost_ = "a request was not answered";
  }

  Exchange& byte(uint8_t b) { return Writer(client_.outgoing_).byte(b), *this; }
  Exchange& word(uint32_t w) { return Writer(client_.outgoing_).word(w), *this; }
  Exchange& number(int64_t n) { return Writer(client_.outgoing_).number(n), *this; }
  Exchange& value(const std::string& v) { return Writer(client_.outgoing_).value(v), *this; }
  Exchange& key(const std::string& key) {
    number(static_cast<int64_t>(key.size()) + 1).byte(kPrefix);
    client_.outgoing_ += key;
    return *this;
  }
  Exchange& keys(const Texts& keys) {
    number(static_cast<int64_t>(keys.size()));
    for (const std::string& each : keys) key(each);
    return *this;
  }

  Exchange& send() {
    const std::string& data = client_.outgoing_;
    for (size_t at = 0; at < data.size();) {
      const int64_t sent = guarded_call([&] {
        return send_some(client_.link_.get(), data.data() + at, static_cast<int64_t>(data.size() - at));
      });
      at += static_cast<size_t>(sent);
      if (sent == 0 && !await_ready(client_.link_.get(), Readiness::kWrite, deadline_)) too_late();
    }
    client_.outgoing_.clear();
    return *this;
  }
  void over() { is_over_ = true; }

  // Whether an answer begins within that time.
  bool begins(int64_t ns) {
    return client_.read_ < client_.received_.size() ||
           await_ready(client_.link_.get(), Readiness::kRead, deadline_after(ns));
  }
  uint8_t get_byte() { return static_cast<uint8_t>(take(1)[0]); }
  uint32_t get_word() {
    uint32_t word;
    std::memcpy(&word, take(sizeof word).data(), sizeof word);
    return word;
  }
  int64_t get_number() {
    int64_t number;
    std::memcpy(&number, take(sizeof number).data(), sizeof number);
    return number;
  }
  std::string get_value() {
    const int64_t size = get_number();
    if (size < 0 || size >= kLongestValue) lose("what it answers is no answer of a store");
    return std::string(take(static_cast<size_t>(size)));
  }

 private:
  [[noreturn]] void lose(const std::string& why) {
    client_.lost_ = why;
    is_over_ = true;
    throw Failure(FailureKind::kNetwork, "TCPStore: the connection to " + client_.name_ + " is lost: " + why);
  }
  [[noreturn]] void too_late() { lose("no answer within " + seconds_text(answer_within_) + " s"); }

  template <class F>
  int64_t guarded_call(F&& body) {
    try {
      return body();
    } catch (const Failure& failure) {
      lose(failure.what());
    }
  }

  // The next bytes of the answer; valid until the next call.
  std::string_view take(size_t size) {
    std::string& received = client_.received_;
    size_t& read = client_.read_;
    if (read == received.size()) received.clear(), read = 0;
    std::array<char, kAtOnce> room;
    while (received.size() - read < size) {
      const int64_t got = guarded_call(
          [&] { return receive_some(client_.link_.get(), room.data(), static_cast<int64_t>(room.size())); });
      received.append(room.data(), static_cast<size_t>(got));
      if (got == 0 && !await_ready(client_.link_.get(), Readiness::kRead, deadline_)) too_late();
    }
    read += size;
    return std::string_view(received).substr(read - size, size);
  }

  StoreClient& client_;
  std::lock_guard<std::mutex> lock_;
  int64_t answer_within_, deadline_;
  bool is_over_ = false;
};

StoreClient::StoreClient(const std::string& host, int port, std::string name, int64_t limit)
    : name_(std::move(name)), limit_(limit), forks_(fork_count()) {
  try {
    link_ = connect_to(host, port, deadline_after(limit));
  } catch (const Failure& failure) {
    throw Failure(FailureKind::kNetwork, "TCPStore: no server at " + host + ":" + std::to_string(port) +
                                             " after " + seconds_text(limit) + " s: " + failure.what());
  }
  ping();
}

// Says what protocol this is, and sees that the other side speaks it.
void StoreClient::ping() {
  const auto nonce = static_cast<uint32_t>(getpid());
  Exchange exchange(*this, Request::kValidate);
  exchange.word(kStoreMagic).byte(static_cast<uint8_t>(Request::kPing)).word(nonce).send();
  if (exchange.get_word() != nonce)
    throw Failure(FailureKind::kStore, "TCPStore: what answers as " + name_ + " is no store");
  exchange.over();
}

void StoreClient::set(const std::string& key, const std::string& value) {
  Exchange(*this, Request::kSet).key(key).value(value).send().over();
}

void StoreClient::append(const std::string& key, const std::string& value) {
  Exchange(*this, Request::kAppend).key(key).value(value).send().over();
}

void StoreClient::multi_set(const Texts& keys, const Texts& values) {
  Exchange exchange(*this, Request::kMultiSet);
  exchange.number(static_cast<int64_t>(keys.size()));
  for (size_t i = 0; i < keys.size(); ++i) exchange.key(keys[i]).value(values[i]);
  exchange.send().over();
}

int64_t StoreClient::add(const std::string& key, int64_t amount) {
  Exchange exchange(*this, Request::kAdd);
  const int64_t total = exchange.key(key).number(amount).send().get_number();
  exchange.over();
  return total;
}

bool StoreClient::check(const Texts& keys) {
  Exchange exchange(*this, Request::kCheck);
  const bool all = exchange.keys(keys).send().get_byte() == kReady;
  exchange.over();
  return all;
}

std::string StoreClient::compare_set(const std::string& key, const std::string& expected,
                                     const std::string& desired) {
  Exchange exchange(*this, Request::kCompareSet);
  std::string after = exchange.key(key).value(expected).value(desired).send().get_value();
  exchange.over();
  return after;
}

bool StoreClient::erase(const std::string& key) {
  Exchange exchange(*this, Request::kDelete);
  const bool found = exchange.key(key).send().get_number() > 0;
  exchange.over();
  return found;
}

int64_t StoreClient::count_keys() {
  Exchange exchange(*this, Request::kCountKeys);
  const int64_t count = exchange.send().get_number();
  exchange.over();
  return count;
}

StoreClient::Texts StoreClient::list_keys() {
  Exchange exchange(*this, Request::kListKeys);
  Texts keys;
  for (int64_t left = exchange.send().get_number(); left > 0; --left)
    keys.push_back(exchange.get_value().substr(1));
  exchange.over();
  return keys;
}

// ---- waiting ----------------------------------------------------------------------------------------------

// After a request that is answered when something happens: whether that was in time. If not, it is called
// off.
bool StoreClient::arrives(Exchange& exchange, int64_t ns) {
  bool in_time = false;
  const auto call_off = [&] {
    exchange.byte(static_cast<uint8_t>(Request::kCancelWait)).send();
    in_time = exchange.get_byte() == kArrived;  // it happened meanwhile: both answers come
    if (in_time) exchange.get_byte();
    exchange.over();
  };
  try {
    in_time = exchange.begins(ns);
  } catch (const Pending&) {
    call_off();
    throw;
  }
  if (!in_time) {
    call_off();
    return in_time;
  }
  exchange.get_byte();
  exchange.over();
  return true;
}

void StoreClient::wait(const Texts& keys, int64_t ns) {
  bool in_time;
  {
    Exchange exchange(*this, Request::kWait);
    exchange.keys(keys).send();
    in_time = arrives(exchange, ns);
  }
  if (in_time) return;
  std::string missing;
  for (const std::string& key : keys)
    if (!check({key})) missing += (missing.empty() ? "" : ", ") + key;
  throw Failure(FailureKind::kStore,
                "wait timeout after " + seconds_text(ns) + " s: no value for " + missing);
}

void StoreClient::barrier(const std::string& key, int64_t size, int64_t ns) {
  Exchange exchange(*this, Request::kBarrier);
  exchange.key(key).number(size).send();
  if (!arrives(exchange, ns))
    throw Failure(FailureKind::kStore, "barrier timeout after " + seconds_text(ns) + " s: not all of " +
                                           std::to_string(size) + " came to " + key);
}

std::string StoreClient::get(const std::string& key) {
  Exchange exchange(*this, Request::kGet);
  std::string value = exchange.key(key).send().get_value();
  exchange.over();
  return value;
}

StoreClient::Texts StoreClient::get(const Texts& keys) {
  Exchange exchange(*this, Request::kMultiGet);
  exchange.keys(keys).send();
  Texts values;
  for (size_t i = 0; i < keys.size(); ++i) values.push_back(exchange.get_value());
  exchange.over();
  return values;
}

// ---- queues -----------------------------------------------------------------------------------------------

void StoreClient::queue_push(const std::string& key, const std::string& value) {
  Exchange(*this, Request::kQueuePush).key(key).value(value).send().over();
}

std::optional<std::string> StoreClient::queue_pop(const std::string& key) {
  Exchange exchange(*this, Request::kQueuePop);
  std::optional<std::string> value;
  if (exchange.key(key).send().get_number() > 0) value = exchange.get_value();
  exchange.over();
  return value;
}

int64_t StoreClient::queue_length(const std::string& key) {
  Exchange exchange(*this, Request::kQueueLength);
  const int64_t length = exchange.key(key).send().get_number();
  exchange.over();
  return length;
}

}  // namespace tl::distributed
