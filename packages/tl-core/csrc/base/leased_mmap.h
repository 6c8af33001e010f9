// A file in memory for as long as nobody can shorten it: reading what a file has lost ends the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>

namespace tl {

// Whoever opens the file to write to it, or shortens it, waits until the lease is given back, which happens
// at the end of the part that is being read. (Only of a process stopped right there for longer than
// /proc/sys/fs/lease-break-time, 45 seconds, the system takes it away.)
class LeasedMap {
 public:
  // Of `size` bytes from `offset` on. Holds nothing where the system refuses: the file is another user's or
  // open for writing, its file system knows no leases or lies elsewhere.
  LeasedMap(int descriptor, int64_t offset, size_t size) noexcept;
  ~LeasedMap();
  LeasedMap(const LeasedMap&) = delete;
  LeasedMap& operator=(const LeasedMap&) = delete;

  // read(memory) with `size` bytes from `at` on; false, without a call, once the lease is called back or
  // where the file has no such bytes. On any thread.
  template <class F>
  bool with(int64_t at, size_t size, F&& read) {
    {
      std::shared_lock reading(mutex_);
      if (!bytes_) return false;
      if (ready(at, size)) {
        read(bytes_ + at);
        let_go(at, size);
        return true;
      }
    }
    const std::unique_lock alone(mutex_);
    give_back();
    return false;
  }

 private:
  bool ready(int64_t at, size_t size) const noexcept;
  void let_go(int64_t at, size_t size) const noexcept;
  void give_back() noexcept;

  int descriptor_ = -1;
  void* map_ = nullptr;
  size_t mapped_ = 0;
  const char* bytes_ = nullptr;  // NULL: there is no lease
  std::shared_mutex mutex_;
};

}  // namespace tl
