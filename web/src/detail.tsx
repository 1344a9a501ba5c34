// All of one finding: the picture, what went wrong, how it is usually fixed, and each event with its
// source, its stack and its locks.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Lanes, laneColour, lanesOf } from "./lanes";
import type { Created, Finding, Frame, Held, Item, Place, Report, Site } from "./model";
import { functionWords, letter, linesAround, many, ownPlace, picturesOf, placeWords, threadWords } from "./model";

function useWidth() {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    setWidth(element.clientWidth);
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width] as const;
}

/** `colours`: which colour a thread has elsewhere, so that it is the same here. */
export function Detail(props: { item: Item; colours?: Map<string, number>; onBack: () => void }) {
  const { finding, report, leftOut } = props.item;
  const [selected, setSelected] = useState(0);
  const [edge, setEdge] = useState(-1);
  const [ref, width] = useWidth();
  const pictures = picturesOf(finding);
  const threads = lanesOf(finding, pictures[0]!);
  for (const picture of pictures.slice(1)) {
    for (const thread of lanesOf(finding, picture)) if (!threads.includes(thread)) threads.push(thread);
  }
  const palette = threads.map((thread, i) => props.colours?.get(threadWords(thread)) ?? i);
  const sideBySide = pictures.length > 1 && width >= 2 * (46 + 150 * threads.length) + 24;
  const room = sideBySide ? Math.floor((width - 24) / 2) : width;
  const steps = pictures[0]!.steps;
  const orderOf = (event: number) => steps.findIndex((step) => step.event === event) + 1;

  const select = (event: number) => {
    setSelected(event);
    document.getElementById(`event-${event}`)?.scrollIntoView({ block: "nearest", behavior: "smooth" });
  };
  /** Shows what an arrow means, and goes where it points. */
  const follow = (index: number) => {
    setEdge(index);
    const arrow = pictures.flatMap((picture) => picture.arrows)[index];
    if (!arrow) return;
    setSelected(arrow.to);
    document.querySelector<SVGGElement>(`.lanes [data-event="${arrow.to}"]`)?.focus();
  };

  return (
    <article class="detail" aria-label={finding.headline}>
      <button class="back" onClick={props.onBack}>← All findings</button>
      <header>
        <h2>{finding.headline}</h2>
        <p class="tags">
          <span class="tag bad">{finding.check}</span>
          <span class="tag" title={report.rules[finding.rule]?.summary}>{finding.rule}</span>
          <span class={`tag ${finding.certainty}`} title={certaintyHelp[finding.certainty]}>{finding.certainty}</span>
          {finding.count > 1 && <span class="tag">seen {finding.count.toLocaleString("en-US")} times</span>}
          {leftOut && (
            <span class="tag">
              left out: {finding.suppressed_by ? `suppressed by line ${finding.suppressed_by}` : "in the baseline"}
            </span>
          )}
        </p>
      </header>
      <div class={sideBySide ? "pictures two" : "pictures"} ref={ref}>
        {width > 0 &&
          pictures.map((picture, i) => {
            const before = pictures.slice(0, i).reduce((n, each) => n + each.arrows.length, 0);
            return (
              <figure key={i}>
                {picture.title && <figcaption class="title">{picture.title}</figcaption>}
                <div class="scroll">
                  <Lanes finding={finding} report={report} picture={picture} width={room} threads={threads} palette={palette} selected={selected} edge={edge - before} onSelect={select} onEdge={(index) => follow(index + before)} />
                </div>
                {picture.note && <figcaption>{picture.note}</figcaption>}
              </figure>
            );
          })}
      </div>
      <section>
        <h3>What went wrong</h3>
        {finding.edges.length > 0 && (
          <ul class="edges">
            {finding.edges.map((text, i) =>
              text ? (
                <li key={i} class={i === edge ? "chosen" : ""}>
                  <button class="letter" aria-label={`follow arrow ${letter(i)}`} onClick={() => follow(i)}>{letter(i)}</button>
                  <span>{text}</span>
                </li>
              ) : null,
            )}
          </ul>
        )}
        {finding.cycle && finding.edges.length < finding.cycle.length && (
          <p class="faint">… and {many(finding.cycle.length - finding.edges.length, "more edge")}; --format json has them all.</p>
        )}
        <p class="conclusion">{finding.conclusion}</p>
        {report.rules[finding.rule] && (
          <details>
            <summary>What “{finding.rule}” means</summary>
            <p>{report.rules[finding.rule]!.help}</p>
          </details>
        )}
      </section>
      {finding.fix && (
        <section class="fix">
          <h3>How this is usually fixed</h3>
          <p>{finding.fix}</p>
        </section>
      )}
      {finding.command && (
        <section>
          <h3>See it in the trace</h3>
          <Command text={finding.command} />
        </section>
      )}
      <section>
        <h3>Event by event</h3>
        {finding.sites.map((site) => (
          <EventCard key={site.event} site={site} order={orderOf(site.event)} report={report} colour={laneColour(palette[threads.indexOf(site.thread)] ?? 0)} selected={site.event === selected} onSelect={setSelected} />
        ))}
      </section>
      {finding.threads && finding.threads.length > 0 && (
        <section>
          <h3>Where the threads come from</h3>
          {finding.threads.map((thread) => (
            <Thread key={thread.thread} thread={thread} report={report} />
          ))}
        </section>
      )}
      <p class="faint small">
        Fingerprint {finding.fingerprint}; noticed at event {finding.event.toLocaleString("en-US")} of {report.trace.file}.
      </p>
    </article>
  );
}

