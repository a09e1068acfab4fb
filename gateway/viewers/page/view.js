// The page around a tool: says that somebody is here, shows what is happening, warns before the viewer goes.
const [task, tool] = location.pathname.split("/").slice(-3, -1).map(decodeURIComponent);
const root = "../../../";
const page = crypto.randomUUID ? crypto.randomUUID() : Array.from({ length: 4 }, () => Math.random().toString(36).slice(2, 10)).join("-");
const at = (id) => document.getElementById(id);
const query = new URLSearchParams(location.search);
let state = "";
let viewer = null;

at("task").textContent = task;
at("tool").textContent = tool;
at("home").href = `${root}tasks/${encodeURIComponent(task)}`;
// The point of a chart that somebody came from, and the way back to it and to the log around its line.
const named = (name) => (query.get(name) ? [`${name} ${query.get(name)}`] : []);
at("point").textContent = [query.get("metric") || "", ...named("step"), ...named("attempt"), ...named("rank")].filter(Boolean).join(" · ");
const back = new URLSearchParams(["metric", "step", "line"].filter((name) => query.get(name)).map((name) => [name, query.get(name)]));
at("lines").href = at("home").href + (back.size ? `#${back}` : "");
if (query.get("line")) at("lines").textContent = "log around it";
document.title = `${task} · ${tool}`;

async function ask(method, path, body) {
  const answer = await fetch(path, {
    method,
    headers: { "Content-Type": "application/json", "X-Trainwire-Method": "page" },
    body: body && JSON.stringify(body),
  });
  if (answer.status === 401) location.href = `${root}sign-in?then=${encodeURIComponent(location.pathname + location.search)}`;
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).detail || `the gateway answered ${answer.status}`);
  return answer.status === 204 ? null : answer.json();
}

async function load() {
  at("load").hidden = true;
  at("headline").textContent = "One moment";
  try {
    const asked = await ask("POST", `${root}api/v1/viewers`, { task_id: task, tool });
    if (!asked.viewer) location.replace(asked.address);
  } catch (error) {
    fail("It was not loaded", error.message);
  }
}

function fail(headline, why) {
  at("waiting").className = "failed";
  at("headline").textContent = headline;
  at("why").textContent = why;
  at("load").textContent = "Try again";
  at("load").hidden = false;
}

function show(now) {
  const before = state;
  state = now.state;
  viewer = now;
  if (state === "absent" && before === "absent") return; // told again after the stream was: why it is absent stands there
  document.body.dataset.state = state;
  at("stop").hidden = !["loading", "ready"].includes(state);
  at("warning").hidden = !(now.warned && state === "ready");
  if (now.warned) {
    const left = now.left > 90 ? `${Math.round(now.left / 60)} minutes` : `${Math.max(now.left, 0)} s`;
    at("warning-text").textContent = `This viewer goes in ${left}. ${now.reason}.`;
  }
  const ready = state === "ready";
  if (ready && before !== "ready") {
    at("frame").src = `${now.inner}${query.get("at") || ""}${location.hash}`;
    at("note").textContent = `${now.owner}’s · ready after ${now.ready_after.toFixed(1)} s`;
  }
  if (!ready && before === "ready") at("frame").removeAttribute("src");
  at("frame").hidden = !ready;
  at("waiting").hidden = ready;
  if (ready) return;
  at("note").textContent = "";
  at("waiting").className = state;
  at("log").hidden = !(now.lines && now.lines.length && (state === "failed" || now.waited > 5));
  at("log").textContent = (now.lines || []).join("\n");
  at("steps").replaceChildren(...(now.steps || []).map((one) => {
    const item = document.createElement("li");
    item.append(one.step, Object.assign(document.createElement("span"), { className: "muted", textContent: `${one.after.toFixed(1)} s` }));
    return item;
  }));
  at("why").textContent = now.why || "";
  at("load").hidden = true;
  if (state === "loading") at("headline").textContent = `${now.title} is being loaded`;
  else if (state === "releasing") at("headline").textContent = `${now.title} goes: ${now.step}`;
  else if (state === "failed") fail(`${now.title} did not come up, or ended`, now.step);
  else if (before === "") {
    at("headline").textContent = "Not loaded";
    at("why").textContent = "Nobody looks at this task in this tool now.";
    at("load").textContent = "Load";
    at("load").hidden = false;
  } else {
    at("headline").textContent = "This viewer is gone";
    at("why").textContent = "Nobody had been here for a while, or somebody stopped it. The task’s data is where it was.";
    at("load").textContent = "Load again";
    at("load").hidden = false;
  }
}

// Open while somebody sees the page, or something is under way. Browsers give a host six connections for all tabs together
// (HTTP/1.1): with six tabs in the background that hold one each, no request of any page gets through.
let live = null;
function watch() {
  if (document.hidden && !["", "loading", "releasing"].includes(state)) {
    live?.close();
    live = null;
  } else if (!live) {
    live = new EventSource(`live?page=${page}`);
    live.onmessage = (message) => { show(JSON.parse(message.data)); watch(); };
    live.onerror = () => { at("note").textContent = "the gateway does not answer; trying again"; };
  }
}
watch();

const word = (more) => ({ page, visible: document.visibilityState === "visible", ...more });
let closing = false; // browsers say that a page is hidden after they said that it goes
const say = () => closing || fetch("presence", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(word()), keepalive: true }).catch(() => {});
document.addEventListener("visibilitychange", () => { say(); watch(); });
setInterval(say, 15000);
say();
addEventListener("pagehide", () => {
  closing = true;
  live?.close();
  navigator.sendBeacon("presence", new Blob([JSON.stringify(word({ closing: true }))], { type: "application/json" }));
});
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

at("load").onclick = load;
at("stay").onclick = () => viewer && ask("POST", `${root}api/v1/viewers/${viewer.id}/extend`).catch((error) => { at("note").textContent = error.message; });
at("stop").onclick = () => viewer && ask("DELETE", `${root}api/v1/viewers/${viewer.id}`).catch((error) => { at("note").textContent = error.message; });
