#include "check/print/print.h"

#include <fmt/format.h>

#include <iterator>

#include "event/clean.h"

namespace syndrome::check {
namespace {

class PrintCheck final : public Check {
 public:
  explicit PrintCheck(const Options& options) : out_(options.out) {}

  void take(const Batch& batch, const Names& names) override {
    // A check that wants to see the trace again does not have it printed again.
    if (over_ || !out_) return;
    print_.take(batch, names);
    out_(print_.text());
    print_.text().clear();
  }
  bool satisfied() const override { return over_; }
  bool end_of_pass(const Names&) override {
    over_ = true;
    return false;
  }
  CheckResult result() override {
    CheckResult result;
    result.check = "print";
    return result;
  }

 private:
  std::function<void(std::string_view)> out_;
  Print print_{true};
  bool over_ = false;
};

}  // namespace

void append_std(std::string& text, const Event& event, const Names& names) {
  text += clean(names.thread(event.thread));
  text += '|';
  text += word_of(event.kind, event.order);
  text += '(';
  if (const std::optional<Space> space = target_space(event.kind)) {
    text += clean(names.of(*space, event.target));
  }
  text += ")|";
  const std::string_view site = names.site(event.site);
  text += site.empty() ? std::string("0") : clean(site);
}

void Print::take(const Batch& batch, const Names& names) {
  names_ = &names;
  dispatch(*this, batch);
  names_ = nullptr;
}

void Print::line(const Event& event, EventNumber number) {
  if (numbered_) fmt::format_to(std::back_inserter(text_), "{}\t", number);
  append_std(text_, event, *names_);
  text_ += '\n';
}

std::unique_ptr<Check> make_print(const Options& options) {
  return std::make_unique<PrintCheck>(options);
}

}  // namespace syndrome::check
