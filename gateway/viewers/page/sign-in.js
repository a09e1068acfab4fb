// A token becomes a session cookie; then back to where somebody wanted to go, on this host only.
const at = (id) => document.getElementById(id);
at("form").onsubmit = async (event) => {
  event.preventDefault();
  const answer = await fetch("api/v1/session", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token: at("token").value }),
  }).catch(() => null);
  if (answer && answer.ok) {
    const then = new URL(new URLSearchParams(location.search).get("then") || "tasks", location.href);
    location.replace(then.origin === location.origin ? then.pathname + then.search : "tasks");
  } else {
    at("note").textContent = answer ? "This token is not known." : "The gateway does not answer.";
  }
};
