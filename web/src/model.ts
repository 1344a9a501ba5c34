// The JSON of a report as src/report/json.cc writes it for this page, and what the views ask of it.

export interface Place {
  file?: string;
  line?: number;
  column?: number;
  function?: string;
  location?: string;
}

export interface Frame extends Place {
  library?: boolean;
}

export interface Held extends Place {
  lock: string;
  event: number;
  shared?: boolean;
}

export interface Site extends Place {
  event: number;
  thread: string;
  op: string;
  target?: string;
  says: string;
  own?: Place;
  block?: number;
  locks?: string[];
  held?: Held[];
  stack?: number;
  deeper?: number;
}

export interface Block extends Place {
  begin: number;
  end?: number;
  thread: string;
  label?: string;
  name: string;
}

export interface Created extends Place {
  thread: string;
  fork: number;
  creator: string;
  stack?: number;
}

export interface Finding {
  check: string;
  rule: string;
  certainty: "observed" | "predicted" | "confirmed";
  message: string;
  event: number;
  fingerprint: string;
  count: number;
  block?: number;
  cycle?: { from: number; to: number }[];
  events?: number[];
  pattern?: number;
  set?: string;
  read?: number;
  write?: number;
  challenger?: number;
  variable?: string;
  schedule?: number[];
  sites: Site[];
  blocks: Block[];
  threads?: Created[];
  headline: string;
  edges: string[];
  conclusion: string;
  fix: string;
  command: string;
  suppressed_by?: number;
}

export interface CheckReport {
  check: string;
  engine?: string;
  verdict: "clean" | "violated" | "undecided";
  seconds: number;
  findings: Finding[];
  complete?: boolean;
  left_out?: Finding[];
  suppressed?: { line: number; suppression: string; findings: number }[];
  baseline?: { known: number; gone?: number };
  notes?: string[];
}

export interface Report {
  tool: { name: string; version: string };
  trace: {
    file: string;
    events: number;
    threads: number;
    variables: number;
    locks: number;
    blocks: number;
    warnings?: string[];
    whole?: boolean;
    interrupted?: boolean;
  };
  checks: CheckReport[];
  sources?: { file: string; changed?: boolean; lines: { line: number; text: string }[] }[];
  stacks: Frame[][];
  rules: Record<string, { summary: string; help: string }>;
}

/** A finding in the list. */
export interface Item {
  finding: Finding;
  report: Report;
  leftOut: boolean;
  files: string[];
  functions: string[];
  words: string; // lower case, for searching
}

export interface Filter {
  text: string;
  check: string;
  certainty: string;
  file: string;
  function: string;
  trace: string;
  leftOut: boolean;
}

export const noFilter: Filter = {
  text: "",
  check: "",
  certainty: "",
  file: "",
  function: "",
  trace: "",
  leftOut: false,
};

export function threadWords(thread: string): string {
  return /^[0-9]+$/.test(thread) ? `thread ${thread}` : thread;
}

/** Without parameters: `bank::Account::transfer(int)` is `bank::Account::transfer`. */
export function functionWords(name: string): string {
  const at = name.indexOf("(");
  return at > 0 ? name.slice(0, at) : name;
}

export function ownPlace(site: Site): Place {
  return site.own ?? site;
}

/** "bank.cc:12", or what the trace has instead. */
export function placeWords(place: Place): string {
  if (!place.file) return place.location ?? "";
  return `${place.file.slice(place.file.lastIndexOf("/") + 1)}:${place.line ?? 0}`;
}

export function many(n: number, noun: string): string {
  return `${n.toLocaleString("en-US")} ${noun}${n === 1 ? "" : "s"}`;
}

function item(finding: Finding, report: Report, leftOut: boolean): Item {
  const files = new Set<string>();
  const functions = new Set<string>();
  const words = [finding.headline, finding.rule, finding.fingerprint, String(finding.event)];
  for (const site of finding.sites) {
    const place = ownPlace(site);
    if (place.file) files.add(place.file);
    const name = place.function ?? (site.stack === undefined ? "" : report.stacks[site.stack]?.[0]?.function);
    if (name) functions.add(functionWords(name));
    words.push(site.says, site.thread, placeWords(place));
  }
  for (const block of finding.blocks) {
    if (block.file) files.add(block.file);
    if (block.label) functions.add(functionWords(block.label));
  }
  return {
    finding,
    report,
    leftOut,
    files: [...files],
    functions: [...functions],
    words: [...words, ...files, ...functions].join(" ").toLowerCase(),
  };
}

export function itemsOf(reports: Report[]): Item[] {
  const items: Item[] = [];
  for (const report of reports) {
    for (const entry of report.checks) {
      for (const finding of entry.findings) items.push(item(finding, report, false));
    }
    for (const entry of report.checks) {
      for (const finding of entry.left_out ?? []) items.push(item(finding, report, true));
    }
  }
  return items;
}

export function passes(filter: Filter, it: Item): boolean {
  return (
    (!it.leftOut || filter.leftOut) &&
    (filter.check === "" || it.finding.check === filter.check) &&
    (filter.certainty === "" || it.finding.certainty === filter.certainty) &&
    (filter.file === "" || it.files.includes(filter.file)) &&
    (filter.function === "" || it.functions.includes(filter.function)) &&
    (filter.trace === "" || it.report.trace.file === filter.trace) &&
    filter.text
      .toLowerCase()
      .split(/\s+/)
      .every((word) => it.words.includes(word))
  );
}

