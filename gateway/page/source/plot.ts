// uPlot's data and options for one chart.

import uPlot from "uplot";
import { clock, scaled, short, tick, unscaled, WHOLE } from "./axis";
import { mark, type Current } from "./marks";
import type { View } from "./route";
import { nearest, smoothed, type Series } from "./series";

export const HEIGHT = 190; // px; as style.css has it for the lines of marks
const sync = uPlot.sync("charts");

export function aligned(shown: Series[], view: View): uPlot.AlignedData {
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

export function options(parent: HTMLElement, shown: Series[], view: View, setAt: (x: number | null) => void, current: Current): uPlot.Options {
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
            if (found) {
              const { series, index } = found;
              current.current.onPoint(series.file[index]!, series.offset[index]!, series.step[index]!);
            }
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

// Okabe and Ito's colours, told apart with any colour vision, in a shade for each background.
export function palette(): string[] {
  return dark() ? ["#6aa5ff", "#f0a830", "#3fc79a", "#e58ac0", "#7cc7f2", "#f2764a", "#e8dc5a", "#b9a3ff"] : ["#1f5fd0", "#d17d00", "#00805c", "#b4477f", "#3d93c7", "#c8480f", "#8a7a00", "#6b4fc4"];
}

export function dark(): boolean {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}
