// Source locations: (code, instruction, scope) is interned as a number of four bytes.
#include "base/source_location.h"

#include <atomic>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "base/fork.h"
#include "base/thread_local.h"

namespace tl {

namespace {
struct Hash {
  size_t operator()(const Origin* o) const {
    const std::hash<std::string> text;
    return text(o->scope) ^ (text(o->file) * 31) ^ (text(o->function) * 131) ^ static_cast<size_t>(o->line);
  }
};
struct Same {
  bool operator()(const Origin* a, const Origin* b) const { return *a == *b; }
};

struct Table {
  std::mutex mutex;
  std::deque<Origin> origins{{}};  // a deque: what is in it stays where it is
  std::unordered_map<const Origin*, OriginId, Hash, Same> ids{{&origins.front(), 0}};

  Table() {
    register_fork_lock(ForkOrder::Origins, [] { table().mutex.lock(); }, [] { table().mutex.unlock(); });
  }
  static Table& table();
};

Table& Table::table() {
  static Table& t = *new Table;
  return t;
}

std::atomic<OriginId (*)()> g_source{nullptr};
thread_local std::string t_scope;
}  // namespace

OriginId intern_origin(const Origin& origin) {
  Table& t = Table::table();
  std::lock_guard guard(t.mutex);
  if (auto found = t.ids.find(&origin); found != t.ids.end()) return found->second;
  const auto id = static_cast<OriginId>(t.origins.size());
  t.origins.push_back(origin);
  t.ids.emplace(&t.origins.back(), id);
  return id;
}

Origin origin_of(OriginId id) {
  Table& t = Table::table();
  std::lock_guard guard(t.mutex);
  return t.origins[id];
}

void set_origin_source(OriginId (*source)()) { g_source.store(source, std::memory_order_release); }

OriginId current_origin() noexcept {
  if (const OriginId known = thread_locals().origin) return known;
  const auto source = g_source.load(std::memory_order_acquire);
  return source ? source() : 0;
}

OriginScope::OriginScope(OriginId id) : before_(thread_locals().origin) { thread_locals().origin = id; }
OriginScope::~OriginScope() { thread_locals().origin = before_; }

void set_memory_scope(const std::string& scope) { t_scope = scope; }
const std::string& memory_scope() { return t_scope; }

}  // namespace tl
