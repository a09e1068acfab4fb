// Links to other tools that show a task: the whole of it, or one point of a curve.

import { useEffect, useState } from "preact/hooks";
import { get } from "./api";
import * as format from "./format";
import type { Series } from "./series";

interface Tool {
  name: string;
  title: string;
  deep_link: string; // how its address names one curve; empty where it cannot
}

let asked: Promise<Tool[]> | undefined;

/** Without an answer there are none to offer. */
function useTools(): Tool[] {
  const [tools, setTools] = useState<Tool[]>([]);
  useEffect(() => {
    asked ??= get<{ tools: Tool[] }>("tools").then((found) => found.tools.filter((tool) => tool.name !== "page"));
    asked.then(setTools, () => (asked = undefined));
  }, []);
  return tools;
}

export function Tools({ task, brief }: { task: string; brief?: boolean }) {
  return (
    <>
      {useTools().map((tool) => (
        <a key={tool.name} class="tool" href={`view/${task}/${tool.name}/`} target="_blank" rel="noopener" title={`Open ${task} in ${tool.title}`}>
          {brief ? tool.title : `Open in ${tool.title}`}
        </a>
      ))}
    </>
  );
}

/** The point that was chosen in a chart: where it stands, what it is, and the tools that show its curve. */
export function Chosen({ task, series, index }: { task: string; series: Series; index: number }) {
  const tools = useTools().filter((tool) => tool.deep_link);
  const at = { rank: series.rank, attempt: series.attempts[index]!, step: series.step[index]! };
  const where = [at.step === null ? "" : `step ${format.count(at.step)}`, `attempt ${at.attempt}`, `rank ${at.rank}`].filter(Boolean);
  return (
    <p class="chosen">
      <b>{format.value(series.y[index]!)}</b> <span class="muted">{where.join(" · ")}</span>
      {tools.map((tool) => (
        <a key={tool.name} href={address(task, tool, series, index)} target="_blank" rel="noopener">
          Open in {tool.title}
        </a>
      ))}
    </p>
  );
}

/** A viewer's address that shows this curve, and tells its page which point it came from. */
function address(task: string, tool: Tool, series: Series, index: number): string {
  const at: Record<string, string> = { metric: series.name, attempt: String(series.attempts[index]), rank: String(series.rank) };
  const step = series.step[index];
  if (step !== null && step !== undefined) at.step = String(step);
  const known: Record<string, string> = { ...at, pattern: series.name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&") };
  const inside = tool.deep_link.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(known[name] ?? ""));
  return `view/${task}/${tool.name}/?${new URLSearchParams({ at: inside, ...at, line: `${series.file[index]}@${series.offset[index]}` })}`;
}
