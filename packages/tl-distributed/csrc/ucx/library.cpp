// libucp by dlopen. Only what the process finds is used: nothing links to it.
#include "ucx/library.h"

#include <dlfcn.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>

#include "base/failure.h"

namespace tl::distributed {

namespace {
// Older versions take over the signals of crashes when they are loaded; Python may have handlers of its own.
class CrashSignals {
 public:
  CrashSignals() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], nullptr, &actions_[i]);
  }
  ~CrashSignals() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &actions_[i], nullptr);
  }
  CrashSignals(const CrashSignals&) = delete;

 private:
  static constexpr std::array<int, 5> kSignals = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
  std::array<struct sigaction, kSignals.size()> actions_;
};

template <class F>
void find(void* handle, const char* name, F& function) {
  void* symbol = dlsym(handle, name);
  if (!symbol) throw Failure(FailureKind::kBackend, std::string("it has no function ") + name);
  function = reinterpret_cast<F>(symbol);
}
}  // namespace

const UcxLibrary& UcxLibrary::load(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<UcxLibrary>> libraries;
  std::lock_guard lock(mutex);
  std::unique_ptr<UcxLibrary>& library = libraries[path];
  if (!library) library.reset(new UcxLibrary(path));
  return *library;
}

// UCX's constructors install handlers of signals, which would hide the crashes that Python reports.
UcxLibrary::UcxLibrary(const std::string& path) {
  const CrashSignals stay;
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle_) throw Failure(FailureKind::kBackend, dlerror());
#define TL_FIND(name) find(handle_, "ucp_" #name, functions_.name);
  TL_FIND(get_version)
  unsigned major = 0, minor = 0, release = 0;
  functions_.get_version(&major, &minor, &release);
  version_ = std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
  if (major != ucx::kMajor || minor < ucx::kMinor)
    throw Failure(FailureKind::kBackend, "it is version " + version_ + ", and 1.10 or a later 1.x is needed");
  TL_FIND(config_read)
  TL_FIND(config_release)
  TL_FIND(init_version)
  TL_FIND(cleanup)
  TL_FIND(context_print_info)
  TL_FIND(worker_create)
  TL_FIND(worker_destroy)
  TL_FIND(worker_query)
  TL_FIND(worker_release_address)
  TL_FIND(worker_progress)
  TL_FIND(worker_get_efd)
  TL_FIND(worker_arm)
  TL_FIND(ep_create)
  TL_FIND(ep_close_nbx)
  TL_FIND(tag_send_nbx)
  TL_FIND(tag_recv_nbx)
  TL_FIND(request_check_status)
  TL_FIND(request_free)
#undef TL_FIND
  find(handle_, "ucs_status_string", functions_.status_string);
  be_quiet();
}

// The library writes to the program's output whenever a rank dies. The errors of this package say it.
void UcxLibrary::be_quiet() const {
  using Setter = ucx::Status (*)(const char* name, const char* value);
  auto* const set = reinterpret_cast<Setter>(dlsym(handle_, "ucs_global_opts_set_value"));
  if (set && !std::getenv("UCX_LOG_LEVEL")) set("LOG_LEVEL", "fatal");
}

std::string UcxLibrary::path() const {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(functions_.get_version), &info) && info.dli_fname ? info.dli_fname
                                                                                          : "";
}

void UcxLibrary::check(ucx::Status status, const char* what) const {
  if (status < 0)
    throw Failure(FailureKind::kNetwork, std::string(what) + ": " + functions_.status_string(status));
}

ucx::Context UcxLibrary::context() const {
  ucx::Config config = nullptr;
  check(functions_.config_read(nullptr, nullptr, &config), "ucp_config_read");
  ucx::ContextParams params{};
  params.field_mask = ucx::ContextParams::kFeatures;
  params.features = ucx::ContextParams::kTag | ucx::ContextParams::kWakeup;
  ucx::Context context = nullptr;
  const ucx::Status status = functions_.init_version(ucx::kMajor, ucx::kMinor, &params, config, &context);
  functions_.config_release(config);
  check(status, "ucp_init");
  return context;
}

// The library tells its resources only in the text that it prints: lines with "resource" whose last word is
// "transport/device".
std::vector<std::string> UcxLibrary::resources() const {
  const ucx::Context context = this->context();
  char* text = nullptr;
  size_t bytes = 0;
  if (FILE* stream = open_memstream(&text, &bytes)) {
    functions_.context_print_info(context, stream);
    fclose(stream);
  }
  functions_.cleanup(context);
  const std::unique_ptr<char, void (*)(void*)> owner(text, std::free);
  std::vector<std::string> list;
  std::istringstream lines(text ? text : "");
  for (std::string line; std::getline(lines, line);) {
    const size_t last = line.find_last_not_of(' ');
    if (last == std::string::npos || line.find(" resource ") == std::string::npos) continue;
    const size_t begin = line.find_last_of(' ', last) + 1;
    if (line.find('/', begin) != std::string::npos) list.push_back(line.substr(begin, last + 1 - begin));
  }
  return list;
}

}  // namespace tl::distributed
