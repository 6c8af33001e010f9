// Messages to the standard error stream: LOG, VLOG and CHECK of c10/util/Logging.h.
#ifndef TL_TORCH_LOGGING_HPP
#define TL_TORCH_LOGGING_HPP

#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <tl/torch/errors.hpp>

namespace c10 {
TL_FACE {
  namespace face {
  enum Severity : int { GLOG_INFO = 0, GLOG_WARNING = 1, GLOG_ERROR = 2, GLOG_FATAL = 3 };

  // The least severity that is written: WARNING, or what TORCH_CPP_LOG_LEVEL says.
  inline int least_severity() {
    static const int least = [] {
      const char* text = std::getenv("TORCH_CPP_LOG_LEVEL");
      const std::string_view name = text ? text : "WARNING";
      if (name == "INFO" || name == "0") return int(GLOG_INFO);
      if (name == "ERROR" || name == "2") return int(GLOG_ERROR);
      return name == "FATAL" || name == "3" ? int(GLOG_FATAL) : int(GLOG_WARNING);
    }();
    return least;
  }

  // Writes its text when it ends. A fatal message raises an error, because an abort would end the
  // interpreter.
  class Message {
   public:
    Message(const char* file, int line, int severity) : severity_(severity) {
      const std::string_view path(file);
      text_ << "[" << "IWEF"[severity < 0 ? 0 : severity] << " " << path.substr(path.find_last_of('/') + 1)
            << ":" << line << "] ";
    }
    ~Message() noexcept(false) {
      if (severity_ == GLOG_FATAL) fail<Error>("", text_.str());
      std::cerr << text_.str() + "\n";
    }
    Message(const Message&) = delete;
    std::ostream& stream() { return text_; }

   private:
    int severity_;
    std::ostringstream text_;
  };
  // Makes a statement of both results of a condition.
  struct Nothing {
    void operator&(const std::ostream&) const {}
  };
  }  // namespace face
}
}  // namespace c10

#define TL_LOG_AT(severity, condition)                          \
  !((condition) && (severity) >= ::c10::face::least_severity()) \
      ? (void)0                                                 \
      : ::c10::face::Nothing() & ::c10::face::Message(__FILE__, __LINE__, severity).stream()
#define LOG(level) TL_LOG_AT(::c10::face::GLOG_##level, true)
#define LOG_IF(level, condition) TL_LOG_AT(::c10::face::GLOG_##level, condition)
#define VLOG(n) TL_LOG_AT(-(n), true)
#define VLOG_IF(n, condition) TL_LOG_AT(-(n), condition)
#define VLOG_IS_ON(n) (-(n) >= ::c10::face::least_severity())
#ifdef NDEBUG
#define DLOG(level) TL_LOG_AT(::c10::face::GLOG_##level, false)
#else
#define DLOG(level) LOG(level)
#endif
#ifndef CHECK
#define CHECK(condition) LOG_IF(FATAL, !(condition)) << "Check failed: " #condition " "
#define CHECK_EQ(a, b) CHECK((a) == (b))
#define CHECK_NE(a, b) CHECK((a) != (b))
#define CHECK_LT(a, b) CHECK((a) < (b))
#define CHECK_LE(a, b) CHECK((a) <= (b))
#define CHECK_GT(a, b) CHECK((a) > (b))
#define CHECK_GE(a, b) CHECK((a) >= (b))
#define CHECK_NOTNULL(pointer) (pointer)
#endif
#ifndef DCHECK
#ifdef NDEBUG
#define DCHECK(condition) TL_LOG_AT(::c10::face::GLOG_FATAL, false)
#else
#define DCHECK(condition) CHECK(condition)
#endif
#endif

#endif  // TL_TORCH_LOGGING_HPP
