// Numbers, times and sizes in words.

const integer = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export function count(value: number): string {
  return integer.format(value);
}

export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** A metric's value: five digits that matter, never rounded to something that it is not far from. */
export function value(x: number): string {
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x > 0 ? "+Inf" : "−Inf";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (Number.isInteger(x) && size < 1e7) return count(x).replace("-", "−");
  if (size >= 1e7 || size < 1e-4) return x.toExponential(3).replace("-", "−").replace("e−", "e−").replace("e+", "e");
  return String(Number(x.toPrecision(5))).replace("-", "−");
}

export function bytes(size: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${units[unit]}`;
}

/** A span of milliseconds, in its two largest units at most. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(Math.round(ms), 0)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.round(minutes / 1440)} days`;
}

export function ago(ms: number, now: number): string {
  const span = now - ms;
  return span < 2000 ? "just now" : `${duration(span)} ago`;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

export function timeOfDay(ms: number): string {
  return clock.format(ms);
}

export function moment(ms: number): string {
  return new Date(ms).toDateString() === new Date().toDateString() ? clock.format(ms) : day.format(ms);
}

// CSI and OSC sequences, and the two-byte escapes: what a terminal would not show either.
const ANSI = /\u001b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

export function plain(text: string): string {
  return text.includes("\u001b") ? text.replace(ANSI, "") : text;
}
