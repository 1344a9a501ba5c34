// The events one by one, in words. There may be a billion: the list has a first row, not a height.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Row, TraceInfo } from "./api";
import { ask } from "./api";
import { useSize } from "./timeline";

const kRow = 24;
const kPage = 200; // events that are asked for at once

/** Whenever `at` changes, the list begins with it; if that is the cursor, it is only brought into sight. */
export function Rows(props: { info: TraceInfo; at: number; cursor: number; marked: Set<number>; onPick: (event: number) => void; onFail: (error: unknown) => void }) {
  const { info, at, cursor, marked } = props;
  const [ref, size] = useSize();
  const count = Math.max(4, Math.floor(size.height / kRow) - 1);
  const last = Math.max(1, info.events - count + 1);
  const [top, setTopTo] = useState(at);
  const setTop = (next: number) => setTopTo(Math.max(1, Math.min(last, next)));
  const pages = useRef(new Map<number, Row[]>());
  const [, setLoaded] = useState(0);
  useEffect(() => {
    if (at !== cursor) setTop(at);
    else if (at < top || at >= top + count) setTop(at - 3);
  }, [at, cursor]);
  const first = Math.max(1, Math.min(last, top));

  const wanted = [Math.floor((first - 1) / kPage), Math.floor((first + count - 2) / kPage)];
  useEffect(() => {
    const abort = new AbortController();
    for (const page of new Set(wanted)) {
      if (pages.current.has(page)) continue;
      ask<{ events: Row[] }>("events", { from: page * kPage + 1, count: kPage }, abort.signal).then((found) => {
        if (pages.current.size > 20) pages.current.clear();
        pages.current.set(page, found.events);
        setLoaded((n) => n + 1);
      }, props.onFail);
    }
    return () => abort.abort();
  }, [wanted.join()]);

  const shown: Row[] = [];
  for (let event = first; event < first + count && event <= info.events; ++event) {
    const row = pages.current.get(Math.floor((event - 1) / kPage))?.[(event - 1) % kPage];
    shown.push(row ?? [event, 0, "", "…", ""]);
  }
  useEffect(() => {
    const element = ref.current!;
    const turned = (wheel: WheelEvent) => {
      wheel.preventDefault();
      setTop(top + Math.sign(wheel.deltaY) * Math.max(1, Math.round(Math.abs(wheel.deltaY) / 40)));
    };
    element.addEventListener("wheel", turned, { passive: false });
    return () => element.removeEventListener("wheel", turned);
  });
  return (
    <div
      class="rows"
      ref={ref}
      tabIndex={0}
      aria-label="Events"
      onKeyDown={(key) => {
        const by = { ArrowDown: 1, ArrowUp: -1, PageDown: count, PageUp: -count }[key.key];
        if (by === undefined) return;
        key.preventDefault();
        key.stopPropagation();
        const next = Math.max(1, Math.min(info.events, (cursor || first) + by));
        if (next < top || next >= top + count) setTop(by > 0 ? next - count + 1 : next);
        props.onPick(next);
      }}
    >
      <table>
        <thead>
          <tr>
            <th>event</th>
            <th>thread</th>
            <th>does</th>
            <th>where</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(([event, thread, op, says, place]) => (
            <tr key={event} data-event={event} class={`${event === cursor ? "cursor" : ""}${marked.has(event) ? " marked" : ""}`} onClick={() => props.onPick(event)}>
              <td class="number">{event.toLocaleString("en-US")}</td>
              <td style={{ color: `var(--lane-${thread % 6})` }}>{op === "" ? "" : (info.lanes[thread]?.[0] ?? thread)}</td>
              <td class="says" title={says}>{says}{op.includes("_") && /_(relaxed|acquire|release|acq_rel|seq_cst)$/.test(op) && <span class="faint"> ({op.replace(/^[a-z]+_/, "")})</span>}</td>
              <td class="place faint" title={place}>{place}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
