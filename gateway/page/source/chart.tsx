// One metric's chart: lines, marks for what is not finite, a legend with the newest values, and the way to the log.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import * as format from "./format";
import { nearest, smoothed, type Series } from "./series";
import type { View } from "./route";

const HEIGHT = 190;
const MOST_MARKS = 200; // of one chart; beyond that they would hide the line, and the count in words tells all
const LEGEND = 6; // entries shown before "and n more"
const sync = uPlot.sync("charts");

interface Properties {
  name: string;
  series: Series[] | undefined; // undefined: being read
  version: number; // grows when points were added in place
  view: View;
  total: number; // points that the store knows of, on any axis
  onZoom: (from: number | null, to: number | null) => void;
  onPoint: (file: string, offset: number) => void;
}

export function Chart({ name, series, version, view, total, onZoom, onPoint }: Properties) {
  const figure = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [at, setAt] = useState<number | null>(null); // x under the cursor
  const scheme = useScheme();
  const shown = series ?? [];
  const shape = shown.map((one) => `${one.rank}/${one.attempt}`).join();
  const data = useMemo(() => aligned(shown, view), [series, version, view.axis, view.smooth, view.log]);
  const lost = useMemo(() => nonFinite(shown), [series, version]);
  const hidden = view.log ? shown.reduce((sum, one) => sum + one.y.filter((y) => y <= 0).length, 0) : 0;
  const current = useRef({ shown, lost, onPoint, onZoom, view });
  current.current = { shown, lost, onPoint, onZoom, view };

  useEffect(() => {
    const parent = figure.current;
    if (!parent || shown.length === 0) return;
    const made = new uPlot(options(parent, shown, view, setAt, current), data, parent);
    plot.current = made;
    const fit = new ResizeObserver(() => made.setSize({ width: parent.clientWidth, height: HEIGHT }));
    fit.observe(parent);
    return () => {
      fit.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape, view.axis, view.smooth > 0, view.log, scheme]);

  useEffect(() => {
    plot.current?.setData(data);
  }, [data, shape, view.axis, view.log, view.metric, view.step, scheme]);

  const move = (event: KeyboardEvent): void => {
    const made = plot.current;
    const first = shown[0];
    if (!made || !first || first.x.length === 0) return;
    const here = at === null ? first.x.length - 1 : nearest(first, at);
    const to = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: first.x.length - 1 }[event.key];
    if (to !== undefined) {
      const x = first.x[Math.min(Math.max(to, 0), first.x.length - 1)]!;
      made.setCursor({ left: made.valToPos(scaled(x, view), "x"), top: HEIGHT / 2 });
      setAt(x);
      event.preventDefault();
    } else if (event.key === "Enter") {
      onPoint(first.file[here]!, first.offset[here]!);
    }
  };

  const newest = shown[0] && lastOf(shown[0]);
  return (
    <figure class="chart" id={`metric-${name}`} data-metric={name}>
      <figcaption>
        <h3 title={name}>{name.slice(name.lastIndexOf("/") + 1)}</h3>
        {lost.count > 0 && (
          <button class="lost" title="Values that are not finite; show the first one's line" onClick={() => lost.first && onPoint(lost.first.file, lost.first.offset)}>
            {lost.words}
          </button>
        )}
        {hidden > 0 && <span class="note">{format.plural(hidden, "value")} ≤ 0 not on a log scale</span>}
      </figcaption>
      <div
        ref={figure}
        class="plot"
        tabIndex={shown.length ? 0 : -1}
        role="img"
        aria-label={`${name} by ${view.axis}. Newest ${newest === undefined ? "unknown" : format.value(newest)}. ${lost.words}. Arrow keys move, Enter shows the log line.`}
        onKeyDown={move}
      />
      {series === undefined && <p class="empty">reading…</p>}
      {series?.length === 0 && (
        <p class="empty">{total > 0 && view.axis === "step" ? "Its points tell no step: see them by time." : "No point in this range."}</p>
      )}
      {shown.length > 0 && <Legend shown={shown} at={at} scheme={scheme} />}
    </figure>
  );
}

function Legend({ shown, at, scheme }: { shown: Series[]; at: number | null; scheme: string }) {
  const [all, setAll] = useState(false);
  const listed = all ? shown : shown.slice(0, LEGEND);
  const colours = useMemo(palette, [scheme]);
  return (
    <ul class="legend">
      {listed.map((one, order) => {
        const index = at === null ? one.x.length - 1 : nearest(one, at);
        const y = one.y[index];
        return (
          <li key={`${one.rank}/${one.attempt}`}>
            <i style={{ backgroundColor: colours[order % colours.length]! }} />
            <span class="who">{label(one, shown)}</span>
            <b class={y !== undefined && !Number.isFinite(y) ? "value bad" : "value"} data-value={y}>
              {y === undefined ? "" : format.value(y)}
            </b>
            <span class="where">{where(one.step[index])}</span>
          </li>
        );
      })}
      {shown.length > LEGEND && (
        <li>
          <button class="link" onClick={() => setAll(!all)}>
            {all ? "fewer" : `and ${shown.length - LEGEND} more`}
          </button>
        </li>
      )}
    </ul>
  );
}

