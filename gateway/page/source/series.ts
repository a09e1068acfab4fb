// Curves in the browser: what the store sent, thinned, and what the live stream adds at the end.

import { get, number, type Point, type WireSeries } from "./api";
import type { View } from "./route";

export const POINTS = 2000; // most points of one series: twice what the widest chart has pixels for

export interface Series {
  name: string;
  rank: number;
  attempt: number | null; // null: stitched over all
  total: number; // points there are, not only those held here
  x: number[];
  y: number[]; // NaN and infinities as they are
  step: (number | null)[];
  time: number[];
  attempts: number[];
  file: string[];
  offset: number[];
}

export type Which = Pick<View, "axis" | "attempts" | "from" | "to">;

/** Series of some metrics, by name; a metric without a point on this axis has an empty list. */
export async function load(task: string, names: string[], which: Which, signal: AbortSignal): Promise<Map<string, Series[]>> {
  const answer = await get<{ files: string[]; series: WireSeries[] }>(
    `tasks/${task}/curves`,
    { names, axis: which.axis, attempts: which.attempts, points: POINTS, from: bound(which.from, Math.floor), to: bound(which.to, Math.ceil) },
    signal,
  );
  const found = new Map<string, Series[]>(names.map((name) => [name, []]));
  for (const one of answer.series) {
    found.get(one.name)?.push({
      name: one.name,
      rank: one.rank,
      attempt: one.attempt,
      total: one.total,
      x: one.x,
      y: one.value.map(number),
      step: one.step,
      time: one.time_ms,
      attempts: one.attempts,
      file: one.file.map((place) => answer.files[place]!),
      offset: one.offset,
    });
  }
  return found;
}

/** Add a live point. False where the curve must be read again: it was zoomed, grew too long, or an earlier step was logged anew. */
export function append(list: Series[], point: Point, which: Which): boolean {
  const x = which.axis === "step" ? point.step : point.time_ms;
  if (x === null) return true; // on the time axis only
  if (which.from !== null || which.to !== null) return (which.to !== null && x > which.to) || (which.from !== null && x < which.from);
  const attempt = which.attempts === "each" ? point.attempt : null;
  let series = list.find((one) => one.rank === point.rank && one.attempt === attempt);
  if (!series) {
    series = { name: point.name, rank: point.rank, attempt, total: 0, x: [], y: [], step: [], time: [], attempts: [], file: [], offset: [] };
    list.push(series);
    list.sort((a, b) => a.rank - b.rank || (a.attempt ?? 0) - (b.attempt ?? 0));
  }
  let at = series.x.length;
  while (at > 0 && series.x[at - 1]! > x) at -= 1;
  // A stream that begins before the curve was read repeats its end.
  for (let i = at - 1; i >= 0 && series.x[i] === x; i -= 1) {
    if (series.file[i] === point.file_id && series.offset[i] === point.offset) return true;
  }
  if (attempt === null && at > 0 && series.attempts.at(-1)! !== point.attempt && at < series.x.length) return false;
  if (at < series.x.length && series.total > series.x.length) return false; // inside what was thinned
  insert(series.x, at, x);
  insert(series.y, at, number(point.value));
  insert(series.step, at, point.step);
  insert(series.time, at, point.time_ms);
  insert(series.attempts, at, point.attempt);
  insert(series.file, at, point.file_id);
  insert(series.offset, at, point.offset);
  series.total += 1;
  return series.x.length <= 2 * POINTS;
}

/** Exponential average as TensorBoard draws it: without the bias of its start, over what is finite. */
export function smoothed(values: readonly number[], weight: number): number[] {
  let sum = 0;
  let norm = 0;
  return values.map((value) => {
    if (!Number.isFinite(value)) return value;
    sum = sum * weight + (1 - weight) * value;
    norm = norm * weight + (1 - weight);
    return sum / norm;
  });
}

/** Index of the point nearest to x. */
export function nearest(series: Series, x: number): number {
  let low = 0;
  let high = series.x.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (series.x[middle]! < x) low = middle + 1;
    else high = middle;
  }
  return low > 0 && Math.abs(series.x[low - 1]! - x) <= Math.abs(series.x[low]! - x) ? low - 1 : low;
}

/** The point that a log line gave; null where it is not among those held. */
export function place(shown: Series[], line: { file: string; offset: number }): { series: Series; index: number } | null {
  for (const series of shown) {
    const index = series.offset.findIndex((offset, i) => offset === line.offset && series.file[i] === line.file);
    if (index >= 0) return { series, index };
  }
  return null;
}

function insert<T>(list: T[], at: number, value: T): void {
  if (at === list.length) list.push(value);
  else list.splice(at, 0, value);
}

function bound(x: number | null, round: (x: number) => number): number | null {
  return x === null ? null : round(x);
}
