// The interleaving as a picture: a lane for each thread, time downwards, blocks as boxes, and an
// arrow for each pair of events that the finding is about.

import type { Arrow, Block, Finding, Picture, Report, Step } from "./model";
import { lineAt, placeWords, threadWords } from "./model";

interface Box {
  colour: string;
  step: Step;
  order: number;
  lane: number;
  x: number;
  y: number;
  w: number;
  h: number;
  code: string;
}

/** Of a monospaced font, as a part of its size. */
const kAdvance = 0.61;

function columns(text: string): number {
  let n = 0;
  for (const c of text) n += c.codePointAt(0)! >= 0x1100 ? 2 : 1;
  return n;
}

/** At most as wide as `room`; the front gives way, because names say most at their end. */
function fitTail(text: string, room: number): string {
  if (columns(text) <= room) return text;
  const last = "…" + text.slice(text.lastIndexOf("::"));
  if (last.startsWith("…::") && columns(last) <= room) return last;
  const chars = [...text];
  while (chars.length > 0 && columns(chars.join("")) > room - 1) chars.shift();
  return "…" + chars.join("");
}

function fitHead(text: string, room: number): string {
  if (columns(text) <= room) return text;
  const chars = [...text];
  while (chars.length > 0 && columns(chars.join("")) > room - 1) chars.pop();
  return chars.join("") + "…";
}

/** "writes …::balance": the verb stays. */
function fitSays(says: string, room: number): string {
  if (columns(says) <= room) return says;
  const at = says.lastIndexOf(" ", says.length - 2);
  const verb = says.slice(0, at + 1);
  return columns(verb) + 4 > room ? fitHead(says, room) : verb + fitTail(says.slice(at + 1), room - columns(verb));
}

/** The violating block's thread first, then as the arrows come to them. */
function threadsOf(finding: Finding, picture: Picture): string[] {
  const threads: string[] = [];
  const add = (thread: string | undefined) => {
    if (thread !== undefined && !threads.includes(thread)) threads.push(thread);
  };
  const at = (event: number) => picture.steps.find((step) => step.event === event)?.thread;
  add(finding.blocks.find((block) => block.begin === finding.block)?.thread);
  for (const arrow of picture.arrows) {
    add(at(arrow.from));
    add(at(arrow.to));
  }
  for (const step of picture.steps) add(step.thread);
  return threads;
}

/** A name alone, such as "alice", does not say that it is a thread. */
function laneTitle(thread: string): string {
  const words = threadWords(thread);
  return /thread/i.test(words) ? words : `thread ${words}`;
}

/** How a thread is coloured in every picture of a finding. */
export function laneColour(index: number): string {
  return `var(--lane-${index % 6})`;
}

export interface LanesProps {
  finding: Finding;
  report: Report;
  picture: Picture;
  width: number;
  threads?: string[];
  /** The colours of `threads`; without it, their order. */
  palette?: number[];
  selected: number;
  edge: number;
  onSelect: (event: number) => void;
  onEdge: (index: number) => void;
}

export function lanesOf(finding: Finding, picture: Picture): string[] {
  return threadsOf(finding, picture);
}

