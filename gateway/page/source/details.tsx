// What happened, who took part, with which parameters, and how far all this can be trusted.

import { useEffect, useState } from "preact/hooks";
import { get, type Latency, type Task, type TaskDetail, type TaskEvent, type Wholeness } from "./api";
import * as format from "./format";
import type { Live } from "./live";
import { Status, useNow } from "./parts";

const SHOWN = 12; // events before "all"

export function Events({ events, onLine }: { events: TaskEvent[]; onLine: (file: string, offset: number) => void }) {
  const [all, setAll] = useState(false);
  const shown = all ? events : events.slice(0, SHOWN);
  return (
    <section class="events" aria-label="Events">
      <h2>Events</h2>
      {events.length === 0 && <p class="empty">Nothing yet.</p>}
      <ol>
        {shown.map((event) => (
          <li key={`${event.file_id}@${event.offset}.${event.place}.${event.kind}`} class={`is-${event.fields.status ?? event.kind}`}>
            <time>{format.moment(event.time_ms)}</time>
            <button class="link" title="Show the log there" onClick={() => onLine(event.file_id, event.offset)}>
              {words(event)}
            </button>
            <span class="muted" title={`attempt ${event.attempt}, rank ${event.rank}`}>
              {event.attempt}:{event.rank}
            </span>
          </li>
        ))}
      </ol>
      {events.length > SHOWN && (
        <button class="link" onClick={() => setAll(!all)}>
          {all ? "Fewer" : `All ${events.length}`}
        </button>
      )}
    </section>
  );
}

function words(event: TaskEvent): string {
  const { fields } = event;
  const step = event.step === null ? "" : ` at step ${format.count(event.step)}`;
  if (event.kind === "header") return "log file begun";
  if (event.kind === "status" || event.kind === "end" || event.kind === "finished") {
    const code = fields.code && fields.code !== "0" ? `, exit code ${fields.code}` : "";
    const signal = fields.signal ? `, signal ${fields.signal}` : "";
    return `${fields.status ?? event.kind}${code}${signal}${event.message ? `: ${event.message}` : ""}`;
  }
  const rest = Object.entries(fields).map(([name, value]) => `${name} ${value}`);
  return `${event.kind.replaceAll(/[_-]/g, " ")}${step}${event.message ? `: ${event.message}` : rest.length ? `: ${rest.slice(0, 4).join(", ")}` : ""}`;
}

export function Attempts({ detail }: { detail: TaskDetail }) {
  return (
    <section class="attempts" aria-label="Attempts and ranks">
      <h2>Attempts and ranks</h2>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>Attempt</th>
              <th>Ranks</th>
              <th>From</th>
              <th>To</th>
            </tr>
          </thead>
          <tbody>
            {[...detail.attempts].reverse().map((one) => (
              <tr key={one.attempt}>
                <td>{one.attempt}</td>
                <td>{one.ranks}</td>
                <td>{format.moment(one.first_arrived_ms)}</td>
                <td>{format.moment(one.last_arrived_ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {detail.ranks.length > 0 && (
          <table>
            <thead>
              <tr>
                <th>Rank</th>
                <th>Attempt</th>
                <th>Status</th>
                <th>Since</th>
              </tr>
            </thead>
            <tbody>
              {detail.ranks.map((one) => (
                <tr key={one.rank}>
                  <td>{one.rank}</td>
                  <td>{one.attempt}</td>
                  <td>
                    <Status status={one.status} />
                    {one.code && one.code !== "0" && <span class="muted"> code {one.code}</span>}
                    {one.signal && <span class="muted"> signal {one.signal}</span>}
                  </td>
                  <td>{format.moment(one.time_ms)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </div>
    </section>
  );
}

export function Parameters({ parameters }: { parameters: Record<string, string> }) {
  const pairs = Object.entries(parameters);
  return (
    <section class="parameters" aria-label="Parameters">
      <h2>Parameters</h2>
      {pairs.length === 0 && <p class="empty">None told.</p>}
      <dl class="scroll">
        {pairs.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

const EVERY = 10_000; // ms between two looks; bytes move all the time, verdicts seldom

/** Freshness and completeness, in words. */
export function Trust({ task, live }: { task: Task; live: Live }) {
  const now = useNow();
  const [whole, setWhole] = useState<Wholeness>();
  const [latency, setLatency] = useState<Latency>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const look = (): void => {
      Promise.all([get<Wholeness>(`tasks/${task.task_id}/completeness`), get<Latency>(`tasks/${task.task_id}/latency`)]).then(
        ([complete, hops]) => {
          setWhole(complete);
          setLatency(hops);
          setProblem("");
        },
        (error: Error) => setProblem(error.message),
      );
    };
    look();
    const timer = setInterval(look, EVERY);
    return () => clearInterval(timer);
  }, [task.task_id, task.status, live]);
  const files = whole?.files;
  const missing = (files ?? []).filter((file) => file.missing.length > 0);
  const stored = (files ?? []).reduce((sum, file) => sum + Number(file.stored), 0);
  const hop = latency?.written_to_stored_ms;
  return (
    <section class="trust" aria-label="Freshness and completeness">
      <h2>Can I trust this?</h2>
      {problem && <p class="empty">{problem}</p>}
      {files && (
        <p>
          {missing.length === 0 ? (
            <>
              <b class="good">Nothing is missing.</b> All {format.bytes(stored)} that {format.plural(files.length, "log file")} had at the shipper's last word are stored.
            </>
          ) : (
            <>
              <b class="bad">{format.plural(missing.length, "file")} not whole yet.</b> {format.bytes(stored)} are stored.
            </>
          )}
        </p>
      )}
      {missing.length > 0 && (
        <ul>
          {missing.map((file) => (
            <li key={file.file_id}>
              <code>{file.path}</code>: {file.verdict}
            </li>
          ))}
        </ul>
      )}
      {whole && missing.length === 0 && (
        <p>
          {whole.verdict === "complete" ? (
            <>
              <b class="good">The task is complete:</b> every rank has ended, and its end is stored.
            </>
          ) : (
            <>Not complete yet: {whole.lacks.join("; ")}.</>
          )}
        </p>
      )}
      {whole?.because && (
        <p>
          <b class="bad">{whole.pulse}:</b> {whole.because}.
        </p>
      )}
      <p>
        The newest rows were stored {format.ago(task.last_stored_ms, now)}
        {hop && hop.p50 >= 0 && (
          <>
            , and it takes a line {format.duration(hop.p50)} from being written to being stored (1 of 100 takes over {format.duration(hop.p99)})
          </>
        )}
        .
      </p>
      {latency && latency.clock_skew_batches > 0 && (
        <p>{format.plural(latency.clock_skew_batches, "batch")} tell of clocks that differ: a hop took less than no time.</p>
      )}
      {task.last_heartbeat_ms > 0 && <p class="muted">The shipper's last word came {format.ago(task.last_heartbeat_ms, now)}.</p>}
    </section>
  );
}
