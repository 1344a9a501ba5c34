// The run as lanes on a canvas: a lane for each thread, events from left to right. Far away a lane
// shows how much of what happened was the thread's; near by, its blocks, waits and single events.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { LaneData, Row, TraceInfo, View } from "./api";
import type { Arrow } from "./model";

/** Events from … to, both included. */
export interface Range {
  from: number;
  to: number;
}

/** What a finding, or the search, has at an event. */
export interface Mark {
  event: number;
  kind: "finding" | "chosen" | "hit";
}

export const kLane = 38; // height of a lane
const kAxis = 22;
/** Pixels that an event must have to be drawn by itself. */
const kSingle = 5;

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

interface Paint {
  lanes: string[];
  text: string;
  faint: string;
  line: string;
  bad: string;
  warn: string;
  accent: string;
  bg: string;
}

function paints(): Paint {
  return {
    lanes: [0, 1, 2, 3, 4, 5].map((i) => colour(`--lane-${i}`)),
    text: colour("--text"),
    faint: colour("--faint"),
    line: colour("--line"),
    bad: colour("--bad"),
    warn: colour("--warn"),
    accent: colour("--accent"),
    bg: colour("--bg"),
  };
}

/** A canvas as sharp as the screen, painted whenever something that it shows has changed. */
function useCanvas(width: number, height: number, draw: (c: CanvasRenderingContext2D, paint: Paint) => void, what: unknown[]) {
  const ref = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const canvas = ref.current;
    const context = canvas?.getContext("2d");
    if (!canvas || !context || width <= 0) return;
    const scale = devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context, paints());
  }, [width, height, ...what]);
  return ref;
}

/** Ticks at round numbers, five to ten of them. */
function ticks(range: Range, width: number): number[] {
  const size = range.to - range.from + 1;
  const least = size / Math.max(2, width / 130);
  let step = 1;
  for (const factor of [2, 2.5, 2]) if (step < least) step *= factor;
  while (step < least) for (const factor of [2, 2.5, 2]) if (step < least) step *= factor;
  step = Math.max(1, Math.round(step));
  const found: number[] = [];
  for (let at = Math.ceil(range.from / step) * step; at <= range.to; at += step) found.push(at);
  return found;
}

function fit(c: CanvasRenderingContext2D, text: string, room: number): string {
  if (c.measureText(text).width <= room) return text;
  let n = Math.floor((text.length * room) / c.measureText(text).width);
  while (n > 1 && c.measureText(text.slice(0, n) + "…").width > room) --n;
  return n > 1 ? text.slice(0, n) + "…" : "";
}

/** A lane as whole pixels: columns that fall on one are taken together, so that nothing shimmers. */
interface Bar {
  left: number;
  right: number;
  events: number;
  all: number; // events of all threads there
  inside: number;
  waited: number; // share of the positions, 0 to 1
}

function barsOf(view: View, lane: LaneData, x: (event: number) => number, width: number): Bar[] {
  const bars: Bar[] = [];
  let positions = 0;
  for (let i = 0; i < lane.events.length; ++i) {
    const begin = view.first + i * view.width;
    const left = Math.round(x(begin));
    const right = Math.max(left + 1, Math.round(x(begin + view.width)));
    if (right <= 0 || left >= width) continue;
    let bar = bars[bars.length - 1];
    if (!bar || left >= bar.right) {
      bar = { left, right, events: 0, all: 0, inside: 0, waited: 0 };
      bars.push(bar);
      positions = 0;
    }
    bar.right = Math.max(bar.right, right);
    bar.events += lane.events[i]!;
    bar.all += view.events[i]!;
    bar.inside += lane.inside[i]!;
    bar.waited = (bar.waited * positions + lane.waited[i]!) / (positions + view.width);
    positions += view.width;
  }
  return bars;
}

/** Stripes: a thread that stands still. */
function stripes(c: CanvasRenderingContext2D, paint: Paint): CanvasPattern | string {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const t = tile.getContext("2d");
  if (!t) return paint.warn;
  t.strokeStyle = paint.warn;
  t.lineWidth = 2;
  t.beginPath();
  for (const x of [-8, 0, 8]) {
    t.moveTo(x, 8);
    t.lineTo(x + 8, 0);
  }
  t.stroke();
  return c.createPattern(tile, "repeat") ?? paint.warn;
}

