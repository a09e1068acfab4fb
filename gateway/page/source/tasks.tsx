// The list of tasks, newest first, live.

import { useEffect, useRef, useState } from "preact/hooks";
import { get, Problem, type Task } from "./api";
import * as format from "./format";
import { eta, Header, Notice, Progress, Status, useNow } from "./parts";
import { Tools } from "./tools";

const EVERY = 3000; // ms between two looks
const PAGE = 50;

interface Page {
  tasks: Task[];
  next: string | null;
}

export function TasksPage() {
  const [asked, setAsked] = useState(() => {
    const query = new URLSearchParams(location.search);
    return { search: query.get("search") ?? "", status: query.get("status") ?? "" };
  });
  const [page, setPage] = useState<Page>();
  const [counts, setCounts] = useState<Record<string, number>>({});
  const [problem, setProblem] = useState("");
  const [unknown, setUnknown] = useState(false); // nobody is signed in
  const turn = useRef(0);
  const held = useRef(PAGE); // how many tasks are on the page: a look renews them all
  const now = useNow();

  useEffect(() => {
    document.title = "Tasks · trainwire";
    const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value)).toString();
    history.replaceState(null, "", location.pathname + (query ? `?${query}` : ""));
    const mine = (turn.current += 1);
    let timer = 0;
    const look = async (): Promise<void> => {
      const began = performance.now();
      try {
        const found = await get<Page>("tasks", { ...asked, limit: Math.min(held.current, 1000) });
        if (turn.current !== mine) return;
        setPage(found);
        setProblem("");
        setUnknown(false);
        get<Record<string, number>>("statuses").then(setCounts, () => undefined); // the list told what is wrong
      } catch (error) {
        if (turn.current === mine) setProblem(error instanceof Problem ? error.message : String(error));
        setUnknown(error instanceof Problem && error.status === 401);
      }
      const pause = Math.max(EVERY, 4 * (performance.now() - began)); // a slow store is not asked without end
      if (turn.current === mine) timer = window.setTimeout(look, document.hidden ? 10 * pause : pause);
    };
    timer = window.setTimeout(look, page ? 200 : 0); // typing goes on
    return () => clearTimeout(timer);
  }, [asked]);

  const more = async (): Promise<void> => {
    if (!page?.next) return;
    try {
      const found = await get<Page>("tasks", { ...asked, limit: PAGE, after: page.next });
      held.current += PAGE;
      setPage((old) => old && { ...old, tasks: [...old.tasks, ...found.tasks], next: found.next });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };

  const all = Object.values(counts).reduce((sum, n) => sum + n, 0);
  return (
    <>
      <Header here="tasks" />
      {unknown ? <p class="notice"><a href="sign-in">Sign in</a> to see tasks.</p> : <Notice text={problem} />}
      <main class="tasks">
        <div class="bar">
          <h1>Tasks</h1>
          <input
            type="search"
            placeholder="Search id, name, owner, project, framework"
            aria-label="Search tasks"
            value={asked.search}
            onInput={(event) => setAsked({ ...asked, search: event.currentTarget.value })}
          />
          <div class="switch" role="group" aria-label="Status">
            <button aria-pressed={asked.status === ""} onClick={() => setAsked({ ...asked, status: "" })}>
              All <span class="muted">{format.count(all)}</span>
            </button>
            {Object.entries(counts).map(([status, tasks]) => (
              <button key={status} aria-pressed={asked.status === status} onClick={() => setAsked({ ...asked, status })}>
                {status} <span class="muted">{format.count(tasks)}</span>
              </button>
            ))}
          </div>
        </div>
        {page?.tasks.length === 0 && (
          <p class="empty">{!asked.search && !asked.status ? "No task yet. Give a shipper a log file, and it appears here." : "No task like this."}</p>
        )}
        {page && page.tasks.length > 0 && (
          <table class="list">
            <thead>
              <tr>
                <th>Task</th>
                <th>Status</th>
                <th>Progress</th>
                <th>Started</th>
                <th>Last word</th>
                <th class="right">Log</th>
                <th>Open in</th>
              </tr>
            </thead>
            <tbody>
              {page.tasks.map((task) => (
                <tr key={task.task_id}>
                  <td>
                    <a href={`tasks/${task.task_id}`}>{task.name || task.task_id}</a>
                    <small>
                      {task.name && <code>{task.task_id}</code>}
                      {[task.owner, task.project, task.framework].filter(Boolean).map((word, place) => (
                        <span key={place}>{word}</span>
                      ))}
                    </small>
                  </td>
                  <td>
                    <Status status={task.status} />
                    <small>
                      {task.attempts > 1 && <span>attempt {task.attempts}</span>}
                      {task.world_size > 1 && <span>{format.plural(task.world_size, "rank")}</span>}
                    </small>
                  </td>
                  <td>
                    <Progress task={task} brief />
                    <small>{eta(task, now)}</small>
                  </td>
                  <td>{format.moment(task.started_ms)}</td>
                  <td>{format.ago(task.last_seen_ms, now)}</td>
                  <td class="right">{format.plural(task.lines, "line")}</td>
                  <td class="brief">
                    <Tools task={task.task_id} brief />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {page?.next && <button onClick={more}>More</button>}
      </main>
    </>
  );
}
