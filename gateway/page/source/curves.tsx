// All metrics of a task as charts, grouped by prefix; what is on the screen is read, and kept up to date.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Problem, type Metric, type Point } from "./api";
import { Chart } from "./chart";
import * as format from "./format";
import type { View } from "./route";
import { append, load, type Series } from "./series";

const AT_ONCE = 16; // names in one request
const PATIENCE = 3000; // ms until a reading that failed is tried again
const AGAIN = 1000; // ms between two readings of curves that changed behind their end

interface Properties {
  task: string;
  metrics: Metric[] | undefined;
  view: View;
  change: (part: Partial<View>) => void;
  subscribe: (news: { points: (points: Point[]) => void; revised: () => void }) => () => void;
  onPoint: (file: string, offset: number, point: Partial<View>) => void;
  onProblem: (problem: string) => void;
}

export function Curves({ task, metrics, view, change, subscribe, onPoint, onProblem }: Properties) {
  const held = useRef(new Map<string, Series[]>());
  const wanted = useRef(new Set<string>()); // on the screen, or near it
  const reading = useRef<AbortController>(new AbortController());
  const pending = useRef<string[]>([]);
  const stale = useRef(new Set<string>());
  const [version, setVersion] = useState(0);
  const current = useRef(view);
  current.current = view;

  const read = (names: string[]): void => {
    const signal = reading.current.signal;
    for (let at = 0; at < names.length; at += AT_ONCE) {
      const some = names.slice(at, at + AT_ONCE);
      load(task, some, current.current, signal).then(
        (found) => {
          for (const [name, series] of found) held.current.set(name, series);
          setVersion((v) => v + 1);
        },
        (error: unknown) => {
          if (error instanceof DOMException) return;
          onProblem(error instanceof Problem ? error.message : String(error));
          setTimeout(() => {
            if (!signal.aborted) read(some.filter((name) => wanted.current.has(name)));
          }, PATIENCE);
        },
      );
    }
  };

  // Another axis, other attempts, another range: everything on the screen is read anew; what it shows stays until then.
  useEffect(() => {
    reading.current.abort();
    reading.current = new AbortController();
    for (const name of [...held.current.keys()]) if (!wanted.current.has(name)) held.current.delete(name);
    read([...wanted.current]);
  }, [task, view.axis, view.attempts, view.from, view.to]);

  useEffect(() => {
    let frame = 0;
    let again = 0;
    const reread = (names: Iterable<string>): void => {
      for (const name of names) stale.current.add(name);
      again ||= window.setTimeout(() => {
        again = 0;
        read([...stale.current].filter((name) => wanted.current.has(name)));
        stale.current.clear();
      }, AGAIN);
    };
    const leave = subscribe({
      points: (points) => {
        for (const point of points) {
          const series = held.current.get(point.name);
          if (series && !append(series, point, current.current)) reread([point.name]);
        }
        frame ||= requestAnimationFrame(() => {
          frame = 0;
          setVersion((v) => v + 1);
        });
      },
      revised: () => reread(wanted.current),
    });
    return () => {
      leave();
      cancelAnimationFrame(frame);
      clearTimeout(again);
    };
  }, [task]);

  const groups = useMemo(() => grouped(metrics ?? [], view.search), [metrics, view.search]);
  const zoom = (from: number | null, to: number | null): void => change({ from, to });

  useEffect(() => {
    if (metrics && view.metric) document.getElementById(`metric-${view.metric}`)?.scrollIntoView({ block: "center" });
  }, [metrics !== undefined]);

  return (
    <section class="curves" aria-label="Curves">
      <div class="bar">
        <h2>Curves</h2>
        <input
          type="search"
          placeholder="Filter"
          aria-label="Filter metrics"
          value={view.search}
          onInput={(event) => change({ search: event.currentTarget.value })}
        />
        <Switch label="By" value={view.axis} options={{ step: "Step", time: "Time" }} onChange={(axis) => change({ axis, from: null, to: null })} />
        <Switch label="Restarts" value={view.attempts} options={{ stitched: "Stitched", each: "Each attempt" }} onChange={(attempts) => change({ attempts })} />
        <label class="slider">
          Smooth
          <input
            type="range"
            min="0"
            max="0.99"
            step="0.01"
            value={view.smooth}
            aria-valuetext={view.smooth ? String(view.smooth) : "off"}
            onInput={(event) => change({ smooth: Number(event.currentTarget.value) })}
          />
          <output>{view.smooth ? view.smooth.toFixed(2) : "off"}</output>
        </label>
        <label class="check">
          <input type="checkbox" checked={view.log} onChange={(event) => change({ log: event.currentTarget.checked })} /> Log scale
        </label>
        {(view.from !== null || view.to !== null) && (
          <button onClick={() => zoom(null, null)}>
            Whole range <span class="muted">({view.axis === "step" ? `${format.count(view.from ?? 0)} to ${format.count(view.to ?? 0)}` : "zoomed"})</span>
          </button>
        )}
      </div>
      {metrics === undefined && <p class="empty">reading…</p>}
      {metrics?.length === 0 && <p class="empty">No metric yet. A line with a value, such as <code>loss=0.31</code>, makes one.</p>}
      {metrics && metrics.length > 0 && groups.length === 0 && <p class="empty">No metric's name holds “{view.search}”.</p>}
      {groups.map(([prefix, members]) => (
        <details key={prefix} open class="group">
          <summary>
            {prefix || "metrics"} <span class="muted">{members.length}</span>
          </summary>
          <div class="grid">
            {members.map((metric) => (
              <Seen
                key={metric.name}
                onSeen={() => {
                  if (wanted.current.has(metric.name)) return;
                  wanted.current.add(metric.name);
                  pending.current.push(metric.name);
                  if (pending.current.length === 1) setTimeout(() => read(pending.current.splice(0))); // all that came together
                }}
                onGone={() => wanted.current.delete(metric.name)}
              >
                <Chart
                  task={task}
                  name={metric.name}
                  series={held.current.get(metric.name)}
                  version={version}
                  view={view}
                  total={metric.points}
                  onZoom={zoom}
                  onPoint={(file, offset, step) => onPoint(file, offset, { metric: metric.name, step })}
                />
              </Seen>
            ))}
          </div>
        </details>
      ))}
    </section>
  );
}

/** Tells when its place comes on the screen, and when it has left it by far. */
function Seen({ onSeen, onGone, children }: { onSeen: () => void; onGone: () => void; children: preact.ComponentChildren }) {
  const place = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const watch = new IntersectionObserver(
      ([entry]) => {
        setSeen(entry!.isIntersecting);
        if (entry!.isIntersecting) onSeen();
        else onGone();
      },
      { rootMargin: "400px" },
    );
    watch.observe(place.current!);
    return () => {
      watch.disconnect();
      onGone();
    };
  }, []);
  return (
    <div class="place" ref={place}>
      {seen && children}
    </div>
  );
}

