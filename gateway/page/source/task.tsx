// The page of one task.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, Problem, type Metric, type Point, type TaskDetail, type TaskEvent } from "./api";
import { Curves } from "./curves";
import { Attempts, Events, Parameters, Trust } from "./details";
import * as format from "./format";
import { Live } from "./live";
import { Log } from "./log";
import { eta, Header, Notice, Progress, Status, useNow } from "./parts";
import { useView, type View } from "./route";
import { Tools } from "./tools";

const SILENT = 45_000; // ms: four heartbeats were missed
const PATIENCE = 3000; // ms for the stream to open; then the page shows what there is

export function TaskPage({ id }: { id: string }) {
  const [detail, setDetail] = useState<TaskDetail>();
  const [metrics, setMetrics] = useState<Metric[]>();
  const [events, setEvents] = useState<TaskEvent[]>([]);
  const [live, setLive] = useState<Live>();
  const [problem, setProblem] = useState("");
  const [fault, setFault] = useState<Problem>();
  const [view, change] = useView();
  const logPanel = useRef<HTMLDivElement>(null);

  useEffect(() => {
    document.title = `${id} · trainwire`;
    let again = 0;
    let left = false;
    const stream = new Live(id);
    stream.listen({ problem: (text) => !left && setProblem(text) });
    const look = async (): Promise<void> => {
      try {
        const found = await get<TaskDetail>(`tasks/${id}`);
        if (left) return;
        setDetail(found);
        setFault(undefined);
      } catch (error) {
        if (left) return;
        setFault(error instanceof Problem ? error : new Problem(0, String(error)));
        again = window.setTimeout(look, 3000); // a task that just begins, a store that comes back
      }
    };
    // The stream has its place before anything is read; what both bring is told apart by its place in its file.
    const read = async (): Promise<void> => {
      await Promise.race([stream.opened, new Promise((late) => setTimeout(late, PATIENCE))]);
      if (left) return;
      setLive(stream);
      const [names, past] = await Promise.all([
        get<{ metrics: Metric[] }>(`tasks/${id}/metrics`),
        get<{ events: TaskEvent[] }>(`tasks/${id}/events`, { limit: 300 }),
      ]);
      if (left) return;
      setMetrics((now) => merged(names.metrics, now ?? []));
      setEvents((now) => joined(past.events, now));
    };
    void look();
    const attempt = (): void => {
      read().catch(() => {
        if (!left) setTimeout(attempt, PATIENCE); // the fault itself is told by the stream, or by the look above
      });
    };
    attempt();
    return () => {
      left = true;
      clearTimeout(again);
      stream.close();
    };
  }, [id]);

  useEffect(() => {
    if (!live) return;
    let parts = 0;
    const leave = live.listen({
      state: ({ task, pipeline }) => {
        setDetail((now) => now && { ...now, task });
        setEvents((now) => joined(pipeline, now));
      },
      news: ({ points, events: more }) => {
        if (points.length) setMetrics((now) => now && counted(now, points));
        if (more.length) setEvents((now) => joined(more.filter((event) => event.kind !== "progress" && event.kind !== "params"), now));
        // Files, ranks, attempts and parameters change with rare events: read anew, and not more than each 2 s.
        if (more.some((event) => event.kind !== "progress" && event.kind !== "event")) {
          parts ||= window.setTimeout(() => {
            parts = 0;
            get<TaskDetail>(`tasks/${id}`).then(
              (found) => setDetail(found),
              (error: Error) => setProblem(error.message),
            );
          }, 2000);
        }
      },
    });
    return () => {
      leave();
      clearTimeout(parts);
    };
  }, [live]);

  const subscribeCurves = useMemo(
    () => (to: { points: (points: Point[]) => void; revised: () => void }) =>
      live
        ? live.listen({
            news: ({ points, revised }) => {
              if (points.length) to.points(points);
              if (revised.length) to.revised();
            },
          })
        : () => undefined,
    [live],
  );

  if (fault && !detail) {
    return (
      <>
        <Header here="task" />
        <main class="fault">
          <h1>{fault.status === 404 ? "No such task" : fault.status === 401 ? "Who are you?" : "Not now"}</h1>
          <p>{fault.message}</p>
          {fault.status === 401 && <p><a href="sign-in">Sign in</a></p>}
          <p class="muted">This page looks again every few seconds. All tasks are in the <a href="tasks">list</a>.</p>
        </main>
      </>
    );
  }
  const show = (file: string, offset: number, point: Partial<View> = {}): void => {
    change({ line: { file, offset }, ...point });
    logPanel.current?.scrollIntoView({ block: "nearest" });
  };
  return (
    <>
      <Header here="task" />
      <Notice text={problem} />
      <main class="task">
        <Head id={id} detail={detail} />
        <div class="panes">
          <div class="pane">
            {live && (
              <Curves task={id} metrics={metrics} view={view} change={change} subscribe={subscribeCurves} onPoint={show} onProblem={setProblem} />
            )}
          </div>
          <div class="pane side" ref={logPanel}>
            {live && (
              <Log
                task={id}
                files={detail?.files ?? []}
                target={view.line}
                subscribe={(to) => live.listen({ news: ({ lines }) => lines.length && to(lines) })}
                onTarget={(line) => change({ line })}
                onProblem={setProblem}
              />
            )}
          </div>
        </div>
        {detail && live && (
          <div class="facts">
            <Events events={events} onLine={show} />
            <Attempts detail={detail} />
            <Parameters parameters={detail.parameters} />
            <Trust task={detail.task} live={live} />
          </div>
        )}
      </main>
    </>
  );
}