function where(step: number | null | undefined): string {
  return step === null || step === undefined ? "" : `step ${format.count(step)}`;
}

function label(one: Series, among: Series[]): string {
  const parts = [];
  if (among.some((other) => other.rank !== one.rank)) parts.push(`rank ${one.rank}`);
  if (one.attempt !== null) parts.push(`attempt ${one.attempt}`);
  return parts.join(" · ") || (one.rank ? `rank ${one.rank}` : "newest");
}

interface Lost {
  count: number;
  words: string;
  first: { file: string; offset: number } | null;
  marks: { x: number; y: number; step: number | null; file: string; offset: number }[];
}

function nonFinite(shown: Series[]): Lost {
  const found: Lost = { count: 0, words: "", first: null, marks: [] };
  const kinds = new Map<string, number>();
  for (const one of shown) {
    for (let i = 0; i < one.y.length; i += 1) {
      const y = one.y[i]!;
      if (Number.isFinite(y)) continue;
      found.count += 1;
      kinds.set(format.value(y), (kinds.get(format.value(y)) ?? 0) + 1);
      found.first ??= { file: one.file[i]!, offset: one.offset[i]! };
      if (found.marks.length < MOST_MARKS) {
        found.marks.push({ x: one.x[i]!, y, step: one.step[i]!, file: one.file[i]!, offset: one.offset[i]! });
      }
    }
  }
  found.words = [...kinds].map(([kind, times]) => (times === 1 ? kind : `${kind} × ${times}`)).join(", ");
  return found;
}

type Current = { current: { shown: Series[]; lost: Lost; view: View; onPoint: Properties["onPoint"]; onZoom: Properties["onZoom"] } };

/** Marks at the chart's edge: NaN and −Inf at the bottom, +Inf at the top; and the step that a link points to. */
function mark(made: uPlot, current: Current): void {
  const { lost, view } = current.current;
  const over = made.over;
  for (const old of over.querySelectorAll(".mark")) old.remove();
  const add = (x: number, kind: string, text: string, title: string): HTMLElement | null => {
    const left = made.valToPos(scaled(x, view), "x");
    if (left < -1 || left > over.clientWidth + 1) return null;
    const one = document.createElement("span");
    one.className = `mark ${kind}`;
    one.style.left = `${left}px`;
    one.title = title;
    one.textContent = text;
    over.append(one);
    return one;
  };
  for (const one of lost.marks) {
    const kind = Number.isNaN(one.y) ? "nan" : one.y > 0 ? "up" : "down";
    const where = one.step === null ? "" : ` at step ${one.step}`;
    const made = add(one.x, kind, kind === "nan" ? "×" : kind === "up" ? "▲" : "▼", `${format.value(one.y)}${where}`);
    made?.addEventListener("mousedown", (event) => event.stopPropagation());
    made?.addEventListener("click", (event) => {
      event.stopPropagation();
      current.current.onPoint(one.file, one.offset);
    });
  }
  const first = current.current.shown[0];
  if (first && view.step !== null && view.metric === first.name) {
    const x = view.axis === "step" ? view.step : first.time[first.step.indexOf(view.step)];
    if (x !== undefined) add(x, "link", "", `step ${view.step}`);
  }
}

function aligned(shown: Series[], view: View): uPlot.AlignedData {
  if (shown.length === 0) return [[]];
  const drawn = (y: number): number | null => (Number.isFinite(y) && !(view.log && y <= 0) ? y : null);
  const tables = shown.map((one): uPlot.AlignedData => {
    const x = view.axis === "time" ? one.x.map((ms) => ms / 1000) : one.x;
    const { xs, columns } = unique(x, view.smooth > 0 ? [one.y, smoothed(one.y, view.smooth)] : [one.y]);
    return [xs, ...columns.map((column) => column.map(drawn))] as uPlot.AlignedData;
  });
  return tables.length === 1 ? tables[0]! : uPlot.join(tables);
}

/** uPlot wants x to grow: of values at one x the last stays, unless it is not finite and another is. */
function unique(x: number[], columns: number[][]): { xs: number[]; columns: number[][] } {
  const keep: number[] = [];
  for (let i = 0; i < x.length; i += 1) {
    const last = keep.at(-1);
    if (last === undefined || x[last] !== x[i]) keep.push(i);
    else if (Number.isFinite(columns[0]![i]!)) keep[keep.length - 1] = i;
  }
  if (keep.length === x.length) return { xs: x, columns };
  return { xs: keep.map((i) => x[i]!), columns: columns.map((column) => keep.map((i) => column[i]!)) };
}

