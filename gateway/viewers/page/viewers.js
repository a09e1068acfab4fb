// The list of running viewers, looked at again every two seconds while it is in the foreground.
const at = (id) => document.getElementById(id);
const span = (seconds) => (seconds == null ? "" : seconds < 90 ? `${Math.round(seconds)} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`);

function cell(text, kind) {
  return Object.assign(document.createElement("td"), { textContent: text, className: kind || "" });
}

function row(one) {
  const line = document.createElement("tr");
  const task = document.createElement("td");
  task.append(Object.assign(document.createElement("a"), { href: one.address, textContent: one.task_id }));
  const stop = document.createElement("td");
  if (one.may_end && one.state !== "failed") {
    const button = Object.assign(document.createElement("button"), { textContent: "Stop", type: "button" });
    button.onclick = async () => {
      button.disabled = true;
      await fetch(`api/v1/viewers/${one.id}`, { method: "DELETE", headers: { "X-Trainwire-Method": "page" } });
      refresh();
    };
    stop.append(button);
  }
  line.append(
    task, cell(one.title), cell(one.state === "failed" ? `failed: ${one.step}` : one.warned ? `${one.state}, goes soon` : one.state), cell(one.owner),
    cell(span(one.age), "number"), cell(one.pages ? `${one.pages} page${one.pages > 1 ? "s" : ""}` : `unseen ${span(one.idle)}`, "number"),
    cell(Math.round(one.cpu_seconds), "number"), cell(span(one.left), "number"), stop,
  );
  return line;
}

async function refresh() {
  if (document.visibilityState !== "visible") return;
  try {
    const answer = await fetch("api/v1/viewers");
    if (answer.status === 401) location.href = `sign-in?then=${encodeURIComponent(location.pathname)}`;
    const found = await answer.json();
    at("rows").replaceChildren(...found.viewers.map(row));
    at("none").hidden = found.viewers.length > 0;
    at("note").textContent = `${found.viewers.length} of at most ${found.most}`;
  } catch {
    at("note").textContent = "the gateway does not answer; trying again";
  }
}

refresh();
setInterval(refresh, 2000);
document.addEventListener("visibilitychange", refresh);
