// Pages of their own for each code: no page changes that another thread may be executing.
#include "emit/code_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <unordered_map>

namespace tl::compiler {

namespace {
constexpr size_t kMostBytes = size_t{32} << 20;

struct Cache {
  std::mutex mutex;
  std::unordered_map<std::string, Code> codes;
  size_t bytes = 0;
};
Cache& cache() {
  static auto& k = *new Cache;
  return k;
}

size_t whole_pages(size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

void* executable(const std::vector<uint8_t>& bytes, size_t size) {
  void* const at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  std::memcpy(at, bytes.data(), bytes.size());
  if (mprotect(at, size, PROT_READ | PROT_EXEC) == 0) return at;
  munmap(at, size);
  return nullptr;
}
}  // namespace

Code find_code(const std::string& key) {
  Cache& k = cache();
  std::lock_guard lock(k.mutex);
  const auto at = k.codes.find(key);
  return at == k.codes.end() ? nullptr : at->second;
}

Code keep_code(const std::string& key, const std::vector<uint8_t>& bytes) {
  Cache& k = cache();
  std::lock_guard lock(k.mutex);
  const auto at = k.codes.find(key);
  if (at != k.codes.end()) return at->second;
  const size_t size = whole_pages(bytes.size());
  if (k.bytes + size > kMostBytes) return nullptr;
  void* const code = executable(bytes, size);
  if (!code) return nullptr;
  k.bytes += size;
  return k.codes[key] = reinterpret_cast<Code>(code);
}

}  // namespace tl::compiler