const certaintyHelp: Record<Finding["certainty"], string> = {
  observed: "It happened in this very run.",
  predicted: "It did not happen in this run, but another order of the same events has it.",
  confirmed: "It was predicted, and then happened when the program was run in that order.",
};

function Command(props: { text: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  const ref = useRef<HTMLElement>(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(props.text);
    } catch {
      // A page from a file may not use the clipboard: select, and let the browser copy that.
      getSelection()?.selectAllChildren(ref.current!);
      document.execCommand("copy");
    }
    setCopied(true);
  };
  return (
    <p class="command">
      <code ref={ref}>{props.text}</code>
      <button onClick={copy}>{copied ? "Copied" : "Copy"}</button>
    </p>
  );
}

function EventCard(props: { site: Site; order: number; report: Report; colour: string; selected: boolean; onSelect: (event: number) => void }) {
  const { site, order, report, colour } = props;
  const place = ownPlace(site);
  const name = place.function ?? (site.stack === undefined ? undefined : report.stacks[site.stack]?.[0]?.function);
  return (
    <div class={props.selected ? "card selected" : "card"} id={`event-${site.event}`} style={{ borderLeftColor: colour }} onClick={() => props.onSelect(site.event)}>
      <p class="card-head">
        <span class="order">{order}</span>
        <b>{threadWords(site.thread)}</b> {site.says}
        <span class="faint"> {name ? `in ${functionWords(name)}, ` : ""}{placeWords(place)}{placeWords(place) ? ", " : ""}event {site.event.toLocaleString("en-US")}</span>
      </p>
      <Source report={report} place={place} />
      <Locks site={site} />
      {site.stack !== undefined && <Stack frames={report.stacks[site.stack] ?? []} deeper={site.deeper ?? 0} />}
    </div>
  );
}

function Source(props: { report: Report; place: Place }) {
  const lines = linesAround(props.report, props.place);
  if (lines.length === 0) return null;
  const changed = props.report.sources?.find((each) => each.file === props.place.file)?.changed;
  return (
    <>
      {changed && <p class="warn small">This file is newer than the recording: lines may have moved.</p>}
      <pre class="source" aria-label={`${props.place.file}, line ${props.place.line}`}>
        {lines.map(({ line, text }) => (
          <span key={line} class={line === props.place.line ? "line here" : "line"}>
            <i>{line}</i>
            {text || " "}
            {"\n"}
          </span>
        ))}
      </pre>
    </>
  );
}

function Locks(props: { site: Site }) {
  const { site } = props;
  const held: Held[] = site.held ?? (site.locks ?? []).map((lock) => ({ lock, event: 0 }));
  return (
    <p class="locks small">
      Locks held:{" "}
      {held.length === 0
        ? "none"
        : held.map((each, i) => (
            <span key={i}>
              {i > 0 && ", "}
              <code>{each.lock}</code>
              {each.shared && " (shared)"}
              {each.event > 0 && <span class="faint"> taken at {placeWords(each) || `event ${each.event}`}{placeWords(each) ? `, event ${each.event}` : ""}</span>}
            </span>
          ))}
    </p>
  );
}

function Stack(props: { frames: Frame[]; deeper: number }) {
  const { frames, deeper } = props;
  return (
    <details class="stack">
      <summary>Stack, {many(frames.length + deeper, "frame")}</summary>
      <ol>
        {frames.map((frame, i) => (
          <li key={i} class={frame.library ? "library" : ""}>
            <code>{frame.function ?? "?"}</code>
            <span class="faint"> {frame.file ? `${frame.file}:${frame.line ?? 0}` : (frame.location ?? "")}</span>
          </li>
        ))}
        {deeper > 0 && <li class="faint">… {many(deeper, "outer frame")} left out</li>}
      </ol>
    </details>
  );
}

function Thread(props: { thread: Created; report: Report }) {
  const { thread, report } = props;
  const place = placeWords(thread);
  return (
    <div class="card">
      <p class="card-head">
        <b>{threadWords(thread.thread)}</b>{" "}
        {thread.fork > 0 ? `was started by ${threadWords(thread.creator)} (event ${thread.fork}${place ? ", " + place : ""})` : "was there from the beginning"}
      </p>
      {thread.stack !== undefined && <Stack frames={report.stacks[thread.stack] ?? []} deeper={0} />}
    </div>
  );
}
