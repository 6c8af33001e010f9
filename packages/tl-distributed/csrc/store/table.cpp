// The store's table: a map of keys, with lists of clients that wait for keys or at barriers.
#include "store/table.h"

#include <cerrno>
#include <cstdlib>
#include <utility>

namespace tl::distributed {

void Table::serve(Session& session) {
  std::string_view left = session.received;
  if (left.size() < session.needed) return;
  session.needed = 0;
  while (!left.empty()) {
    Reader reader(left);
    if (!serve_one(session, reader)) {
      session.needed = reader.needed();
      break;
    }
    left.remove_prefix(reader.position());
  }
  session.received.erase(0, session.received.size() - left.size());
}

void Table::forget(Session& session) {
  for (const std::string& key : session.awaited) {
    const auto found = waiting_.find(key);
    if (found == waiting_.end()) continue;
    std::erase(found->second, &session);
    if (found->second.empty()) waiting_.erase(found);
  }
  session.awaited.clear();
  for (auto it = barriers_.begin(); it != barriers_.end();) {
    std::erase(it->second, &session);
    it = it->second.empty() ? barriers_.erase(it) : std::next(it);
  }
  std::erase(notified_, &session);
}

// False: the request is incomplete, and nothing was done.
bool Table::serve_one(Session& session, Reader& reader) {
  const auto kind = static_cast<Request>(reader.byte());
  if (session.is_known) {
    answer(session, kind, reader);
    return reader.is_complete();
  }
  if (kind != Request::kValidate) throw Malformed();
  const uint32_t magic = reader.word();
  if (!reader.is_complete()) return false;
  if (magic != kStoreMagic) throw Malformed();
  session.is_known = true;
  return true;
}

// Requests arrive in pieces: an incomplete one changes nothing and is read again from its begin.
void Table::answer(Session& session, Request kind, Reader& reader) {
  switch (kind) {
    case Request::kPing: {
      const uint32_t nonce = reader.word();
      if (reader.is_complete()) Writer(session.outgoing).word(nonce);
      return;
    }
    case Request::kWait:
      return wait(session, reader);
    case Request::kCancelWait:
      forget(session);
      Writer(session.outgoing).byte(kCanceled);
      return;
    case Request::kBarrier:
      return come_to_barrier(session, reader);
    case Request::kQueuePush:
    case Request::kQueuePop:
    case Request::kQueueLength:
      return queue(session, kind, reader);
    case Request::kGet:
    case Request::kMultiGet:
    case Request::kCheck:
    case Request::kCountKeys:
    case Request::kListKeys:
      return look(session, kind, reader);
    default:
      return change(session, kind, reader);
  }
}

// ---- reading ----------------------------------------------------------------------------------------------

bool Table::has(std::string_view key) const {
  return values_.find(key) != values_.end() || queues_.find(key) != queues_.end();
}

// Requests that only read: numbers and lists of keys, values, whether keys are there.
void Table::look(Session& session, Request kind, Reader& reader) {
  Writer out(session.outgoing);
  const auto answer = [&](std::string_view key) {
    const auto found = values_.find(key);
    out.value(found == values_.end() ? std::string_view() : std::string_view(found->second));
  };
  if (kind == Request::kCountKeys) {
    out.number(static_cast<int64_t>(values_.size()));
  } else if (kind == Request::kListKeys) {
    out.number(static_cast<int64_t>(values_.size()));
    for (const auto& [key, value] : values_) out.value(key);
  } else if (kind == Request::kGet) {
    const std::string_view key = reader.value();
    if (reader.is_complete()) answer(key);
  } else {
    const std::vector<std::string_view> keys = reader.values();
    if (!reader.is_complete()) return;
    if (kind == Request::kMultiGet) {
      for (std::string_view key : keys) answer(key);
      return;
    }
    bool all = true;
    for (std::string_view key : keys) all = all && has(key);
    out.byte(all ? kReady : kNotReady);
  }
}

void Table::wait(Session& session, Reader& reader) {
  const std::vector<std::string_view> keys = reader.values();
  if (!reader.is_complete()) return;
  for (std::string_view key : keys) {
    if (has(key) || !session.awaited.emplace(key).second) continue;
    waiting_[std::string(key)].push_back(&session);
  }
  if (session.awaited.empty()) Writer(session.outgoing).byte(kArrived);
}

void Table::come_to_barrier(Session& session, Reader& reader) {
  const std::string key(reader.value());
  const int64_t size = reader.number();
  if (!reader.is_complete()) return;
  std::vector<Session*>& here = barriers_[key];
  here.push_back(&session);
  if (static_cast<int64_t>(here.size()) < size) return;
  for (Session* each : here) {
    Writer(each->outgoing).byte(kArrived);
    if (each != &session) notified_.push_back(each);
  }
  barriers_.erase(key);
}

// ---- changing ---------------------------------------------------------------------------------------------

void Table::arrived(std::string_view key) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) return;
  const std::vector<Session*> sessions = std::move(found->second);
  waiting_.erase(found);
  for (Session* each : sessions) {
    each->awaited.erase(each->awaited.find(key));
    if (!each->awaited.empty()) continue;
    Writer(each->outgoing).byte(kArrived);
    notified_.push_back(each);
  }
}

