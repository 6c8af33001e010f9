// Messages through rings in the memory that ranks share.
#pragma once

#include "group/mail.h"
#include "local/segment.h"

namespace tl::distributed {

class LocalMail final : public Mail {
 public:
  explicit LocalMail(Segment& segment) : segment_(segment) {}

  Membership& members() override { return segment_; }
  int64_t read(int from, char* to, int64_t most) override;
  int64_t write(int to, const char* from, int64_t most) override;
  void check_peer(int rank, const Call& call) override;
  bool is_dead(int rank) override { return segment_.is_dead(rank); }
  uint32_t change_count() override { return segment_.mail_count(); }
  void notify() override { segment_.notify_mail(); }
  void await(uint32_t seen, const std::vector<int>&, const std::vector<int>&, int64_t ns) override {
    segment_.await_mail(seen, ns);
  }

 private:
  Segment& segment_;
};

}  // namespace tl::distributed