/** The values that a filter can have, most frequent first, with how often. */
export function tally(items: Item[], values: (it: Item) => string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const it of items) {
    for (const value of values(it)) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

/** An event of a finding, or the begin or end of one of its blocks: a row of the picture. */
export interface Step {
  event: number;
  thread: string;
  says: string;
  place: Place;
  site?: Site;
  block?: Block; // that it begins or ends
  ends: boolean;
  within: number; // begin of the block that it belongs to; 0: none
}

/** Without addresses (count_@7ffe12…), where no two objects have to be told apart. */
function shortSays(finding: Finding): (site: Site) => string {
  const objects = new Map<string, Set<string>>();
  const field = (target: string) => target.replace(/@[0-9a-f]+$/, "");
  for (const { target } of finding.sites) {
    if (target) objects.set(field(target), (objects.get(field(target)) ?? new Set()).add(target));
  }
  return ({ says, target }) =>
    target && objects.get(field(target))!.size === 1 ? says.replace(target, () => field(target)) : says;
}

export function stepsOf(finding: Finding): Step[] {
  const steps: Step[] = [];
  const short = shortSays(finding);
  const blocks = new Map(finding.blocks.map((block) => [block.begin, block]));
  const known = new Set(finding.sites.map((site) => site.event));
  for (const site of finding.sites) {
    const begins = site.op === "begin" ? blocks.get(site.event) : undefined;
    steps.push({
      event: site.event,
      thread: site.thread,
      says: short(site),
      place: ownPlace(site),
      site,
      block: begins,
      ends: false,
      within: begins ? site.event : (site.block ?? 0),
    });
  }
  for (const block of finding.blocks) {
    const row = { thread: block.thread, block, within: block.begin };
    const name = block.label ? functionWords(block.label) : "a block";
    if (!known.has(block.begin)) {
      steps.push({ ...row, event: block.begin, says: `begins ${name}`, place: block, ends: false });
    }
    if (block.end && !known.has(block.end)) {
      steps.push({ ...row, event: block.end, says: `ends ${name}`, place: {}, ends: true });
    }
  }
  return steps.sort((a, b) => a.event - b.event);
}

/** An arrow of the picture. */
export interface Arrow {
  from: number;
  to: number;
  label: string;
  kind: "cycle" | "unordered" | "next" | "reads";
  title: string;
}

export interface Picture {
  title: string;
  steps: Step[];
  arrows: Arrow[];
  note: string;
}

export function letter(index: number): string {
  let name = "";
  for (let rest = index + 1; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    name = String.fromCharCode(65 + ((rest - 1) % 26)) + name;
  }
  return name;
}

function arrowsOf(finding: Finding): Arrow[] {
  const events = finding.events ?? [];
  if (finding.cycle?.length) {
    return finding.cycle.map(({ from, to }, i) => ({
      from,
      to,
      label: letter(i),
      kind: "cycle" as const,
      title: finding.edges[i] || `event ${from} conflicts with event ${to} and comes before it`,
    }));
  }
  if (finding.rule === "pattern") {
    return events.slice(1).map((to, i) => ({
      from: events[i]!,
      to,
      label: String(i + 1),
      kind: "next" as const,
      title: `event ${events[i]} comes before event ${to}`,
    }));
  }
  if (events.length === 2) {
    return [
      { from: events[0]!, to: events[1]!, label: "?", kind: "unordered", title: "nothing orders these two" },
    ];
  }
  return [];
}

function source(write: number | undefined): string {
  return write ? `what event ${write} wrote` : "the initial value";
}

/** What is drawn of a finding: the order that was observed and, where there is one, the predicted. */
export function picturesOf(finding: Finding): Picture[] {
  const steps = stepsOf(finding);
  if (!finding.schedule?.length) {
    return [{ title: "", steps, arrows: arrowsOf(finding), note: "" }];
  }
  const order = new Map(finding.schedule.map((event, i) => [event, i]));
  const other = steps
    .filter((step) => order.has(step.event))
    .sort((a, b) => order.get(a.event)! - order.get(b.event)!);
  const reads = (write: number | undefined): Arrow[] =>
    finding.read && write
      ? [{ from: write, to: finding.read, label: "=", kind: "reads", title: `event ${finding.read} reads what event ${write} wrote` }]
      : [];
  const note = (write: number | undefined): string =>
    finding.read
      ? `Event ${finding.read} reads ${source(write)}.`
      : `At the end, ${finding.variable ?? "the variable"} has ${source(write)}.`;
  return [
    { title: "As it ran", steps, arrows: reads(finding.write), note: note(finding.write) },
    { title: "As it could run", steps: other, arrows: reads(finding.challenger), note: note(finding.challenger) },
  ];
}

/** The lines of the source around a place. */
export function linesAround(report: Report, place: Place): { line: number; text: string }[] {
  const found = report.sources?.find((each) => each.file === place.file);
  if (!found || !place.line) return [];
  const at = place.line;
  return found.lines.filter(({ line }) => line >= at - 3 && line <= at + 3);
}

export function lineAt(report: Report, place: Place): string {
  return linesAround(report, place).find(({ line }) => line === place.line)?.text.trim() ?? "";
}
