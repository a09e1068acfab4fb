// The page's state that a link can carry: everything behind `#`, as name=value pairs.

import { useEffect, useState } from "preact/hooks";

export interface View {
  axis: "step" | "time";
  attempts: "stitched" | "each";
  smooth: number; // 0 to 0.99
  log: boolean;
  search: string;
  from: number | null;
  to: number | null;
  metric: string; // the chart to look at
  step: number | null; // marked in it
  line: { file: string; offset: number } | null; // shown in the log
}

export function read(hash: string): View {
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  const line = /^(.+)@(\d+)$/.exec(found.get("line") ?? "");
  return {
    axis: found.get("axis") === "time" ? "time" : "step",
    attempts: found.get("attempts") === "each" ? "each" : "stitched",
    smooth: Math.min(Math.max(numeric(found.get("smooth")) ?? 0, 0), 0.99),
    log: found.get("scale") === "log",
    search: found.get("metrics") ?? "",
    from: numeric(found.get("from")),
    to: numeric(found.get("to")),
    metric: found.get("metric") ?? "",
    step: numeric(found.get("step")),
    line: line ? { file: line[1]!, offset: Number(line[2]) } : null,
  };
}

export function write(view: View): string {
  const pairs = new URLSearchParams();
  if (view.axis !== "step") pairs.set("axis", view.axis);
  if (view.attempts !== "stitched") pairs.set("attempts", view.attempts);
  if (view.smooth) pairs.set("smooth", String(view.smooth));
  if (view.log) pairs.set("scale", "log");
  if (view.search) pairs.set("metrics", view.search);
  if (view.from !== null) pairs.set("from", String(view.from));
  if (view.to !== null) pairs.set("to", String(view.to));
  if (view.metric) pairs.set("metric", view.metric);
  if (view.step !== null) pairs.set("step", String(view.step));
  if (view.line) pairs.set("line", `${view.line.file}@${view.line.offset}`);
  const text = pairs.toString().replaceAll("%2F", "/").replaceAll("%40", "@");
  return text ? `#${text}` : "";
}

/** The view of this address, and how to change it: by replacing the address, so that "back" leaves the page. */
export function useView(): [View, (change: Partial<View>) => void] {
  const [view, setView] = useState(() => read(location.hash));
  useEffect(() => {
    const follow = (): void => setView(read(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  const change = (part: Partial<View>): void => {
    setView((old) => {
      const next = { ...old, ...part };
      // With the whole path: a bare "#…" would be taken relative to the `base` element.
      history.replaceState(null, "", location.pathname + location.search + write(next));
      return next;
    });
  };
  return [view, change];
}

function numeric(text: string | null): number | null {
  return text !== null && text !== "" && Number.isFinite(Number(text)) ? Number(text) : null;
}