interface SwitchProperties<T extends string> {
  label: string;
  value: T;
  options: Record<T, string>;
  onChange: (value: T) => void;
}

export function Switch<T extends string>({ label, value, options, onChange }: SwitchProperties<T>) {
  return (
    <div class="switch" role="group" aria-label={label}>
      {(Object.keys(options) as T[]).map((key) => (
        <button key={key} aria-pressed={key === value} onClick={() => onChange(key)}>
          {options[key]}
        </button>
      ))}
    </div>
  );
}

function grouped(metrics: Metric[], search: string): [string, Metric[]][] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const groups = new Map<string, Metric[]>();
  for (const metric of metrics) {
    if (!words.every((word) => metric.name.toLowerCase().includes(word))) continue;
    const prefix = metric.name.slice(0, Math.max(metric.name.lastIndexOf("/"), 0));
    if (!groups.has(prefix)) groups.set(prefix, []);
    groups.get(prefix)!.push(metric);
  }
  // What people look at first comes first: training, then validation; the machine comes last. In a group the losses lead.
  for (const members of groups.values()) members.sort((a, b) => order(LOSS, a.name) - order(LOSS, b.name) || (a.name < b.name ? -1 : 1));
  return [...groups].sort(([a], [b]) => order(FIRST, a) - order(FIRST, b) || (a < b ? -1 : 1));
}

const LOSS = [/loss/i];
const FIRST = [/^train/i, /^(val|eval|test|dev)/i, /^$/, /^(?!sys|gpu|cpu|perf|time)/i];

/** Place of the first pattern that fits; behind all where none does. */
function order(patterns: RegExp[], text: string): number {
  const place = patterns.findIndex((pattern) => pattern.test(text));
  return place < 0 ? patterns.length : place;
}
