// What is not finite: counted, told in words, and marked at the chart's edge.

import type uPlot from "uplot";
import { scaled } from "./axis";
import * as format from "./format";
import type { View } from "./route";
import type { Series } from "./series";

const MOST_MARKS = 200; // of one chart; beyond that they would hide the line, and the count in words tells all

export interface Lost {
  count: number;
  words: string;
  first: { file: string; offset: number; step: number | null } | null;
  marks: { x: number; y: number; step: number | null; file: string; offset: number }[];
}

export function nonFinite(shown: Series[]): Lost {
  const found: Lost = { count: 0, words: "", first: null, marks: [] };
  const kinds = new Map<string, number>();
  for (const one of shown) {
    for (let i = 0; i < one.y.length; i += 1) {
      const y = one.y[i]!;
      if (Number.isFinite(y)) continue;
      found.count += 1;
      kinds.set(format.value(y), (kinds.get(format.value(y)) ?? 0) + 1);
      found.first ??= { file: one.file[i]!, offset: one.offset[i]!, step: one.step[i]! };
      if (found.marks.length < MOST_MARKS) {
        found.marks.push({ x: one.x[i]!, y, step: one.step[i]!, file: one.file[i]!, offset: one.offset[i]! });
      }
    }
  }
  found.words = [...kinds].map(([kind, times]) => (times === 1 ? kind : `${kind} × ${times}`)).join(", ");
  return found;
}

/** What a chart shows now, for code that lives as long as its plot. */
export interface Current {
  current: {
    shown: Series[];
    lost: Lost;
    view: View;
    onPoint: (file: string, offset: number, step: number | null) => void;
    onZoom: (from: number | null, to: number | null) => void;
  };
}

/** Marks at the chart's edge: NaN and −Inf at the bottom, +Inf at the top; and the step that a link points to. */
export function mark(made: uPlot, current: Current): void {
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
      current.current.onPoint(one.file, one.offset, one.step);
    });
  }
  const first = current.current.shown[0];
  if (first && view.step !== null && view.metric === first.name) {
    const x = view.axis === "step" ? view.step : first.time[first.step.indexOf(view.step)];
    if (x !== undefined) add(x, "link", "", `step ${view.step}`);
  }
}
