#include "report/report.h"

#include <algorithm>

#include "report/fingerprint.h"
#include "report/words.h"

namespace syndrome::report {
namespace {

std::string target_of(const Event& event, const Names& names) {
  const std::optional<Space> space = target_space(event.kind);
  return space ? std::string(names.of(*space, event.target)) : std::string();
}

Site make_site(const check::Witness& witness, const Names& names) {
  Site site;
  site.event = witness.number;
  site.thread = names.thread(witness.event.thread);
  site.op = witness.event.kind;
  site.target = target_of(witness.event, names);
  site.place = parse_place(names.site(witness.event.site));
  site.block = witness.block;
  for (const LockId lock : witness.locks) site.locks.emplace_back(names.lock(lock));
  return site;
}

Block make_block(const check::Witness& witness, const Names& names) {
  Block block;
  block.begin = witness.block;
  block.end = witness.block_end;
  block.thread = names.thread(witness.block_begin.thread);
  block.label = names.label(witness.block_begin.label());
  block.place = parse_place(names.site(witness.block_begin.site));
  return block;
}

Finding make_finding(const check::Finding& found, const Names& names) {
  Finding finding;
  finding.check = found.check;
  finding.rule = found.rule;
  finding.certainty = found.certainty;
  finding.event = found.event;
  finding.block = found.block;
  finding.cycle = found.cycle;
  finding.count = found.count;
  for (const check::Witness& witness : found.witnesses) {
    finding.sites.push_back(make_site(witness, names));
    if (witness.block == 0 || finding.block_at(witness.block) != nullptr) continue;
    const Block block = make_block(witness, names);
    finding.blocks.insert(std::ranges::upper_bound(finding.blocks, block.begin, {}, &Block::begin),
                          block);
  }
  finding.message = message_of(finding);
  finding.fingerprint = fingerprint_of(finding);
  return finding;
}

}  // namespace

const Site* Finding::site_at(EventNumber event_number) const {
  const auto it = std::ranges::lower_bound(sites, event_number, {}, &Site::event);
  return it != sites.end() && it->event == event_number ? &*it : nullptr;
}

const Block* Finding::block_at(EventNumber begin) const {
  const auto it = std::ranges::lower_bound(blocks, begin, {}, &Block::begin);
  return it != blocks.end() && it->begin == begin ? &*it : nullptr;
}

Report make_report(const std::string& file, const check::PassResult& pass) {
  Report report;
  report.tool_version = SYNDROME_VERSION;
  report.trace.file = file;
  report.trace.format = pass.trace.format;
  report.trace.events = pass.trace.counts.events();
  report.trace.threads = pass.trace.threads;
  report.trace.variables = pass.trace.variables;
  report.trace.locks = pass.trace.locks;
  report.trace.blocks = pass.trace.counts.blocks;
  report.trace.passed_over = pass.trace.counts.dropped;
  report.trace.whole = pass.trace.whole;
  report.trace.interrupted = pass.interrupted;
  report.trace.warnings = pass.warnings;
  report.seconds = pass.seconds;
  for (const check::CheckResult& result : pass.results) {
    CheckReport& entry = report.checks.emplace_back();
    entry.check = result.check;
    entry.engine = result.engine;
    entry.verdict = result.verdict;
    entry.seconds = result.seconds;
    entry.notes = result.notes;
    entry.stats = result.stats;
    entry.findings.reserve(result.findings.size());
    for (const check::Finding& finding : result.findings) {
      entry.findings.push_back(make_finding(finding, pass.names));
    }
  }
  return report;
}

}  // namespace syndrome::report
