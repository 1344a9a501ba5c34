// What the page asks and what it gets: JSON about a trace. The paths are relative to the page.
//
//   (nothing)                                   the page itself (web/)
//   api/trace                                   what the trace is, its threads
//   api/view?from=&to=&columns=&thread=&threads=   explore::View; for few events also Spans
//   api/events?from=&count=                     single events in words
//   api/counts?from=&to=                        how often each thread did what
//   api/names?text=                             names that hold the text
//   api/find?space=&id=&from=&step=             explore::Explorer::find; step is 1 or -1
//   api/findings                                what is known of findings
//
// `to` is the last event, included. Whatever is out of range is cut to it; what is no number, or
// not there, is answered with 400 and a word on what was expected.

#pragma once

#include <functional>
#include <string>

#include "explore/explorer.h"
#include "explore/server.h"

namespace syndrome::explore {

class Answers {
 public:
  /// `file`: as the page calls the trace. `findings`: JSON, called by any thread.
  Answers(Explorer& explorer, std::string file, std::function<std::string()> findings)
      : explorer_(explorer), file_(std::move(file)), findings_(std::move(findings)) {}

  [[nodiscard]] Answer operator()(const Request& request) const;

 private:
  [[nodiscard]] Result<std::string> trace() const;
  [[nodiscard]] Result<std::string> view(const Request& request) const;
  [[nodiscard]] Result<std::string> events(const Request& request) const;
  [[nodiscard]] Result<std::string> counts(const Request& request) const;
  [[nodiscard]] Result<std::string> names(const Request& request) const;
  [[nodiscard]] Result<std::string> find(const Request& request) const;

  Explorer& explorer_;
  std::string file_;
  std::function<std::string()> findings_;
};

}  // namespace syndrome::explore
