import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Detail } from "./detail";
import { List } from "./list";
import type { CheckReport, Filter, Item, Report } from "./model";
import { itemsOf, many, noFilter, passes, tally } from "./model";
import { useTheme } from "./theme";

/** The finding that the address names, if any: so that a link can lead to it. */
function named(items: Item[]): Item | undefined {
  const fingerprint = decodeURIComponent(location.hash.slice(1));
  return fingerprint ? items.find((each) => each.finding.fingerprint === fingerprint) : undefined;
}

export function App(props: { reports: Report[] }) {
  const { reports } = props;
  const items = useMemo(() => itemsOf(reports), [reports]);
  const [filter, setFilter] = useState<Filter>(noFilter);
  const shown = useMemo(() => items.filter((item) => passes(filter, item)), [items, filter]);
  const [selected, setSelected] = useState<Item | undefined>(() => named(items) ?? items.find((item) => !item.leftOut));
  const [open, setOpen] = useState(() => named(items) !== undefined); // on a phone: the finding, not the list
  const [themeButton] = useTheme();
  const [help, setHelp] = useState(false);
  const search = useRef<HTMLInputElement>(null);

  // What is selected is one of those that are shown.
  const current = selected && shown.includes(selected) ? selected : shown[0];

  const select = (item: Item) => {
    setSelected(item);
    setOpen(true);
    try {
      history.replaceState(null, "", `#${encodeURIComponent(item.finding.fingerprint)}`);
    } catch {
      // Some viewers allow no addresses: then there is no link to this finding.
    }
    document.querySelector(".right")?.scrollTo(0, 0);
  };

  useLayoutEffect(() => {  // what a key does is what is shown, at once
    const pressed = (key: KeyboardEvent) => {
      if (key.ctrlKey || key.metaKey || key.altKey) return;
      const inField = key.target instanceof HTMLInputElement || key.target instanceof HTMLSelectElement;
      if (key.key === "Escape") {
        if (inField) (key.target as HTMLElement).blur();
        setHelp(false);
        setOpen(false);
        return;
      }
      if (inField) return;
      const step = key.key === "j" || key.key === "n" ? 1 : key.key === "k" || key.key === "p" ? -1 : 0;
      const arrow = (key.target as HTMLElement).closest?.(".list") ? (key.key === "ArrowDown" ? 1 : key.key === "ArrowUp" ? -1 : 0) : 0;
      const by = step || arrow;
      if (by !== 0 && shown.length > 0) {
        key.preventDefault();
        const at = current ? shown.indexOf(current) : -1;
        select(shown[Math.min(shown.length - 1, Math.max(0, at + by))]!);
      } else if (key.key === "/") {
        key.preventDefault();
        search.current?.focus();
      } else if (key.key === "?") {
        setHelp((on) => !on);
      }
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });

  const choose = (part: Partial<Filter>) => setFilter({ ...filter, ...part });
  const leftOut = items.filter((item) => item.leftOut).length;
  const files = useMemo(() => tally(items, (item) => item.files), [items]);
  const functions = useMemo(() => tally(items, (item) => item.functions), [items]);
  const certainties = useMemo(() => tally(items, (item) => [item.finding.certainty]), [items]);
  const checks = useMemo(() => tally(items, (item) => [item.finding.check]), [items]);
  const filtered = JSON.stringify({ ...filter, leftOut: false }) !== JSON.stringify(noFilter);

  return (
    <div class={open ? "app open" : "app"}>
      <header class="top">
        <h1>Syndrome</h1>
        <Summary reports={reports} onCheck={(check) => choose({ check: filter.check === check ? "" : check })} chosen={filter.check} />
        <div class="tools">
          <button aria-label="Keys" title="Keys (?)" onClick={() => setHelp(!help)}>?</button>
          {themeButton}
        </div>
      </header>
      {help && (
        <p class="help" role="note">
          <kbd>j</kbd> <kbd>k</kbd> next and previous finding · <kbd>/</kbd> search · <kbd>Tab</kbd> to the events and arrows of the picture, <kbd>Enter</kbd> follows an arrow · <kbd>Esc</kbd> back · <kbd>?</kbd> this
        </p>
      )}
      <main>
        <div class="left">
          {items.length > 0 && (
            <div class="filters">
              <input ref={search} type="search" placeholder="Search ( / )" aria-label="Search" value={filter.text} onInput={(event) => choose({ text: event.currentTarget.value })} />
              <Choice name="Check" all="every check" value={filter.check} values={checks} onChange={(check) => choose({ check })} />
              <Choice name="Certainty" all="every certainty" value={filter.certainty} values={certainties} onChange={(certainty) => choose({ certainty })} />
              <Choice name="File" all="every file" value={filter.file} values={files} onChange={(file) => choose({ file })} />
              <Choice name="Function" all="every function" value={filter.function} values={functions} onChange={(name) => choose({ function: name })} />
              {reports.length > 1 && <Choice name="Trace" all="every trace" value={filter.trace} values={tally(items, (item) => [item.report.trace.file])} onChange={(trace) => choose({ trace })} />}
              {leftOut > 0 && (
                <label>
                  <input type="checkbox" checked={filter.leftOut} onChange={(event) => choose({ leftOut: event.currentTarget.checked })} /> also {leftOut} left out
                </label>
              )}
              <p class="count" aria-live="polite">
                {filtered ? `${shown.length.toLocaleString("en-US")} of ${many(items.length - (filter.leftOut ? 0 : leftOut), "finding")}` : many(shown.length, "finding")}
                {filtered && <button onClick={() => setFilter({ ...noFilter, leftOut: filter.leftOut })}>Clear</button>}
              </p>
            </div>
          )}
          {items.length > 0 && <List items={shown} selected={current} onSelect={select} traces={reports.length > 1} />}
        </div>
        <div class="right">
          {current ? <Detail key={items.indexOf(current)} item={current} onBack={() => setOpen(false)} /> : <Nothing reports={reports} any={items.length > leftOut} />}
        </div>
      </main>
    </div>
  );
}

function Choice(props: { name: string; all: string; value: string; values: [string, number][]; onChange: (value: string) => void }) {
  if (props.values.length < 2 && props.value === "") return null;
  return (
    <select aria-label={props.name} value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
      <option value="">{props.all}</option>
      {props.values.map(([value, count]) => (
        <option key={value} value={value}>
          {value.length > 60 ? "…" + value.slice(-59) : value} ({count})
        </option>
      ))}
    </select>
  );
}

function verdictWords(entry: CheckReport): string {
  if (entry.verdict === "violated") return many(entry.findings.length, "finding");
  return entry.verdict;
}

function Summary(props: { reports: Report[]; chosen: string; onCheck: (check: string) => void }) {
  const { reports } = props;
  const first = reports[0];
  const entries = new Map<string, CheckReport[]>();
  for (const report of reports) {
    for (const entry of report.checks) entries.set(entry.check, [...(entries.get(entry.check) ?? []), entry]);
  }
  const notes = reports.flatMap((report) => [...(report.trace.warnings ?? []), ...(report.trace.interrupted ? ["interrupted: this is about the events until then"] : []), ...report.checks.flatMap((entry) => entry.notes ?? [])]);
  return (
    <div class="summary">
      <p>
        {reports.length === 1 && first ? (
          <>
            <b>{first.trace.file}</b>
            <span class="faint">
              {" "}
              {many(first.trace.events, "event")}, {many(first.trace.threads, "thread")}, {many(first.trace.variables, "variable")}, {many(first.trace.locks, "lock")}, {many(first.trace.blocks, "block")}
            </span>
          </>
        ) : (
          <b>{many(reports.length, "trace")}</b>
        )}
        {notes.length > 0 && (
          <details class="notes">
            <summary>{many(notes.length, "note")}</summary>
            <ul>
              {notes.map((note, i) => (
                <li key={i}>{note}</li>
              ))}
            </ul>
          </details>
        )}
      </p>
      <p class="verdicts">
        {[...entries].map(([check, all]) => {
          const worst = all.find((entry) => entry.verdict === "violated") ?? all.find((entry) => entry.verdict === "undecided") ?? all[0]!;
          const findings = all.reduce((n, entry) => n + entry.findings.length, 0);
          return (
            <button key={check} class={`verdict ${worst.verdict}${props.chosen === check ? " chosen" : ""}`} disabled={findings === 0} aria-pressed={props.chosen === check} onClick={() => props.onCheck(check)}>
              {check}: {worst.verdict === "violated" ? many(findings, "finding") : verdictWords(worst)}
            </button>
          );
        })}
      </p>
    </div>
  );
}

function Nothing(props: { reports: Report[]; any: boolean }) {
  if (props.any) return <p class="nothing">Nothing is selected.</p>;
  return (
    <div class="nothing">
      <p>Nothing was found.</p>
      <p class="faint">
        This is what happened in {props.reports.length === 1 ? "one run" : "these runs"}: another schedule or another input may still break something, and code that did not run was not judged.
      </p>
    </div>
  );
}
