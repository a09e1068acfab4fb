// Places and words on a chart's axes.

import type { View } from "./route";

/** Distances between ticks of the step axis. */
export const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8, 5e8, 1e9, 1e10, 1e11, 1e12];

export function short(x: number): string {
  if (Math.abs(x) >= 1e6) return `${Number((x / 1e6).toPrecision(4))}M`;
  return Math.abs(x) >= 1e4 ? `${Number((x / 1e3).toPrecision(4))}k` : String(x);
}

/** A tick of the time axis, `apart` seconds from the next. */
export function clock(seconds: number, apart: number): string {
  const at = new Date(seconds * 1000);
  const day = at.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  if (apart >= 86400) return day;
  const time = at.toLocaleTimeString("en-GB", apart >= 60 ? { hour: "2-digit", minute: "2-digit" } : {});
  return time === "00:00" ? day : time;
}

export function tick(y: number): string {
  if (y !== 0 && (Math.abs(y) >= 1e6 || Math.abs(y) < 1e-4)) return y.toExponential(1).replace("e+", "e");
  return Math.abs(y) >= 1e4 ? short(y) : String(Number(y.toPrecision(6)));
}

// uPlot's time scale counts seconds, the store milliseconds.
export function scaled(x: number, view: View): number {
  return view.axis === "time" ? x / 1000 : x;
}

export function unscaled(x: number, view: View): number {
  return view.axis === "time" ? x * 1000 : x;
}
