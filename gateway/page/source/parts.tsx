// Small parts that both pages use.

import { useEffect, useState } from "preact/hooks";
import * as format from "./format";
import type { Task } from "./api";

/** The time, again every second. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

export function Status({ status }: { status: string }) {
  const kind = ["running", "succeeded", "failed", "stopped", "ended"].includes(status) ? status : "other";
  return <span class={`status ${kind}`}>{status}</span>;
}

export function Progress({ task, brief }: { task: Task; brief?: boolean }) {
  const { progress_done: done, progress_total: total } = task;
  if (done === null) return brief ? null : <p class="muted">No progress told yet.</p>;
  const share = total ? Math.min(done / total, 1) : null;
  const words = total ? `${format.count(done)} of ${format.count(total)}` : format.count(done);
  return (
    <div class={`progress ${task.status}`}>
      <div
        class="track"
        role="progressbar"
        aria-label="Progress"
        aria-valuemin={0}
        aria-valuemax={total ?? undefined}
        aria-valuenow={done}
        aria-valuetext={words}
      >
        <div class="done" style={{ width: `${(share ?? 0) * 100}%` }} />
      </div>
      <span class="words">
        {share !== null && <b>{Math.floor(share * 100)} %</b>} {!brief && <span class="muted">{words}</span>}
      </span>
    </div>
  );
}

/** When a running task will be done, in words. */
export function eta(task: Task, now: number): string | null {
  if (task.eta_ms === null) return null;
  return task.eta_ms > now ? `done in about ${format.duration(task.eta_ms - now)}, at ${format.moment(task.eta_ms)}` : "about to be done";
}

export function Notice({ text }: { text: string }) {
  return text ? (
    <p class="notice" role="status">
      {text}
    </p>
  ) : null;
}

export function Header({ here }: { here: "tasks" | "task" }) {
  return (
    <header class="top">
      <a class="brand" href="tasks">
        trainwire
      </a>
      <nav aria-label="Pages">
        <a href="tasks" aria-current={here === "tasks" ? "page" : undefined}>
          Tasks
        </a>
        <a href="viewers">Viewers</a>
      </nav>
    </header>
  );
}
