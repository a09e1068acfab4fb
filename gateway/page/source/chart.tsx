// One metric's chart: lines, marks for what is not finite, a legend with the newest values, and the way to the log.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { scaled } from "./axis";
import * as format from "./format";
import { nonFinite } from "./marks";
import { aligned, dark, HEIGHT, options, palette } from "./plot";
import type { View } from "./route";
import { nearest, place, type Series } from "./series";
import { Chosen } from "./tools";

const LEGEND = 6; // entries shown before "and n more"

interface Properties {
  task: string;
  name: string;
  series: Series[] | undefined; // undefined: being read
  version: number; // grows when points were added in place
  view: View;
  total: number; // points that the store knows of, on any axis
  onZoom: (from: number | null, to: number | null) => void;
  onPoint: (file: string, offset: number, step: number | null) => void;
}

export function Chart({ task, name, series, version, view, total, onZoom, onPoint }: Properties) {
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
      onPoint(first.file[here]!, first.offset[here]!, first.step[here]!);
    }
  };

  const newest = shown[0]?.y.at(-1);
  const chosen = view.metric === name && view.line ? place(shown, view.line) : null;
  return (
    <figure class="chart" id={`metric-${name}`} data-metric={name}>
      <figcaption>
        <h3 title={name}>{name.slice(name.lastIndexOf("/") + 1)}</h3>
        {lost.count > 0 && (
          <button class="lost" title="Values that are not finite; show the first one's line" onClick={() => lost.first && onPoint(lost.first.file, lost.first.offset, lost.first.step)}>
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
      {chosen && <Chosen task={task} series={chosen.series} index={chosen.index} />}
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
