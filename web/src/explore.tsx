// The page of `syndrome explore`: the whole run, a part of it as lanes, its events one by one, and
// the findings with their places in it.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Counts, Findings, Match, Row, TraceInfo, View } from "./api";
import { ask, findNext } from "./api";
import { Detail } from "./detail";
import { List } from "./list";
import type { Item } from "./model";
import { itemsOf, many, picturesOf, threadWords } from "./model";
import { Rows } from "./rows";
import { useTheme } from "./theme";
import type { Mark, Range } from "./timeline";
import { kLane, Overview, ThreadLanes, useSize } from "./timeline";

const kFewest = 12; // events that a view has at least
const kSingles = 400; // of at most so many, each is drawn by itself
const kPadding = 32; // of the stage, left and right together

function cut(range: Range, events: number): Range {
  const size = Math.min(events, Math.max(Math.min(kFewest, events), range.to - range.from + 1));
  const from = Math.max(1, Math.min(events - size + 1, Math.round(range.from)));
  return { from, to: from + Math.round(size) - 1 };
}

/** From the first event that a finding is about to the last, and something around it. */
function rangeOf(item: Item, events: number): Range {
  const all = item.finding.sites.map((site) => site.event);
  for (const block of item.finding.blocks) all.push(block.begin, ...(block.end ? [block.end] : []));
  if (all.length === 0) all.push(item.finding.event);
  const from = all.reduce((a, b) => Math.min(a, b));
  const to = all.reduce((a, b) => Math.max(a, b));
  const margin = Math.max(3, Math.ceil((to - from) * 0.08));
  return cut({ from: from - margin, to: to + margin }, events);
}