export function Lanes(props: LanesProps) {
  const { finding, report, picture, width, selected, edge, onSelect, onEdge } = props;
  const threads = props.threads ?? threadsOf(finding, picture);
  const tint = (lane: number) => laneColour(props.palette?.[lane] ?? lane);
  const narrow = width < 620;
  const digits = String(Math.max(0, ...picture.steps.map((step) => step.event))).length;
  const axis = Math.max(narrow ? 46 : 58, 22 + 6 * digits);
  const gutter = narrow ? 17 : 46;
  const laneWidth = Math.max(narrow ? 150 : 215, Math.min(480, Math.floor((width - axis - 2) / Math.max(1, threads.length))));
  const total = axis + laneWidth * threads.length;
  const head = narrow ? 50 : 44;

  const boxes: Box[] = [];
  let y = head + 12;
  picture.steps.forEach((step, order) => {
    const lane = threads.indexOf(step.thread);
    const edgeOnly = step.block !== undefined;
    const code = edgeOnly ? "" : lineAt(report, step.place);
    const place = placeWords(step.place);
    const h = edgeOnly ? 26 : 28 + (place ? 16 : 0) + (code ? 17 : 0);
    const x = axis + lane * laneWidth + gutter;
    boxes.push({ colour: tint(lane), step, order, lane, x, y, w: laneWidth - 2 * gutter, h, code });
    y += h + (edgeOnly ? 10 : 16);
  });
  const height = y + 8;
  const boxAt = new Map(boxes.map((box) => [box.step.event, box]));
  const curves = picture.arrows.map((arrow) => curveOf(arrow, picture.arrows, boxAt, gutter, threads.length - 1));
  const letters = lettersOf(curves);
  const essential = new Set(picture.arrows.flatMap((arrow) => [arrow.from, arrow.to]));

  return (
    <svg
      class="lanes"
      width={total}
      height={height}
      viewBox={`0 0 ${total} ${height}`}
      role="group"
      aria-label={`Interleaving of ${threads.map(threadWords).join(", ")}; time runs downwards`}
    >
      <defs>
        {["cycle", "unordered", "next", "reads"].map((kind) => (
          <marker id={`head-${kind}`} class={`head ${kind}`} viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto-start-reverse">
            <path d="M0 0 L10 5 L0 10 z" />
          </marker>
        ))}
      </defs>
      {threads.map((thread, lane) => (
        <g key={thread}>
          <rect class="lane" x={axis + lane * laneWidth + 2} y={0} width={laneWidth - 4} height={height} rx={8} style={{ fill: tint(lane) }} />
          <text class="lane-name" x={axis + (lane + 0.5) * laneWidth} y={27} style={{ fill: tint(lane) }}>
            {fitTail(laneTitle(thread), laneWidth / 9)}
            <title>{thread}</title>
          </text>
        </g>
      ))}
      <g class="axis">
        <text x={narrow ? 4 : 12} y={27}>{narrow ? "↓" : "time ↓"}</text>
        {boxes.map((box) => (
          <g key={box.step.event}>
            <line x1={axis - 4} x2={box.x} y1={box.y + box.h / 2} y2={box.y + box.h / 2} />
            <text class="order" x={axis - 10} y={box.y + box.h / 2}>{box.order + 1}</text>
            <text class="number" x={axis - 10} y={box.y + box.h / 2 + 13}>#{box.step.event}</text>
          </g>
        ))}
      </g>
      {finding.blocks.map((block) => (
        <BlockBox key={block.begin} block={block} boxes={boxes} laneWidth={laneWidth} axis={axis} blame={block.begin !== finding.block ? "" : finding.check === "determinism" ? "not deterministic" : "not atomic"} bottom={height - 6} narrow={narrow} />
      ))}
      {boxes.map((box) => (
        <EventBox key={box.step.event} box={box} essential={essential.has(box.step.event)} selected={box.step.event === selected} onSelect={onSelect} narrow={narrow} />
      ))}
      {picture.arrows.map((arrow, i) => (
        <ArrowPath key={i} arrow={arrow} index={i} curve={curves[i]} letter={letters[i]!} chosen={i === edge} onEdge={onEdge} />
      ))}
    </svg>
  );
}