function options(parent: HTMLElement, shown: Series[], view: View, setAt: (x: number | null) => void, current: Current): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--muted").trim();
  const grid = { stroke: style.getPropertyValue("--line").trim(), width: 1 };
  const colours = palette();
  const thin = shown.length > 8;
  const lines = shown.flatMap((_, place): uPlot.Series[] => {
    const stroke = colours[place % colours.length]!;
    const main: uPlot.Series = { stroke, width: thin ? 1 : 1.6, points: { size: 5 } };
    return view.smooth > 0 ? [{ stroke: `${stroke}40`, width: 1, points: { show: false } }, { ...main, points: { show: false } }] : [main];
  });
  return {
    width: parent.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    padding: [10, 8, 0, 0],
    scales: { x: { time: view.axis === "time" }, y: view.log ? { distr: 3 } : {} },
    series: [{}, ...lines],
    axes: [
      { stroke: ink, grid: { show: false }, ticks: { ...grid, size: 4 }, size: 26, font: "11px system-ui, sans-serif", ...(view.axis === "step" ? { incrs: WHOLE, values: (_: uPlot, xs: number[]) => xs.map(short) } : { values: (_: uPlot, xs: number[], __: number, ___: number, apart: number) => xs.map((x) => clock(x, apart)) }) },
      { stroke: ink, grid, ticks: { show: false }, size: 52, font: "11px system-ui, sans-serif", values: (_: uPlot, ys: (number | null)[]) => ys.map((y) => (y === null ? "" : tick(y))) },
    ],
    cursor: {
      sync: { key: sync.key, setSeries: false, scales: ["x", null] },
      drag: { x: true, y: false, setScale: false },
      points: { size: 7 },
      bind: { dblclick: () => () => (current.current.onZoom(null, null), null) },
    },
    hooks: {
      draw: [(made) => mark(made, current)],
      setCursor: [
        (made) => {
          const left = made.cursor.left ?? -1;
          setAt(left < 0 ? null : unscaled(made.posToVal(left, "x"), current.current.view));
        },
      ],
      setSelect: [
        (made) => {
          if (made.select.width < 4) return;
          const { view: now, onZoom } = current.current;
          onZoom(unscaled(made.posToVal(made.select.left, "x"), now), unscaled(made.posToVal(made.select.left + made.select.width, "x"), now));
          made.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
      ready: [
        (made) => {
          let pressed = 0;
          made.over.addEventListener("mousedown", (event) => (pressed = event.clientX));
          made.over.addEventListener("click", (event) => {
            if (Math.abs(event.clientX - pressed) > 3) return; // the end of a drag
            const found = under(made, current.current.shown, current.current.view);
            if (found) current.current.onPoint(found.series.file[found.index]!, found.series.offset[found.index]!);
          });
        },
      ],
    },
  };
}

/** The point nearest to the cursor: in x first, of those the one nearest in height. */
function under(made: uPlot, shown: Series[], view: View): { series: Series; index: number } | null {
  const { left = -1, top = 0 } = made.cursor;
  if (left < 0) return null;
  const x = unscaled(made.posToVal(left, "x"), view);
  let best: { series: Series; index: number; away: number } | null = null;
  for (const series of shown) {
    if (series.x.length === 0) continue;
    const index = nearest(series, x);
    const y = series.y[index]!;
    const high = Number.isFinite(y) ? made.valToPos(y, "y") : HEIGHT;
    const away = Math.hypot(made.valToPos(scaled(series.x[index]!, view), "x") - left, high - top);
    if (!best || away < best.away) best = { series, index, away };
  }
  return best;
}

const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8, 5e8, 1e9, 1e10, 1e11, 1e12];

function short(x: number): string {
  if (Math.abs(x) >= 1e6) return `${Number((x / 1e6).toPrecision(4))}M`;
  return Math.abs(x) >= 1e4 ? `${Number((x / 1e3).toPrecision(4))}k` : String(x);
}

/** A tick of the time axis, `apart` seconds from the next. */
function clock(seconds: number, apart: number): string {
  const at = new Date(seconds * 1000);
  const day = at.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  if (apart >= 86400) return day;
  const time = at.toLocaleTimeString("en-GB", apart >= 60 ? { hour: "2-digit", minute: "2-digit" } : {});
  return time === "00:00" ? day : time;
}

function tick(y: number): string {
  if (y !== 0 && (Math.abs(y) >= 1e6 || Math.abs(y) < 1e-4)) return y.toExponential(1).replace("e+", "e");
  return Math.abs(y) >= 1e4 ? short(y) : String(Number(y.toPrecision(6)));
}

// uPlot's time scale counts seconds, the store milliseconds.
function scaled(x: number, view: View): number {
  return view.axis === "time" ? x / 1000 : x;
}

function unscaled(x: number, view: View): number {
  return view.axis === "time" ? x * 1000 : x;
}

function lastOf(one: Series): number | undefined {
  return one.y.at(-1);
}

// Okabe and Ito's colours, told apart with any colour vision, in a shade for each background.
export function palette(): string[] {
  return dark() ? ["#6aa5ff", "#f0a830", "#3fc79a", "#e58ac0", "#7cc7f2", "#f2764a", "#e8dc5a", "#b9a3ff"] : ["#1f5fd0", "#d17d00", "#00805c", "#b4477f", "#3d93c7", "#c8480f", "#8a7a00", "#6b4fc4"];
}

function dark(): boolean {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

function useScheme(): string {
  const [scheme, setScheme] = useState(dark() ? "dark" : "light");
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const follow = (): void => setScheme(query.matches ? "dark" : "light");
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, []);
  return scheme;
}