export function Explore(props: { info: TraceInfo }) {
  const { info } = props;
  const whole = { from: 1, to: Math.max(1, info.events) };
  const [range, setRangeTo] = useState<Range>(whole);
  const [overview, setOverview] = useState<View>();
  const [view, setView] = useState<View>();
  const [rows, setRows] = useState<Row[]>([]);
  const [counts, setCounts] = useState<Counts>();
  const [cursor, setCursor] = useState(0);
  const [findings, setFindings] = useState<Findings>({ state: "none" });
  const [item, setItem] = useState<Item>();
  const [tab, setTab] = useState<"events" | "finding">("events");
  const [hit, setHit] = useState<{ match: Match; event: number }>();
  const [problem, setProblem] = useState("");
  const [help, setHelp] = useState(false);
  const [top, setTop] = useState(0);
  const [themeButton, painted] = useTheme();
  const [stage, size] = useSize();
  const lanes = Math.min(info.threads, 256);
  const names = size.width < 600 ? 84 : 150; // pixels for the names of the threads
  const width = Math.max(120, size.width - kPadding - names);
  const shownLanes = Math.max(1, Math.min(lanes, 7));
  const failed = (error: unknown) => {
    if (!(error instanceof DOMException && error.name === "AbortError")) setProblem(`${error instanceof TypeError ? "the server does not answer: has it ended?" : error}`);
  };

  const setRange = (next: Range) => setRangeTo(cut(next, info.events));
  const zoom = (factor: number, at: number) => {
    const left = (at - range.from) * factor;
    setRange({ from: at - left, to: at - left + (range.to - range.from + 1) * factor - 1 });
  };
  const middle = cursor >= range.from && cursor <= range.to ? cursor : Math.round((range.from + range.to) / 2);
  const pan = (by: number) => setRange({ from: range.from + by, to: range.to + by });
  /** To an event, near enough to see it by itself. */
  const goTo = (event: number) => {
    setCursor(event);
    setTab("events");
    const half = Math.min(30, Math.floor((range.to - range.from) / 2));
    setRange({ from: event - half, to: event + half });
  };

  // Findings: asked for again for as long as the check runs.
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const abort = new AbortController();
    const look = () =>
      ask<Findings>("findings", {}, abort.signal).then((known) => {
        setFindings(known);
        if (known.state === "running") timer = setTimeout(look, 700);
      }, failed);
    look();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, []);
  const reports = findings.state === "ready" ? findings.reports : [];
  const items = useMemo(() => itemsOf(reports).filter((each) => !each.leftOut), [findings]);

  useEffect(() => {
    ask<View>("view", { from: 1, to: info.events, columns: 700, threads: 16 }).then(setOverview, failed);
  }, []);
  // What is shown; what was asked for before that is not waited for.
  useEffect(() => {
    if (size.width === 0) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      setProblem("");
      ask<View>("view", { from: range.from, to: range.to, columns: Math.round(width / 2), thread: top, threads: shownLanes + 1 }, abort.signal).then(setView, failed);
      const single = range.to - range.from < kSingles;
      if (single) ask<{ events: Row[] }>("events", { from: range.from, count: range.to - range.from + 1 }, abort.signal).then((found) => setRows(found.events), failed);
      else setRows([]);
      ask<Counts>("counts", range as unknown as Record<string, number>, abort.signal).then(setCounts, failed);
    }, 40);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [range.from, range.to, top, width]);

  const threads = useMemo(() => new Map(info.lanes.map(([name], i) => [name, i])), [info]);
  const known = useMemo(() => new Map(rows.map(([event, thread]) => [event, thread])), [rows]);
  const sites = useMemo(() => {
    const found = new Map<number, number>();
    for (const each of items) for (const site of each.finding.sites) {
      const thread = threads.get(threadWords(site.thread));
      if (thread !== undefined) found.set(site.event, thread);
    }
    return found;
  }, [items]);
  const threadOf = (event: number) => known.get(event) ?? sites.get(event);
  const marks = useMemo(() => {
    const all: Mark[] = [];
    for (const each of items.slice(0, 2000)) all.push({ event: each.finding.event, kind: "finding" });
    for (const site of item?.finding.sites ?? []) all.push({ event: site.event, kind: "chosen" });
    if (hit) all.push({ event: hit.event, kind: "hit" });
    return all;
  }, [items, item, hit]);
  const arrows = useMemo(() => (item ? (picturesOf(item.finding)[0]?.arrows ?? []) : []), [item]);

  const select = (next: Item) => {
    setItem(next);
    setTab("finding");
    const found = rangeOf(next, info.events);
    setRange(found);
    const first = next.finding.sites[0]?.event ?? next.finding.event;
    setCursor(first);
    const lane = sites.get(first);
    if (lane !== undefined && (lane < top || lane >= top + shownLanes)) setTop(Math.max(0, Math.min(lanes - shownLanes, lane)));
  };

  const [search, setSearch] = useState("");
  const searching = useRef<AbortController | undefined>(undefined);
  const [way, setWay] = useState("");
  const searchField = useRef<HTMLInputElement>(null);
  const step = (match: Match, from: number, by: 1 | -1) => {
    searching.current?.abort();
    const abort = new AbortController();
    searching.current = abort;
    setWay("looking …");
    findNext(match, from, by, abort.signal, (at) => setWay(`looking, at event ${at.toLocaleString("en-US")} …`)).then((event) => {
      setWay(event === 0 ? (by > 0 ? "no further one" : "none before") : "");
      if (event === 0) return;
      setHit({ match, event });
      goTo(event);
    }, failed);
  };

  useLayoutEffect(() => {  // what a key does is what is shown, at once
    const pressed = (key: KeyboardEvent) => {
      if (key.ctrlKey || key.metaKey || key.altKey) return;
      if (key.key === "Escape") {
        if (key.target instanceof HTMLElement) key.target.blur();
        setHelp(false);
        setSearch("");
        return;
      }
      if (key.target instanceof HTMLInputElement) return;
      const inRows = (key.target as HTMLElement).closest?.(".rows, .list") != null;
      const quarter = Math.max(1, Math.round((range.to - range.from + 1) / 4));
      const findingStep = key.key === "j" ? 1 : key.key === "k" ? -1 : 0;
      if (key.key === "+" || key.key === "=") zoom(0.5, middle);
      else if (key.key === "-") zoom(2, middle);
      else if (key.key === "0") setRange(whole);
      else if (key.key === "ArrowLeft") pan(-quarter);
      else if (key.key === "ArrowRight") pan(quarter);
      else if ((key.key === "ArrowUp" || key.key === "ArrowDown") && !inRows && lanes > shownLanes) setTop(Math.max(0, Math.min(lanes - shownLanes, top + (key.key === "ArrowDown" ? 1 : -1))));
      else if (findingStep !== 0 && items.length > 0) select(items[Math.max(0, Math.min(items.length - 1, (item ? items.indexOf(item) : -1) + findingStep))]!);
      else if (key.key === "n" && hit) step(hit.match, hit.event + 1, 1);
      else if (key.key === "p" && hit) step(hit.match, hit.event, -1);
      else if (key.key === "/") searchField.current?.focus();
      else if (key.key === "?") setHelp((on) => !on);
      else return;
      key.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });

  const shown = range.to - range.from + 1;
  return (
    <div class="app explore">
      <header class="top">
        <h1>Syndrome</h1>
        <div class="summary">
          <p>
            <b>{info.file}</b>{" "}
            <span class="faint">
              {many(info.events, "event")}, {many(info.threads, "thread")}, {many(info.variables, "variable")}, {many(info.locks, "lock")}
            </span>
            {info.warnings.length > 0 && <span class="warn"> {info.warnings.join(" ")}</span>}
          </p>
        </div>
        <Search text={search} onText={setSearch} field={searchField} events={info.events} onEvent={goTo} onMatch={(match) => step(match, 1, 1)} />
        <div class="tools">
          <button aria-label="Keys" title="Keys (?)" onClick={() => setHelp(!help)}>?</button>
          {themeButton}
        </div>
      </header>
      {help && (
        <p class="help" role="note">
          <kbd>+</kbd> <kbd>-</kbd> or the wheel: nearer, further · <kbd>←</kbd> <kbd>→</kbd> or drag: along the run · <kbd>0</kbd> whole run · <kbd>/</kbd> search, <kbd>n</kbd> <kbd>p</kbd> next and previous place · <kbd>j</kbd> <kbd>k</kbd> next and previous finding · <kbd>?</kbd> this
        </p>
      )}
      {problem && <p class="problem" role="alert">{problem}</p>}
      <section class="stage" ref={stage} aria-label="The run">
        <div class="strip">
          <span class="strip-name" style={{ width: `${names}px` }}>whole run<small>drag to choose a part</small></span>
          <Overview info={info} view={overview} range={range} marks={marks} width={width} painted={painted} onRange={setRange} />
        </div>
        <div class="bar">
          <span class="range" aria-live="polite">
            {shown === info.events ? "all" : "events"} {range.from.toLocaleString("en-US")} – {range.to.toLocaleString("en-US")} <span class="faint">({many(shown, "event")})</span>
          </span>
          <span class="buttons">
            <button onClick={() => pan(-Math.ceil(shown / 2))} aria-label="Earlier">◀</button>
            <button onClick={() => zoom(2, middle)} aria-label="Further away">−</button>
            <button onClick={() => zoom(0.5, middle)} aria-label="Nearer">+</button>
            <button onClick={() => pan(Math.ceil(shown / 2))} aria-label="Later">▶</button>
            <button onClick={() => setRange(whole)} disabled={shown === info.events}>whole run</button>
          </span>
          {hit && (
            <span class="hit">
              {hit.match[0]} <code>{hit.match[2]}</code>
              <button onClick={() => step(hit.match, hit.event, -1)} aria-label="Previous place">↑</button>
              <button onClick={() => step(hit.match, hit.event + 1, 1)} aria-label="Next place">↓</button>
            </span>
          )}
          {way && <span class="faint" role="status">{way}</span>}
          <Legend single={rows.length > 0} />
        </div>
        <div class="lane-box" style={{ height: `${shownLanes * kLane + 22}px` }}>
          <div
            class="lane-names"
            style={{ width: `${names}px` }}
            onWheel={(wheel) => lanes > shownLanes && setTop(Math.max(0, Math.min(lanes - shownLanes, top + Math.sign(wheel.deltaY))))}
          >
            {info.lanes.slice(top, top + shownLanes).map(([name, events], i) => (
              <div key={top + i} class="lane-label" style={{ height: `${kLane}px`, color: `var(--lane-${(top + i) % 6})` }} title={`${name}: ${many(events, "event")}`}>
                <b>{name}</b>
                <small>{many(events, "event")}</small>
              </div>
            ))}
            {lanes > shownLanes && (
              <div class="lane-more">
                <button disabled={top === 0} onClick={() => setTop(Math.max(0, top - shownLanes))} aria-label="Threads above">▲</button>
                <button disabled={top >= lanes - shownLanes} onClick={() => setTop(Math.min(lanes - shownLanes, top + shownLanes))} aria-label="Threads below">▼</button>
                <small class="faint">{top + 1}–{top + shownLanes} of {info.threads}</small>
              </div>
            )}
          </div>
          <ThreadLanes info={info} view={view} rows={rows} range={range} top={top} count={shownLanes} width={width} marks={marks} arrows={arrows} cursor={cursor} painted={painted} threadOf={threadOf} onZoom={zoom} onPan={pan} onPick={(event) => { setCursor(event); setTab("events"); }} />
        </div>
        <CountLine counts={counts} indent={names} />
      </section>
      <main>
        <div class="left">
          <FindingState findings={findings} count={items.length} />
          {items.length > 0 && <List items={items} selected={item} onSelect={select} traces={reports.length > 1} />}
        </div>
        <div class="right">
          <div class="tabs" role="tablist">
            <button role="tab" aria-selected={tab === "events"} onClick={() => setTab("events")}>Events</button>
            <button role="tab" aria-selected={tab === "finding"} disabled={!item} onClick={() => setTab("finding")}>Finding</button>
          </div>
          {tab === "finding" && item ? (
            <div class="scrolls">
              <Detail key={items.indexOf(item)} item={item} colours={threads} onBack={() => setTab("events")} />
            </div>
          ) : (
            <Rows info={info} at={cursor >= range.from && cursor <= range.to ? cursor : range.from} cursor={cursor} marked={new Set(item?.finding.sites.map((site) => site.event))} onPick={(event) => { setCursor(event); if (event < range.from || event > range.to) pan(event - middle); }} onFail={failed} />
          )}
        </div>
      </main>
    </div>
  );
}