void Table::put(std::string_view key, std::string value) {
  const auto found = values_.find(key);
  if (found == values_.end())
    values_.emplace(key, std::move(value));
  else
    found->second = std::move(value);
  arrived(key);
}

// Requests that write a value or remove a key; whoever waits for the key is answered by put().
void Table::change(Session& session, Request kind, Reader& reader) {
  if (kind == Request::kMultiSet) {
    const std::vector<std::string_view> pairs = reader.values(2);
    if (!reader.is_complete()) return;
    for (size_t i = 0; i < pairs.size(); i += 2) put(pairs[i], std::string(pairs[i + 1]));
    return;
  }
  const std::string_view key = reader.value();
  Writer out(session.outgoing);
  if (kind == Request::kSet || kind == Request::kAppend) {
    const std::string_view value = reader.value();
    if (!reader.is_complete()) return;
    const auto found = values_.find(key);
    const bool more = kind == Request::kAppend && found != values_.end();
    put(key, more ? found->second.append(value) : std::string(value));
  } else if (kind == Request::kAdd) {
    const int64_t amount = reader.number();
    if (reader.is_complete()) out.number(add(key, amount));
  } else if (kind == Request::kCompareSet) {
    const std::string_view expected = reader.value(), desired = reader.value();
    if (reader.is_complete()) out.value(compare_set(key, expected, desired));
  } else if (kind == Request::kDelete) {
    if (!reader.is_complete()) return;
    const auto found = values_.find(key);
    out.number(found != values_.end());
    if (found != values_.end()) values_.erase(found);
  } else {
    throw Malformed();
  }
}

int64_t Table::add(std::string_view key, int64_t amount) {
  const auto found = values_.find(key);
  int64_t total = 0;
  if (found != values_.end()) {
    const char* text = found->second.c_str();
    char* end = nullptr;
    errno = 0;
    total = std::strtoll(text, &end, 10);
    if (end == text || errno != 0) throw Malformed();
  }
  if (__builtin_add_overflow(total, amount, &total)) throw Malformed();
  put(key, std::to_string(total));
  return total;
}

std::string_view Table::compare_set(std::string_view key, std::string_view expected,
                                    std::string_view desired) {
  const auto found = values_.find(key);
  if (found == values_.end() && !expected.empty()) return expected;
  if (found != values_.end() && found->second != expected) return found->second;
  put(key, std::string(desired));
  return desired;
}

void Table::queue(Session& session, Request kind, Reader& reader) {
  const std::string_view key = reader.value();
  const std::string_view value = kind == Request::kQueuePush ? reader.value() : std::string_view();
  if (!reader.is_complete()) return;
  if (kind == Request::kQueuePush) {
    queues_[std::string(key)].emplace_back(value);
    return arrived(key);
  }
  Writer out(session.outgoing);
  const auto found = queues_.find(key);
  const bool is_empty = found == queues_.end();
  out.number(is_empty ? 0 : static_cast<int64_t>(found->second.size()));
  if (kind == Request::kQueueLength || is_empty) return;
  out.value(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) queues_.erase(found);
}

}  // namespace tl::distributed