function BlockBox(props: { block: Block; boxes: Box[]; laneWidth: number; axis: number; blame: string; bottom: number; narrow: boolean }) {
  const { block, boxes, laneWidth, axis, blame, bottom, narrow } = props;
  const guilty = blame !== "";
  const own = boxes.filter((box) => box.step.within === block.begin);
  const first = own[0];
  const last = own[own.length - 1];
  if (!first || !last) return null;
  const inset = narrow ? 7 : 16;
  const x = axis + first.lane * laneWidth + inset;
  const w = laneWidth - 2 * inset;
  const y = first.y - 3;
  const open = !block.end || !own.some((box) => box.step.ends);
  const next = boxes.find((box) => box.lane === first.lane && box.y > last.y);
  const end = open ? Math.min(bottom, next ? next.y - 4 : last.y + last.h + 18) : last.y + last.h + 3;
  const style = { stroke: guilty ? "var(--bad)" : first.colour };
  return (
    <g class={guilty ? "block guilty" : "block"}>
      {open ? (
        <>
          <path d={`M${x} ${end} V${y + 7} q0 -7 7 -7 H${x + w - 7} q7 0 7 7 V${end}`} style={style} />
          <path class="goes-on" d={`M${x} ${end} H${x + w}`} style={style} />
        </>
      ) : (
        <rect x={x} y={y} width={w} height={end - y} rx={7} style={style} />
      )}
      {guilty && (
        <text class="blame" x={x + w - 9} y={narrow ? y - 4 : y + 19}>
          {blame}
        </text>
      )}
    </g>
  );
}

function EventBox(props: { box: Box; essential: boolean; selected: boolean; onSelect: (event: number) => void; narrow: boolean }) {
  const { box, essential, selected, onSelect, narrow } = props;
  const { step, x, y, w, h } = box;
  const place = placeWords(step.place);
  const title = `${threadWords(step.thread)} ${step.says} (event ${step.event}${place ? ", " + place : ""})`;
  const size = narrow ? 12 : 13;
  if (step.block) {
    const margin = narrow ? -3 : -20;
    const room = Math.floor((w - 2 * margin) / (11.5 * kAdvance));
    return (
      <text class="edge-of-block" x={x + margin} y={y + 17}>
        {fitSays(step.says, room)}
        <title>{title}</title>
      </text>
    );
  }
  const pad = narrow ? 6 : 9;
  const fill = box.colour;
  return (
    <g
      class={`event${essential ? " essential" : ""}${selected ? " selected" : ""}`}
      data-event={step.event}
      role="button"
      tabIndex={0}
      aria-label={title}
      onClick={() => onSelect(step.event)}
      onKeyDown={(key) => {
        if (key.key === "Enter" || key.key === " ") {
          key.preventDefault();
          onSelect(step.event);
        }
      }}
    >
      <title>{title}</title>
      <rect class="under" x={x} y={y} width={w} height={h} rx={5} />
      <rect class="face" x={x} y={y} width={w} height={h} rx={5} style={{ stroke: fill, fill }} />
      <text class="says" x={x + pad} y={y + 19} style={{ fontSize: `${size}px` }}>
        {fitSays(step.says, Math.floor((w - 2 * pad) / (size * kAdvance)))}
      </text>
      {box.code && (
        <text class="code" x={x + pad} y={y + 36}>
          {fitHead(box.code, Math.floor((w - 2 * pad) / (11 * kAdvance)))}
        </text>
      )}
      {place && (
        <text class="place" x={x + pad} y={y + (box.code ? 53 : 36)}>
          {fitTail(place, Math.floor((w - 2 * pad) / (11 * kAdvance)))}
        </text>
      )}
    </g>
  );
}

/** +1: out to the right. Arrows within a lane go round on the side where there is another lane. */
function sideOf(arrow: Arrow, boxAt: Map<number, Box>, lastLane: number, outgoing: boolean): number {
  const from = boxAt.get(arrow.from)!;
  const to = boxAt.get(arrow.to)!;
  if (from.lane === to.lane) return from.lane === lastLane && lastLane > 0 ? -1 : 1;
  const right = from.lane < to.lane ? 1 : -1;
  return outgoing ? right : -right;
}

/** How an arrow runs: a curve from (x1, y1) to (x2, y2), bent towards c1 and c2. */
interface Curve {
  x1: number;
  y1: number;
  x2: number;
  y2: number;
  c1: number;
  c2: number;
}