function Legend(props: { single: boolean }) {
  return (
    <span class="legend faint">
      {!props.single && <span><i class="key-inside" /> in a block</span>}
      {!props.single && <span><i class="key-outside" /> outside; height: the thread's share of the events</span>}
      <span><i class="key-block" /> block</span>
      <span><i class="key-wait" /> waits for a lock</span>
      <span><i class="key-finding">▲</i> finding</span>
    </span>
  );
}

/** What happens in the part that is shown, in one line. */
function CountLine(props: { counts: Counts | undefined; indent: number }) {
  const { counts } = props;
  const style = { marginLeft: `${props.indent}px` };
  if (!counts) return <p class="counts faint" style={style}>&nbsp;</p>;
  const kind = (...names: string[]) => counts.kinds.filter(([name]) => names.includes(name)).reduce((n, [, count]) => n + count, 0);
  const parts = [
    many(kind("r"), "read"),
    many(kind("w", "rmw"), "write"),
    many(kind("acq", "acq_shared"), "lock") + " taken",
    many(kind("begin"), "block") + " begun",
    kind("enter") > 0 ? many(kind("enter"), "call") : "",
    counts.waits > 0 ? `${many(counts.waits, "wait")} for a lock` : "no wait for a lock",
  ];
  return <p class="counts faint" style={style}>Shown: {parts.filter(Boolean).join(", ")}; by {many(counts.threads, "thread")}.</p>;
}

function FindingState(props: { findings: Findings; count: number }) {
  const { findings } = props;
  if (findings.state === "running") {
    const part = findings.total > 0 ? Math.round((100 * findings.done) / findings.total) : 0;
    return (
      <p class="state" role="status">
        Checking … {findings.pass > 1 ? `look ${findings.pass}, ` : ""}{part}%
      </p>
    );
  }
  if (findings.state === "failed") return <p class="state warn" role="status">This trace cannot be checked: {findings.error}</p>;
  if (findings.state === "none") return <p class="state faint" role="status">Nothing was checked.</p>;
  const verdicts = findings.reports.flatMap((report) => report.checks.map((entry) => `${entry.check}: ${entry.verdict}`));
  return (
    <p class="state" role="status">
      <b>{many(props.count, "finding")}</b> <span class="faint">{verdicts.join(", ")}</span>
    </p>
  );
}

/** A number is an event; anything else is a part of a name. */
function Search(props: { text: string; onText: (text: string) => void; field: { current: HTMLInputElement | null }; events: number; onEvent: (event: number) => void; onMatch: (match: Match) => void }) {
  const { text, onText, events } = props;
  const [matches, setMatches] = useState<Match[]>([]);
  const [at, setAt] = useState(0);
  const number = /^#?[0-9][0-9,_]*$/.test(text.trim()) ? Number(text.replace(/[^0-9]/g, "")) : 0;
  useEffect(() => {
    setAt(0);
    if (text.trim() === "") {
      setMatches([]);
      return;
    }
    const abort = new AbortController();
    const timer = setTimeout(() => ask<{ matches: Match[] }>("names", { text: text.trim() }, abort.signal).then((found) => setMatches(found.matches), () => {}), 120);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  const toEvent = number >= 1 && number <= events;
  const options = [...(toEvent ? [undefined] : []), ...matches];
  const choose = (index: number) => {
    const option = options[index];
    if (options.length === 0) return;
    if (option === undefined) props.onEvent(number);
    else props.onMatch(option);
    onText("");
    props.field.current?.blur();
  };
  return (
    <div class="search">
      <input
        ref={props.field}
        type="search"
        aria-label="Search"
        placeholder="variable, function, thread, lock, event number ( / )"
        value={text}
        onInput={(event) => onText(event.currentTarget.value)}
        onKeyDown={(key) => {
          if (key.key === "Enter") choose(at);
          else if (key.key === "ArrowDown") setAt(Math.min(options.length - 1, at + 1));
          else if (key.key === "ArrowUp") setAt(Math.max(0, at - 1));
          else return;
          key.preventDefault();
        }}
      />
      {text.trim() !== "" && (
        <ul class="matches" role="listbox">
          {options.map((option, i) => (
            <li key={i} role="option" aria-selected={i === at} onMouseDown={(mouse) => { mouse.preventDefault(); choose(i); }}>
              {option === undefined ? <>event <code>{number.toLocaleString("en-US")}</code></> : <><span class="faint">{option[0]}</span> <code>{option[2]}</code></>}
            </li>
          ))}
          {options.length === 0 && <li class="faint">{number > events ? `the last event is ${events.toLocaleString("en-US")}` : "no name holds that"}</li>}
        </ul>
      )}
    </div>
  );
}