/** The whole run in little, with the part that is shown below. */
export function Overview(props: { info: TraceInfo; view: View | undefined; range: Range; marks: Mark[]; width: number; painted: number; onRange: (range: Range) => void }) {
  const { info, view, range, marks, width, onRange } = props;
  const height = 64;
  const x = (event: number) => ((event - 1) / Math.max(1, info.events)) * width;
  const ref = useCanvas(
    width,
    height,
    (c, paint) => {
      if (view) {
        const lanes = view.lanes;
        const row = (height - 14) / Math.max(1, lanes.length);
        lanes.forEach((lane, i) => {
          c.fillStyle = paint.lanes[lane.thread % 6]!;
          for (const bar of barsOf(view, lane, x, width)) {
            if (bar.events === 0) continue;
            c.globalAlpha = 0.25 + 0.75 * (bar.events / bar.all);
            c.fillRect(bar.left, 7 + i * row, bar.right - bar.left, Math.max(1, row - (row > 4 ? 1 : 0)));
          }
        });
        c.globalAlpha = 1;
        c.fillStyle = paint.warn;
        view.waited.forEach((n, column) => {
          const share = n / (view.width * Math.max(1, info.threads));
          if (share > 0) c.fillRect(x(view.first + column * view.width), height - 6 - Math.max(1, share * 6) + 6, Math.max(1, (view.width / info.events) * width), Math.max(1.5, share * 6));
        });
      }
      for (const mark of marks) {
        c.fillStyle = mark.kind === "hit" ? paint.accent : paint.bad;
        c.fillRect(x(mark.event) - 1, 0, 2, mark.kind === "chosen" ? height : 7);
      }
      // What is not shown below steps back.
      const left = x(range.from);
      const right = Math.max(left + 3, x(range.to + 1));
      c.fillStyle = paint.bg;
      c.globalAlpha = 0.6;
      c.fillRect(0, 0, left, height);
      c.fillRect(right, 0, width - right, height);
      c.globalAlpha = 1;
      c.strokeStyle = paint.accent;
      c.lineWidth = 2;
      c.strokeRect(left + 1, 1, right - left - 2, height - 2);
    },
    [view, range.from, range.to, marks, props.painted],
  );
  const drag = useRef<number | undefined>(undefined);
  const at = (pointer: PointerEvent) => Math.min(info.events, Math.max(1, Math.round(((pointer.clientX - ref.current!.getBoundingClientRect().left) / width) * info.events) + 1));
  return (
    <canvas
      class="overview"
      ref={ref}
      style={{ width: `${width}px`, height: `${height}px` }}
      role="img"
      aria-label={`The whole run, ${info.events} events; events ${range.from} to ${range.to} are shown below`}
      onPointerDown={(pointer) => {
        drag.current = at(pointer);
        ref.current!.setPointerCapture(pointer.pointerId);
      }}
      onPointerUp={(pointer) => {
        const begin = drag.current;
        const end = at(pointer);
        drag.current = undefined;
        if (begin === undefined) return;
        const size = range.to - range.from;
        if (Math.abs(x(end) - x(begin)) > 4) onRange({ from: Math.min(begin, end), to: Math.max(begin, end) });
        else onRange({ from: end - Math.floor(size / 2), to: end + Math.ceil(size / 2) });
      }}
    />
  );
}

interface LanesProps {
  info: TraceInfo;
  view: View | undefined;
  rows: Row[];
  range: Range;
  top: number; // the first lane
  count: number; // how many lanes
  width: number;
  marks: Mark[];
  arrows: Arrow[];
  cursor: number;
  painted: number;
  threadOf: (event: number) => number | undefined;
  onZoom: (factor: number, at: number) => void;
  onPan: (events: number) => void;
  onPick: (event: number) => void;
}