function Head({ id, detail }: { id: string; detail: TaskDetail | undefined }) {
  const now = useNow();
  if (!detail) {
    return (
      <section class="head" aria-label="State" aria-busy="true">
        <h1>{id}</h1>
      </section>
    );
  }
  const { task } = detail;
  const silent = task.status === "running" && task.last_heartbeat_ms > 0 && now - task.last_heartbeat_ms > SILENT;
  const end = eta(task, now);
  const running = task.status === "running";
  const open = running ? detail.files.find((file) => file.open_line)?.open_line : undefined;
  return (
    <section class="head" aria-label="State">
      <div class="title">
        <h1>{task.name || task.task_id}</h1>
        <Status status={task.status} />
        <span class="tools">
          <Tools task={id} />
        </span>
      </div>
      <p class="sub">
        {task.name && <code>{task.task_id}</code>}
        {task.owner && <span>{task.owner}</span>}
        {task.project && <span>{task.project}</span>}
        {task.framework && <span>{task.framework}</span>}
        <span>started {format.moment(task.started_ms)}</span>
        <span>
          {task.attempts > 1 ? `attempt ${task.attempts}` : "first attempt"}
          {task.world_size > 1 && `, ${task.ranks} of ${format.plural(task.world_size, "rank")}`}
        </span>
        <span>
          {running ? "last line " : "ended "}
          {format.ago(task.last_seen_ms, now)}
        </span>
        {silent && <span class="warn">no word from its shipper for {format.duration(now - task.last_heartbeat_ms)}</span>}
      </p>
      <div class="state">
        <Progress task={task} />
        {end && <span class="eta">{end}</span>}
      </div>
      {task.message && <p class={`message ${task.status}`}>{task.message}</p>}
      {open && <p class="open muted"><code>{format.plain(open)}</code></p>}
    </section>
  );
}

function counted(metrics: Metric[], points: Point[]): Metric[] {
  const names = new Map(metrics.map((metric, place) => [metric.name, place]));
  const next = [...metrics];
  let added = false;
  for (const point of points) {
    const place = names.get(point.name);
    if (place === undefined) {
      names.set(point.name, next.length);
      next.push({ ...point, ranks: 1, points: 1, non_finite: 0 });
      added = true;
    } else next[place] = { ...next[place]!, points: next[place]!.points + 1 };
  }
  return added ? next.sort((a, b) => (a.name < b.name ? -1 : 1)) : next;
}

function merged(read: Metric[], seen: Metric[]): Metric[] {
  const known = new Set(read.map((metric) => metric.name));
  return [...read, ...seen.filter((metric) => !known.has(metric.name))].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function joined(more: TaskEvent[], known: TaskEvent[]): TaskEvent[] {
  const key = (event: TaskEvent): string => `${event.file_id}@${event.offset}.${event.place}.${event.kind}`;
  const all = new Map([...known, ...more].map((event) => [key(event), event]));
  return [...all.values()].sort((a, b) => b.time_ms - a.time_ms || b.offset - a.offset);
}
