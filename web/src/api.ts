// What `syndrome explore` answers: the shapes of src/explore/answers.cc.

import type { Report } from "./model";

export interface TraceInfo {
  file: string;
  format: string;
  events: number;
  threads: number;
  variables: number;
  locks: number;
  waits: number;
  lanes: [name: string, events: number][];
  warnings: string[];
}

export interface LaneData {
  thread: number;
  events: number[];
  writes: number[];
  inside: number[];
  waited: number[];
}

export interface View {
  from: number;
  to: number;
  first: number;
  width: number;
  events: number[];
  waited: number[];
  lanes: LaneData[];
  blocks?: [thread: number, begin: number, end: number, name: string][];
  waits?: [thread: number, after: number, until: number, lock: string][];
}

export type Row = [event: number, thread: number, op: string, says: string, place: string];

export interface Counts {
  from: number;
  to: number;
  kinds: [kind: string, count: number][];
  threads: number;
  inside: number;
  waits: number;
  waited: number;
}

export type Match = [space: string, id: number, name: string];

export type Findings =
  | { state: "none" }
  | { state: "running"; pass: number; events: number; done: number; total: number }
  | { state: "failed"; error: string }
  | { state: "ready"; reports: Report[] };

/** Asks the server that the page came from. */
export async function ask<T>(what: string, query: Record<string, string | number> = {}, signal?: AbortSignal): Promise<T> {
  const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const response = await fetch(`api/${what}?${text}`, signal ? { signal } : {});
  const body = await response.json();
  if (!response.ok) throw new Error(body.error ?? response.statusText);
  return body;
}

/** The next event that has to do with something; 0 when there is none. */
export async function findNext(match: Match, from: number, step: 1 | -1, signal: AbortSignal, onWay: (at: number) => void): Promise<number> {
  for (;;) {
    const found = await ask<{ event: number; resume: number }>("find", { space: match[0], id: match[1], from, step }, signal);
    if (found.event !== 0 || found.resume === 0) return found.event;
    from = found.resume;
    onWay(from);
  }
}