function curveOf(arrow: Arrow, arrows: Arrow[], boxAt: Map<number, Box>, gutter: number, lastLane: number): Curve | undefined {
  const from = boxAt.get(arrow.from);
  const to = boxAt.get(arrow.to);
  if (!from || !to) return undefined;
  // Where one comes in and another goes out on one side of an event, each gets a half of it.
  const shared = (event: number, side: number, incoming: boolean) =>
    arrows.some(
      (other) =>
        boxAt.has(other.from) &&
        boxAt.has(other.to) &&
        (incoming
          ? other.from === event && sideOf(other, boxAt, lastLane, true) === side
          : other.to === event && sideOf(other, boxAt, lastLane, false) === side),
    );
  const out = sideOf(arrow, boxAt, lastLane, true);
  const into = sideOf(arrow, boxAt, lastLane, false);
  const x1 = out > 0 ? from.x + from.w + 1 : from.x - 1;
  const x2 = into > 0 ? to.x + to.w + 1 : to.x - 1;
  const y1 = from.y + from.h * (shared(arrow.from, out, false) ? 0.75 : 0.5);
  const y2 = to.y + to.h * (shared(arrow.to, into, true) ? 0.25 : 0.5);
  const same = from.lane === to.lane;
  const bend = same ? gutter * 0.9 : Math.max(gutter, Math.abs(x2 - x1) * 0.55);
  return { x1, y1, x2, y2, c1: x1 + out * bend, c2: x2 + into * bend };
}

/** A point of the curve: t is 0 at its beginning and 1 at its end. */
function pointOf({ x1, y1, x2, y2, c1, c2 }: Curve, t: number): [number, number] {
  const u = 1 - t;
  return [u * u * u * x1 + 3 * u * u * t * c1 + 3 * u * t * t * c2 + t * t * t * x2, u * u * (u + 3 * t) * y1 + t * t * (t + 3 * u) * y2];
}

/** Where the letters of the arrows are: in their middles, or beside, where two of them would meet. */
function lettersOf(curves: (Curve | undefined)[]): [number, number][] {
  const placed: [number, number][] = [];
  for (const curve of curves) {
    const free = ([x, y]: [number, number]) => placed.every(([a, b]) => Math.hypot(a - x, b - y) > 22);
    const points = curve ? [0.5, 0.35, 0.65, 0.25, 0.75].map((t) => pointOf(curve, t)) : [];
    placed.push(points.find(free) ?? points[0] ?? [-99, -99]);
  }
  return placed;
}

function ArrowPath(props: { arrow: Arrow; index: number; curve: Curve | undefined; letter: [number, number]; chosen: boolean; onEdge: (index: number) => void }) {
  const { arrow, index, curve, chosen, onEdge } = props;
  if (!curve) return null;
  const { x1, y1, x2, y2, c1, c2 } = curve;
  const path = `M${x1} ${y1} C${c1} ${y1} ${c2} ${y2} ${x2} ${y2}`;
  const [mx, my] = props.letter;
  const end = `url(#head-${arrow.kind})`;
  return (
    <g
      class={`arrow ${arrow.kind}${chosen ? " chosen" : ""}`}
      role="button"
      tabIndex={0}
      data-arrow={arrow.label}
      aria-label={`arrow ${arrow.label}: ${arrow.title}`}
      onClick={() => onEdge(index)}
      onKeyDown={(key) => {
        if (key.key === "Enter" || key.key === " ") {
          key.preventDefault();
          onEdge(index);
        }
      }}
    >
      <title>{arrow.title}</title>
      <path class="reach" d={path} />
      <path class="halo" d={path} />
      <path class="shaft" d={path} marker-end={end} marker-start={arrow.kind === "unordered" ? end : undefined} />
      <circle cx={mx} cy={my} r={9.5} />
      <text x={mx} y={my + 4}>{arrow.label}</text>
    </g>
  );
}
