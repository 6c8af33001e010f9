// Workers and endpoints with error handling, so that the end of a peer fails its operations.
#include "ucx/worker.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/failure.h"
#include "base/forks.h"

namespace tl::distributed {

namespace {
constexpr int kTick = 10;                        // milliseconds between two looks of the attendant
constexpr int kMostProgress = 64;                // of one look
constexpr int64_t kFlushWithin = 1'000'000'000;  // nanoseconds
constexpr int64_t kForceWithin = 200'000'000;
constexpr useconds_t kLookAgain = 50;  // microseconds

ucx::RequestParams params_of(const std::vector<ucx::Vector>& vectors) {
  ucx::RequestParams params{};
  params.attribute_mask = ucx::RequestParams::kDatatype | ucx::RequestParams::kMemoryType;
  params.datatype = vectors.size() == 1 ? ucx::kBytes : ucx::kVectors;
  return params;
}
// The data of an operation and its count.
std::pair<void*, size_t> content_of(const std::vector<ucx::Vector>& vectors) {
  if (vectors.size() == 1) return {vectors[0].data, vectors[0].bytes};
  return {const_cast<ucx::Vector*>(vectors.data()), vectors.size()};
}
}  // namespace

UcxWorker::UcxWorker(const UcxLibrary& library, int peers)
    : library_(library), forks_(fork_count()), stop_(eventfd(0, EFD_CLOEXEC)) {
  if (!stop_) throw Failure(FailureKind::kNetwork, std::string("eventfd: ") + std::strerror(errno));
  for (int i = 0; i < peers; ++i) peers_.push_back(std::make_unique<Peer>());
  context_ = library.context();
  ucx::WorkerParams params{};
  params.field_mask = ucx::WorkerParams::kThreadMode;
  params.thread_mode = ucx::WorkerParams::kSerialized;
  try {
    library.check(functions().worker_create(context_, &params, &worker_), "ucp_worker_create");
    library.check(functions().worker_get_efd(worker_, &event_), "ucp_worker_get_efd");
  } catch (const Failure&) {
    close(Closing::kForce);
    throw;
  }
  attendant_ = std::thread([this] { attend(); });
}

UcxWorker::~UcxWorker() {
  if (fork_count() != forks_) {  // the thread and the endpoints are the parent's
    attendant_.detach();
    return;
  }
  stop();
  close(Closing::kForce);
}

void UcxWorker::stop() {
  const uint64_t one = 1;
  static_cast<void>(!write(stop_.get(), &one, sizeof one));
  if (attendant_.joinable()) attendant_.join();
}

// A rank that computes still answers: the end of a large message and the beginning of a connection need both
// sides.
void UcxWorker::attend() {
  while (true) {
    pollfd watched = {stop_.get(), POLLIN, 0};
    if (poll(&watched, 1, kTick) > 0) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) continue;
    for (int i = 0; i < kMostProgress && worker_ && progress(); ++i) {
    }
  }
}

std::string UcxWorker::address() const {
  ucx::WorkerAttributes attributes{};
  attributes.field_mask = ucx::WorkerAttributes::kAddress;
  library_.check(functions().worker_query(worker_, &attributes), "ucp_worker_query");
  std::string address(reinterpret_cast<const char*>(attributes.address), attributes.address_length);
  functions().worker_release_address(worker_, attributes.address);
  return address;
}

void UcxWorker::connect(int peer, const std::string& address) {
  ucx::EndpointParams params{};
  params.field_mask = ucx::EndpointParams::kRemoteAddress | ucx::EndpointParams::kErrorMode |
                      ucx::EndpointParams::kErrorHandler;
  params.address = address.data();
  params.error_mode = ucx::EndpointParams::kErrorModePeer;
  params.on_error = [](void* ctx, ucx::Endpoint, ucx::Status status) {
    static_cast<Peer*>(ctx)->error = status;
  };
  Peer& to = *peers_[static_cast<size_t>(peer)];
  params.on_error_ctx = &to;
  library_.check(functions().ep_create(worker_, &params, &to.endpoint), "ucp_ep_create");
}

UcxRequest UcxWorker::send(int peer, uint64_t tag, const std::vector<ucx::Vector>& vectors) {
  const ucx::RequestParams params = params_of(vectors);
  const auto [data, count] = content_of(vectors);
  return UcxRequest(functions().tag_send_nbx(of(peer).endpoint, data, count, tag, &params));
}

UcxRequest UcxWorker::receive(uint64_t tag, const std::vector<ucx::Vector>& vectors) {
  const ucx::RequestParams params = params_of(vectors);
  const auto [data, count] = content_of(vectors);
  return UcxRequest(functions().tag_recv_nbx(worker_, data, count, tag, ~uint64_t{0}, &params));
}

bool UcxWorker::is_over(UcxRequest& request) const {
  if (request.is_pending()) {
    const ucx::Status status = functions().request_check_status(request.handle());
    if (status == ucx::kInProgress) return false;
    functions().request_free(request.handle());
    request.end(status);
  }
  if (request.status() < 0) throw Failure(FailureKind::kNetwork, functions().status_string(request.status()));
  return true;
}

bool UcxWorker::arm() const {
  const ucx::Status status = functions().worker_arm(worker_);
  if (status == ucx::kErrorBusy) return false;
  library_.check(status, "ucp_worker_arm");
  return true;
}

std::string UcxWorker::error_of(int peer) const {
  const ucx::Status error = of(peer).error;
  return error == ucx::kOk ? "" : functions().status_string(error);
}

char* UcxWorker::room(int64_t bytes) {
  if (static_cast<int64_t>(room_.size()) < bytes) room_.resize(static_cast<size_t>(bytes));
  return room_.data();
}

void* UcxWorker::close_endpoint(const Peer& peer, Closing how) const {
  ucx::RequestParams params{};
  if (how == Closing::kForce || peer.error != ucx::kOk) {
    params.attribute_mask = ucx::RequestParams::kFlags;
    params.flags = ucx::RequestParams::kCloseForce;
  }
  return functions().ep_close_nbx(peer.endpoint, &params);
}

// A request that is over goes back to the library; false: it is not over.
bool UcxWorker::take_back(const UcxRequest& request) const {
  if (!request.is_pending()) return true;
  if (functions().request_check_status(request.handle()) == ucx::kInProgress) return false;
  functions().request_free(request.handle());
  return true;
}

// What a peer has begun with ends with its endpoint. A receive that no message has met ends with the worker:
// to cancel one that has begun aborts the process in some versions.
void UcxWorker::close(Closing how, const std::vector<UcxRequest*>& pending) {
  if (worker_) {
    std::vector<UcxRequest> endings;
    for (const auto& peer : peers_)
      if (peer->endpoint) endings.emplace_back(close_endpoint(*peer, how));
    const int64_t end = now_ns() + (how == Closing::kFlush ? kFlushWithin : kForceWithin);
    const auto is_over = [this](const UcxRequest& request) { return take_back(request); };
    while (std::erase_if(endings, is_over), !endings.empty() && now_ns() < end)
      if (!progress()) usleep(kLookAgain);
    for (const UcxRequest* request : pending) take_back(*request);
    functions().worker_destroy(worker_);
  }
  worker_ = nullptr;
  if (context_) functions().cleanup(context_);
  context_ = nullptr;
}

}  // namespace tl::distributed
