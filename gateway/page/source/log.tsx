// The log as it grows: only the rows on the screen exist, pages come from both ends.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, Problem, type Line, type LinePage, type LogFile } from "./api";
import * as format from "./format";

const ROW = 19; // px; a row's height in style.css
const PAGE = 500; // lines of one request
const MOST = 20_000; // lines held; beyond that the far end is let go and read again when scrolled to
const NEAR = 40; // rows from an end at which the next page is asked for

interface Properties {
  task: string;
  files: LogFile[];
  target: { file: string; offset: number } | null;
  subscribe: (news: (lines: Line[]) => void) => () => void;
  onTarget: (line: { file: string; offset: number } | null) => void;
  onProblem: (problem: string) => void;
}

interface Held {
  lines: Line[];
  before: string | null; // where the next page up begins
  after: string | null;
  top: boolean; // the first line of all is held
  end: boolean; // the last one is: live lines join
}

export function Log({ task, files, target, subscribe, onTarget, onProblem }: Properties) {
  const [held, setHeld] = useState<Held | null>(null);
  const [file, setFile] = useState("");
  const [records, setRecords] = useState(false);
  const [typed, setTyped] = useState("");
  const [search, setSearch] = useState("");
  const [follow, setFollow] = useState(target === null);
  const [missed, setMissed] = useState(0); // lines that came while the end was not shown
  const [scroll, setScroll] = useState(0);
  const [height, setHeight] = useState(400);
  const box = useRef<HTMLDivElement>(null);
  const busy = useRef(false);
  const turn = useRef(0); // answers to questions that were changed since are dropped
  const keep = useRef<number | null>(null); // scroll position to restore after lines were put in front
  const latest = useRef({ held, file, records, search, follow });
  latest.current = { held, file, records, search, follow };

  const ask = (further: Record<string, string | number | boolean>): Promise<LinePage> =>
    get<LinePage>(`tasks/${task}/lines`, {
      ...(file ? { file } : {}),
      kind: records ? ["text", "continuation", "record"] : ["text", "continuation"],
      search,
      limit: PAGE,
      ...further,
    });
  const failed = (error: unknown): void => {
    busy.current = false;
    if (error instanceof Problem && error.status === 404 && target) onTarget(null);
    onProblem(error instanceof Error ? error.message : String(error));
  };

  // From the end, or around the line that a link or a point names.
  useEffect(() => {
    const mine = (turn.current += 1);
    busy.current = true;
    const around: Record<string, string | number | boolean> = target && !search ? { around_file: target.file, around_offset: target.offset } : { newest: true };
    ask(around).then((page) => {
      if (turn.current !== mine) return;
      busy.current = false;
      const whole = !page.more && !target;
      setMissed(0);
      if (page.lines.length === 0 && !search && !records) setRecords(true); // a task that writes records only
      setHeld({ lines: page.lines, before: page.before, after: page.after, top: whole, end: !target || search !== "" });
      if (target && !search) {
        setFollow(false);
        keep.current = Math.max(holding(target, page.lines) * ROW - height / 3, 0);
      }
    }, failed);
  }, [task, file, records, search, target?.file, target?.offset]);

  useEffect(() => subscribe((lines) => {
    const now = latest.current;
    const fitting = lines.filter(
      (line) =>
        (now.records || line.kind !== "record") &&
        (!now.file || line.file_id === now.file) &&
        (!now.search || line.text.toLowerCase().includes(now.search.toLowerCase())),
    );
    if (fitting.length === 0) return;
    if (!now.follow) setMissed((n) => n + fitting.length);
    setHeld((old) => {
      if (!old?.end) return old;
      const known = new Set(old.lines.slice(-2 * PAGE).map(key)); // a stream that began before the page repeats its end
      const fresh = fitting.filter((line) => !known.has(key(line)));
      const joined = [...old.lines, ...fresh];
      const drop = now.follow ? Math.max(joined.length - MOST, 0) : 0;
      return { ...old, lines: drop ? joined.slice(drop) : joined, top: old.top && !drop, before: drop ? null : old.before };
    });
  }), [task]);

  useEffect(() => {
    const wait = setTimeout(() => setSearch(typed), 250);
    return () => clearTimeout(wait);
  }, [typed]);

  useEffect(() => {
    const fit = new ResizeObserver(([entry]) => setHeight(entry!.contentRect.height));
    fit.observe(box.current!);
    return () => fit.disconnect();
  }, []);

  const lines = held?.lines ?? [];
  useLayoutEffect(() => {
    const place = box.current!;
    if (keep.current !== null) {
      place.scrollTop = keep.current;
      keep.current = null;
    } else if (follow) place.scrollTop = place.scrollHeight;
  }, [held, follow, height]);

  const scrolled = (): void => {
    const place = box.current!;
    setScroll(place.scrollTop);
    const atEnd = place.scrollTop + place.clientHeight >= place.scrollHeight - ROW;
    if (latest.current.held?.end) {
      setFollow(atEnd);
      if (atEnd) setMissed(0);
    }
    extend(place);
  };

  const extend = (place: HTMLElement): void => {
    if (!held || busy.current) return;
    const first = place.scrollTop / ROW;
    const last = (place.scrollTop + place.clientHeight) / ROW;
    const mine = turn.current;
    if (first < NEAR && !held.top && held.before) {
      busy.current = true;
      ask({ before: held.before }).then((page) => {
        if (turn.current !== mine) return;
        busy.current = false;
        keep.current = box.current!.scrollTop + page.lines.length * ROW;
        setHeld((old) => old && { ...old, lines: [...page.lines, ...old.lines], before: page.before ?? old.before, top: !page.more });
      }, failed);
    } else if (last > lines.length - NEAR && !held.end && held.after) {
      busy.current = true;
      ask({ after: held.after }).then((page) => {
        if (turn.current !== mine) return;
        busy.current = false;
        setHeld((old) => old && { ...old, lines: [...old.lines, ...page.lines], after: page.after ?? old.after, end: !page.more });
      }, failed);
    }
  };

  const toEnd = (): void => {
    setMissed(0);
    setFollow(true);
    if (target) onTarget(null); // reads the end
  };

  const show = (line: Line): void => {
    setTyped("");
    setSearch("");
    onTarget({ file: line.file_id, offset: line.offset });
  };

  const first = Math.max(Math.floor(scroll / ROW) - 20, 0);
  const visible = lines.slice(first, first + Math.ceil(height / ROW) + 40);
  const aim = useMemo(() => (target ? lines[holding(target, lines)] : undefined), [held, target?.file, target?.offset]);
  const several = files.length > 1 && !file;
  return (
    <section class="log" aria-label="Log">
      <div class="bar">
        <h2>Log</h2>
        <input type="search" placeholder="Search" aria-label="Search lines" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        {files.length > 1 && (
          <select aria-label="Log file" value={file} onChange={(event) => setFile(event.currentTarget.value)}>
            <option value="">All {files.length} files</option>
            {files.map((one) => (
              <option key={one.file_id} value={one.file_id}>
                attempt {one.attempt}, rank {one.rank}: {one.path.slice(one.path.lastIndexOf("/") + 1)}
              </option>
            ))}
          </select>
        )}
        <label class="check">
          <input type="checkbox" checked={records} onChange={(event) => setRecords(event.currentTarget.checked)} /> Records
        </label>
        <button aria-pressed={follow} onClick={() => (follow ? setFollow(false) : toEnd())}>
          {follow ? "Following" : "Follow"}
        </button>
      </div>
      <div class="rows" ref={box} onScroll={scrolled} tabIndex={0} role="log" aria-live="off" aria-label="Lines of the log">
        <div class="all" style={{ height: `${lines.length * ROW}px` }}>
          <ol class="window" style={{ transform: `translateY(${first * ROW}px)` }}>
            {visible.map((line) => (
              <li
                key={key(line)}
                data-offset={line.offset}
                class={`${line.kind}${line.stream === "stderr" ? " stderr" : ""}${line === aim ? " target" : ""}`}
                onClick={() => search && show(line)}
              >
                <time title={line.time_known ? "the line's own time" : "when it arrived"}>{format.timeOfDay(line.time_ms)}</time>
                {several && (
                  <span class="from" title={`attempt ${line.attempt}, rank ${line.rank}`}>
                    {line.attempt}:{line.rank}
                  </span>
                )}
                <code>{marked(format.plain(line.text), search)}</code>
              </li>
            ))}
          </ol>
        </div>
        {held && lines.length === 0 && <p class="empty">{nothing(search, records)}</p>}
      </div>
      {missed > 0 && (
        <button class="more" onClick={toEnd}>
          {format.plural(missed, "new line")} ↓
        </button>
      )}
    </section>
  );
}

function nothing(search: string, records: boolean): string {
  if (search) return `No line holds “${search}”.`;
  return records ? "No line yet." : "No line of text yet. What the SDK wrote is under “Records”.";
}

function key(line: Line): string {
  return `${line.file_id}@${line.offset}`;
}

/** Place of the line that holds the byte. A point's line may be a record that is not shown: then the one before it. */
function holding(target: { file: string; offset: number }, lines: Line[]): number {
  let best = -1;
  lines.forEach((line, place) => {
    if (line.file_id !== target.file || line.offset > target.offset) return;
    if (best < 0 || line.offset > lines[best]!.offset) best = place;
  });
  return best;
}

function marked(text: string, search: string) {
  if (!search) return text;
  const at = text.toLowerCase().indexOf(search.toLowerCase());
  if (at < 0) return text;
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, at + search.length)}</mark>
      {text.slice(at + search.length)}
    </>
  );
}
