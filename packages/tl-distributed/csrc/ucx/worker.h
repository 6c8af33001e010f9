// The endpoints of a rank in one group over UCX, and the operations on them. One thread uses a worker at a
// time: who holds its lock. Meanwhile a thread looks after messages that other ranks wait for.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/pieces.h"
#include "base/socket.h"
#include "ucx/library.h"

namespace tl::distributed {

// A send or a receive.
class UcxRequest {
 public:
  UcxRequest() = default;
  explicit UcxRequest(void* handle) : handle_(handle) {}
  bool is_pending() const { return ucx::is_pointer(handle_); }
  void* handle() const { return handle_; }
  ucx::Status status() const { return ucx::status_of(handle_); }
  void end(ucx::Status status) { handle_ = reinterpret_cast<void*>(static_cast<intptr_t>(status)); }

 private:
  void* handle_ = nullptr;
};

class UcxWorker {
 public:
  UcxWorker(const UcxLibrary& library, int peers);
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;

  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

  // The rest needs the lock.
  std::string address() const;
  void connect(int peer, const std::string& address);
  bool is_connected(int peer) const { return of(peer).endpoint != nullptr; }
  bool is_open() const { return worker_ != nullptr; }
  // Bytes as one message. `vectors` are to stay where they are until it is over.
  UcxRequest send(int peer, uint64_t tag, const std::vector<ucx::Vector>& vectors);
  UcxRequest receive(uint64_t tag, const std::vector<ucx::Vector>& vectors);
  // Whether it is over; a Failure if it failed.
  bool is_over(UcxRequest& request) const;
  bool progress() const { return functions().worker_progress(worker_) > 0; }
  bool arm() const;  // false: there is progress to make; otherwise the next event makes `event` readable
  int event() const { return event_; }
  std::string error_of(int peer) const;  // empty: none
  char* room(int64_t bytes);             // that the operations of one exchange use

  enum class Closing { kFlush, kForce };
  // No operation touches memory afterwards.
  void close(Closing how, const std::vector<UcxRequest*>& pending = {});

 private:
  struct Peer {
    ucx::Endpoint endpoint = nullptr;
    ucx::Status error = ucx::kOk;
  };
  const ucx::Functions& functions() const { return library_.functions(); }
  const Peer& of(int peer) const { return *peers_[static_cast<size_t>(peer)]; }
  void* close_endpoint(const Peer& peer, Closing how) const;
  bool take_back(const UcxRequest& request) const;
  void stop();
  void attend();

  const UcxLibrary& library_;
  int forks_;
  ucx::Context context_ = nullptr;
  ucx::Worker worker_ = nullptr;
  int event_ = -1;
  std::vector<std::unique_ptr<Peer>> peers_;  // whose addresses the library has
  std::vector<char> room_;
  std::mutex mutex_;
  Descriptor stop_;
  std::thread attendant_;
};

}  // namespace tl::distributed
