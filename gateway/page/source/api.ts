// The read API as this page uses it. Addresses are relative to the document's base, so that any prefix works.

export type Wire = number | "NaN" | "Infinity" | "-Infinity";

export interface Task {
  task_id: string;
  name: string;
  owner: string;
  project: string;
  framework: string;
  status: string;
  message: string;
  attempts: number;
  ranks: number;
  world_size: number;
  progress_done: number | null;
  progress_total: number | null;
  started_ms: number;
  last_seen_ms: number;
  last_stored_ms: number;
  last_heartbeat_ms: number;
  log_files: number;
  bytes: number;
  lines: number;
  eta_ms: number | null;
}

export interface LogFile {
  file_id: string;
  path: string;
  attempt: number;
  rank: number;
  bytes: number;
  lines: number;
  ended: string;
  host: string;
  open_line: string;
  error: string;
  first_arrived_ms: number;
  last_arrived_ms: number;
}

export interface RankState {
  rank: number;
  attempt: number;
  status: string;
  message: string;
  code: string;
  signal: string;
  time_ms: number;
}

export interface Attempt {
  attempt: number;
  ranks: number;
  files: number;
  first_arrived_ms: number;
  last_arrived_ms: number;
}

export interface TaskDetail {
  task: Task;
  files: LogFile[];
  ranks: RankState[];
  attempts: Attempt[];
  parameters: Record<string, string>;
}

export interface Metric {
  name: string;
  value: Wire;
  step: number | null;
  time_ms: number;
  ranks: number;
  points: number;
  non_finite: number;
}

export interface WireSeries {
  name: string;
  rank: number;
  attempt: number | null;
  total: number;
  x: number[];
  value: Wire[];
  step: (number | null)[];
  time_ms: number[];
  attempts: number[];
  file: number[];
  offset: number[];
}

export interface Point {
  name: string;
  rank: number;
  attempt: number;
  step: number | null;
  value: Wire;
  time_ms: number;
  file_id: string;
  offset: number;
  place: number;
}

export interface Line {
  file_id: string;
  offset: number;
  text: string;
  kind: "text" | "record" | "continuation";
  stream: string;
  time_ms: number;
  time_known: boolean;
  attempt: number;
  rank: number;
}

export interface LinePage {
  lines: Line[];
  before: string | null;
  after: string | null;
  more: boolean; // in the direction that was asked for
}

export interface TaskEvent {
  kind: string;
  time_ms: number;
  attempt: number;
  rank: number;
  step: number | null;
  message: string;
  fields: Record<string, string>;
  origin: string;
  file_id: string;
  offset: number;
  place: number;
}

export interface FileVerdict {
  file_id: string;
  path: string;
  rank: number;
  attempt: number;
  written: number;
  shipped: number;
  stored: number;
  missing: [number, number][];
  verdict: string;
}

/** `lacks`: what a complete task would have, in sentences; `pulse`: of a quiet task, which hop is quiet. */
export interface Wholeness {
  verdict: string;
  lacks: string[];
  pulse: string;
  because: string;
  files: FileVerdict[];
}

export interface Latency {
  batches: number;
  clock_skew_batches: number;
  written_to_stored_ms: { p50: number; p99: number } | null;
}

export interface News {
  lines: Line[];
  points: Point[];
  events: TaskEvent[];
  revised: string[];
  more: boolean;
}

/** A failure that the gateway told in a sentence. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    detail: string,
  ) {
    super(detail);
  }
}

type Parameters = Record<string, string | number | boolean | string[] | null | undefined>;

export function address(path: string, parameters: Parameters = {}): string {
  const url = new URL(`api/v1/${path}`, document.baseURI);
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null || value === undefined || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(one));
  }
  return url.href;
}

export async function get<T>(path: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<T> {
  let response: Response;
  try {
    response = await fetch(address(path, parameters), signal ? { signal } : {});
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(0, "The gateway does not answer. This page goes on by itself when it does.");
  }
  if (!response.ok) {
    const detail = await response.json().then(
      (body: { detail?: string }) => body.detail,
      () => undefined,
    );
    throw new Problem(response.status, detail ?? `The gateway answered ${response.status}.`);
  }
  return (await response.json()) as T;
}

export function number(value: Wire): number {
  return typeof value === "number" ? value : Number(value);
}