export function ThreadLanes(props: LanesProps) {
  const { info, view, rows, range, top, count, width, marks, arrows, cursor } = props;
  const size = range.to - range.from + 1;
  const each = width / size; // pixels of an event
  const height = count * kLane + kAxis;
  const x = (event: number) => (event - range.from) * each;
  const laneY = (thread: number) => (thread - top) * kLane;
  const draw = (c: CanvasRenderingContext2D, paint: Paint) => {
    c.font = "11px ui-monospace, 'DejaVu Sans Mono', monospace";
    c.textBaseline = "middle";
    for (let i = 0; i < count; ++i) {
      c.fillStyle = paint.lanes[(top + i) % 6]!;
      c.globalAlpha = 0.06;
      c.fillRect(0, i * kLane + 1, width, kLane - 2);
    }
    c.globalAlpha = 1;
    const single = each >= kSingle && rows.length > 0;
    const striped = stripes(c, paint);
    if (view) {
      const seen = view.lanes.filter(({ thread }) => thread >= top && thread < top + count);
      const bars = seen.map((lane) => barsOf(view, lane, x, width));
      // The largest share that a thread has somewhere fills its lane.
      let most = 0;
      for (const bar of bars.flat()) if (bar.all > 0) most = Math.max(most, bar.events / bar.all);
      seen.forEach(({ thread }, i) => {
        const y = laneY(thread);
        for (const bar of bars[i]!) {
          if (bar.waited > 0 && !view.waits) {
            c.globalAlpha = Math.min(1, 0.35 + bar.waited);
            c.fillStyle = striped;
            c.fillRect(bar.left, y + 2, bar.right - bar.left, 9);
          }
          if (bar.events === 0 || single) continue;
          c.fillStyle = paint.lanes[thread % 6]!;
          const h = Math.max(2, (bar.events / bar.all / most) * (kLane - 14));
          const inside = (bar.inside / bar.events) * h;
          c.globalAlpha = 0.4;
          c.fillRect(bar.left, y + kLane - 2 - h, bar.right - bar.left, h - inside);
          c.globalAlpha = 0.95;
          c.fillRect(bar.left, y + kLane - 2 - inside, bar.right - bar.left, inside);
        }
      });
      c.globalAlpha = 1;
      for (const [thread, after, until, lock] of view.waits ?? []) {
        const y = laneY(thread);
        const left = Math.max(0, x(after + 1));
        const w = Math.min(width, x(until)) - left;
        if (y < 0 || y >= count * kLane || w <= 0.5) continue;
        c.fillStyle = striped;
        c.fillRect(left, y + 2, Math.max(1, w), single ? kLane - 4 : 9);
        const words = single ? fit(c, `waits for lock ${lock}`, w - 12) : "";
        if (words) {
          c.fillStyle = paint.bg;
          c.fillRect(left + 4, y + kLane / 2 - 8, c.measureText(words).width + 6, 16);
          c.fillStyle = paint.warn;
          c.fillText(words, left + 7, y + kLane / 2);
        }
      }
      for (const [thread, begin, end, name] of view.blocks ?? []) {
        const y = laneY(thread);
        const left = Math.max(-4, x(begin));
        const right = end === 0 ? width + 4 : Math.min(width + 4, x(end + 1));
        if (y < 0 || y >= count * kLane || right - left < 3) continue;
        if (right - left < 26) {
          // Too narrow for a frame.
          c.fillStyle = paint.lanes[thread % 6]!;
          c.globalAlpha = 0.22;
          c.fillRect(left + 0.5, y + 1, right - left - 1, kLane - 2);
          c.globalAlpha = 1;
          continue;
        }
        c.strokeStyle = paint.lanes[thread % 6]!;
        c.lineWidth = 1.5;
        c.beginPath();
        c.roundRect(left + 1, y + 1.5, right - left - 2, kLane - 3, 5);
        c.stroke();
        if (!single && right - left > 60) {
          c.fillStyle = paint.text;
          c.fillText(fit(c, name || "block", right - Math.max(0, left) - 14), Math.max(0, left) + 7, y + 9);
        }
      }
    }
    if (single) {
      for (const [event, thread, op, says] of rows) {
        const y = laneY(thread);
        if (event < range.from || event > range.to || y < 0 || y >= count * kLane) continue;
        const left = x(event);
        c.fillStyle = paint.lanes[thread % 6]!;
        c.globalAlpha = op.startsWith("w") || op.startsWith("rmw") ? 1 : op === "r" || op.startsWith("r_") ? 0.75 : 0.55;
        c.beginPath();
        c.roundRect(left + 1, y + 6, Math.max(2, each - 2), kLane - 12, 3);
        if (each > 28) {
          c.globalAlpha *= 0.22;
          c.fill();
          c.globalAlpha = 1;
          c.strokeStyle = paint.lanes[thread % 6]!;
          c.lineWidth = 1;
          c.stroke();
          c.fillStyle = paint.text;
          c.fillText(fit(c, says, each - 10), left + 6, y + kLane / 2);
        } else c.fill();
        c.globalAlpha = 1;
      }
    }
    for (const mark of marks) {
      if (mark.event < range.from || mark.event > range.to) continue;
      const at = x(mark.event) + Math.max(0.5, each / 2);
      const thread = props.threadOf(mark.event);
      c.fillStyle = c.strokeStyle = mark.kind === "hit" ? paint.accent : paint.bad;
      if (mark.kind !== "finding" && thread !== undefined && thread >= top && thread < top + count) {
        const y = laneY(thread);
        c.lineWidth = 2.5;
        c.strokeRect(x(mark.event) - (each < 8 ? 4 : 0), y + 4, Math.max(8, each), kLane - 8);
      }
      c.beginPath();
      c.moveTo(at - 5, height - kAxis);
      c.lineTo(at + 5, height - kAxis);
      c.lineTo(at, height - kAxis - 7);
      c.fill();
    }
    for (const arrow of arrows) {
      const from = props.threadOf(arrow.from);
      const to = props.threadOf(arrow.to);
      if (from === undefined || to === undefined) continue;
      const x1 = x(arrow.from) + each / 2;
      const x2 = x(arrow.to) + each / 2;
      const y1 = laneY(from) + kLane / 2;
      const y2 = laneY(to) + kLane / 2;
      const away = y1 === y2 ? -kLane : 0;
      c.strokeStyle = c.fillStyle = paint.bad;
      c.lineWidth = 2;
      c.beginPath();
      c.moveTo(x1, y1);
      c.bezierCurveTo(x1 + (x2 - x1) * 0.4, y1 + away, x2 - (x2 - x1) * 0.4, y2 + away, x2, y2);
      c.stroke();
      const turn = Math.atan2(y2 - (y2 + away) || (y2 - y1) * 0.5, x2 - x1 || 1);
      c.beginPath();
      c.moveTo(x2, y2);
      c.lineTo(x2 - 10 * Math.cos(turn - 0.4), y2 - 10 * Math.sin(turn - 0.4));
      c.lineTo(x2 - 10 * Math.cos(turn + 0.4), y2 - 10 * Math.sin(turn + 0.4));
      c.fill();
      const mx = (x1 + x2) / 2;
      const my = (y1 + y2) / 2 + away * 0.75;
      c.beginPath();
      c.arc(mx, my, 8, 0, 7);
      c.fill();
      c.fillStyle = paint.bg;
      c.textAlign = "center";
      c.fillText(arrow.label, mx, my);
      c.textAlign = "left";
    }
    if (cursor >= range.from && cursor <= range.to) {
      c.strokeStyle = paint.accent;
      c.lineWidth = 1.5;
      c.setLineDash([4, 3]);
      c.beginPath();
      const at = x(cursor) + each / 2;
      c.moveTo(at, 0);
      c.lineTo(at, height - kAxis);
      c.stroke();
      c.setLineDash([]);
    }
    c.strokeStyle = paint.line;
    c.lineWidth = 1;
    c.fillStyle = paint.faint;
    c.beginPath();
    c.moveTo(0, height - kAxis + 0.5);
    c.lineTo(width, height - kAxis + 0.5);
    for (const tick of ticks(range, width)) {
      const at = x(tick) + (each > 2 ? each / 2 : 0);
      c.moveTo(at, height - kAxis);
      c.lineTo(at, height - kAxis + 5);
      c.textAlign = at < 40 ? "left" : at > width - 40 ? "right" : "center";
      c.fillText(tick.toLocaleString("en-US"), Math.min(width, Math.max(0, at)), height - 8);
    }
    c.textAlign = "left";
    c.stroke();
  };
  const ref = useCanvas(width, height, draw, [view, rows, range.from, range.to, top, count, marks, arrows, cursor, props.painted]);
  const drag = useRef<{ x: number; moved: boolean } | undefined>(undefined);
  const eventAt = (clientX: number) => range.from + Math.floor((clientX - ref.current!.getBoundingClientRect().left) / each);
  useEffect(() => {
    // Preact's own handler is passive, and the page would scroll.
    const canvas = ref.current!;
    const turned = (wheel: WheelEvent) => {
      wheel.preventDefault();
      const side = wheel.shiftKey ? wheel.deltaY : wheel.deltaX;
      if (Math.abs(side) > Math.abs(wheel.shiftKey ? 0 : wheel.deltaY)) props.onPan(Math.round((side / width) * size));
      else props.onZoom(Math.pow(1.0018, wheel.deltaY), eventAt(wheel.clientX));
    };
    canvas.addEventListener("wheel", turned, { passive: false });
    return () => canvas.removeEventListener("wheel", turned);
  });
  return (
    <canvas
      class="lane-canvas"
      ref={ref}
      style={{ width: `${width}px`, height: `${height}px` }}
      role="img"
      aria-label={`Events ${range.from} to ${range.to} of ${Math.min(count, info.threads)} threads; the list below has them in words`}
      onPointerDown={(pointer) => {
        drag.current = { x: pointer.clientX, moved: false };
        ref.current!.setPointerCapture(pointer.pointerId);
      }}
      onPointerMove={(pointer) => {
        const begun = drag.current;
        if (!begun) return;
        const by = Math.round((begun.x - pointer.clientX) / each);
        if (Math.abs(begun.x - pointer.clientX) > 3) begun.moved = true;
        if (begun.moved && by !== 0) {
          begun.x = pointer.clientX;
          props.onPan(by);
        }
      }}
      onPointerUp={(pointer) => {
        const moved = drag.current?.moved;
        drag.current = undefined;
        if (!moved) props.onPick(eventAt(pointer.clientX));
      }}
      onDblClick={(pointer) => props.onZoom(0.25, eventAt(pointer.clientX))}
    />
  );
}

export function useSize() {
  const ref = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const measure = () => setSize({ width: element.clientWidth, height: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, size] as const;
}
