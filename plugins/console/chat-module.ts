/**
 * The panel of a workspace: its chat, its picker and its attached teams. A script for browsers, as text, so that a gateway in one
 * file has it too. Whatever agents and people wrote is text on the page, never markup.
 */
export const CHAT_MODULE = `
const EVERY_MS = 5000;
const STYLE =
  "form, .bar, fieldset { display: grid; gap: 0.5rem; margin: 0.5rem 0; }" +
  ".bar { grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); align-items: end; }" +
  ".field { display: grid; gap: 0.25rem; }" +
  "fieldset label { display: flex; gap: 0.5rem; }" +
  "select, textarea, button { font: inherit; color: inherit; background: var(--raised); padding: 0.375rem; }" +
  "ol { list-style: none; padding: 0; display: grid; gap: 0.5rem; }" +
  "li { white-space: pre-wrap; overflow-wrap: anywhere; }" +
  "a { color: var(--accent); }" +
  ".badge, .banner { font-weight: 600; }" +
  ".ok { color: var(--ok); }" +
  ".degraded { color: var(--degraded); }" +
  ".error { color: var(--error); }";

function make(parent, tag, members = {}) {
  return parent.appendChild(Object.assign(document.createElement(tag), members));
}

function field(parent, tag, text) {
  const box = make(parent, "div", { className: "field" });
  // Beside and not around: the options of a list would be part of its name.
  make(box, "label", { textContent: text, htmlFor: text });
  return make(box, tag, { id: text });
}

/** Shows options in place of others; what was chosen stays so as long as it is there. */
function choose(select, options) {
  const before = select.value;
  const drawnNow = [...select.options].map(({ value, text }) => [value, text]);
  // One that is open would close.
  if (JSON.stringify(drawnNow) === JSON.stringify(options)) return;
  const drawn = options.map(([value, text]) =>
    Object.assign(document.createElement("option"), { value, textContent: text }),
  );
  select.replaceChildren(...drawn);
  if (options.some(([value]) => value === before)) select.value = before;
}

/** Events of a stream as they arrive. */
async function* eventsOf(reader) {
  let text = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const frames = (text + read.value).split("\\n\\n");
    text = frames.pop();
    for (const frame of frames) {
      const event = /^event: (.*)$/m.exec(frame);
      const data = /^data: (.*)$/m.exec(frame);
      if (event && data) yield [event[1], JSON.parse(data[1])];
    }
  }
}

/** A line for each part that runs; a newer one of the same part takes its place. */
function follow(lines, { progress, total, message }) {
  const part = /^(.+): (?:started|completed|failed)$/.exec(message || "");
  const key = part ? part[1] : "";
  const known = [...lines.children].find((line) => line.dataset.part === key);
  if (part && total !== undefined && total === progress) return known && known.remove();
  const line = known || make(lines, "div");
  line.dataset.part = key;
  line.textContent = message || "";
}

function textOf({ content = [], isError }) {
  const text = content.map((block) => (block.type === "text" ? block.text : "[" + block.type + "]")).join("\\n");
  return isError ? "Failed: " + text : text;
}

export default async function draw(element, { fetch, navigate, notify, signal }) {
  const ask = async (path, init) => {
    const response = await fetch("api/v1/" + path, init);
    if (response.ok) return response;
    const { error } = await response.json();
    throw new Error(error.message);
  };
  const send = (method, path, body) =>
    ask(path, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  element.getRootNode().adoptedStyleSheets = [sheet];
  const bar = make(element, "div", { className: "bar" });
  const workspace = field(bar, "select", "Workspace");
  const agent = field(bar, "select", "Agent");
  const badge = make(bar, "span", { hidden: true });
  const empty = make(element, "p", { hidden: true });
  const banner = make(element, "p", { hidden: true });
  banner.setAttribute("role", "status");
  const thread = make(element, "ol");
  thread.setAttribute("aria-label", "Messages");
  const thinking = make(element, "div", { hidden: true });
  make(thinking, "progress").setAttribute("aria-label", "The agent is working");
  const lines = make(thinking, "div", { className: "lines" });
  lines.setAttribute("role", "status");
  const form = make(element, "form");
  const message = field(form, "textarea", "Message");
  const button = make(form, "button", { textContent: "Send" });
  const cancel = make(form, "button", { type: "button", textContent: "Cancel", hidden: true });
  const settings = make(element, "details");
  make(settings, "summary", { textContent: "Workspace settings" });
  const teams = make(settings, "fieldset");
  make(teams, "legend", { textContent: "Attached Teams" });
  const boxes = make(teams, "div");
  const save = make(teams, "button", { type: "button", textContent: "Save" });

  let agents = [];
  let running;

  const showHealth = () => {
    const health = agents.find(({ id }) => id === agent.value)?.health;
    const isWell = !health || health.status === "ok";
    banner.hidden = isWell;
    banner.className = "banner " + (health ? health.status : "");
    banner.textContent = isWell ? "" : health.status + ": " + (health.message || "");
    badge.hidden = !health;
    badge.className = "badge " + (health ? health.status : "");
    badge.textContent = health ? health.status : "";
    badge.title = (health && health.message) || "";
    const isBlocked = agent.value === "" || health?.status === "error";
    message.disabled = isBlocked;
    button.disabled = isBlocked || running !== undefined;
  };
  const showPicker = async () => {
    const { value } = workspace;
    const answer = value === "" ? { agents: [] } : await (await ask("workspaces/" + encodeURIComponent(value) + "/agents")).json();
    if (value !== workspace.value) return;
    agents = answer.agents;
    choose(agent, agents.map(({ id, label }) => [id, label]));
    empty.hidden = !answer.message;
    empty.replaceChildren();
    const [before, link] = (answer.message || "").split("Go to ");
    empty.append(before);
    if (link) {
      empty.append("Go to ");
      make(empty, "a", { href: "#", textContent: link }).addEventListener("click", (event) => {
        event.preventDefault();
        settings.open = true;
        settings.scrollIntoView();
        boxes.querySelector("input")?.focus();
      });
    }
    showHealth();
  };
  const showTeams = async () => {
    const { instances } = await (await ask("instances")).json();
    const { workspaces } = await (await ask("workspaces")).json();
    const attached = workspaces.find(({ id }) => id === workspace.value)?.teams || [];
    boxes.replaceChildren();
    for (const { id, name } of instances) {
      const label = make(boxes, "label");
      make(label, "input", { type: "checkbox", value: id, checked: attached.includes(id) });
      label.append(name);
    }
    save.disabled = workspace.value === "";
  };
  const showAll = async () => {
    const { workspaces } = await (await ask("workspaces")).json();
    choose(workspace, workspaces.map(({ id, name }) => [id, name]));
    await showPicker();
  };
  const report = (error) => signal.aborted || notify(error.message);

  const talk = async () => {
    const text = message.value;
    const speaker = agents.find(({ id }) => id === agent.value);
    running = new AbortController();
    make(thread, "li", { textContent: "You: " + text });
    message.value = "";
    thinking.hidden = cancel.hidden = false;
    showHealth();
    const say = (words) => make(thread, "li", { textContent: speaker.title + ": " + words });
    try {
      const path = "workspaces/" + encodeURIComponent(workspace.value) + "/chat";
      const response = await send("POST", path, { agent: speaker.id, message: text });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      // The gateway cancels the call when nobody reads any more.
      running.signal.addEventListener("abort", () => void reader.cancel());
      for await (const [event, data] of eventsOf(reader)) {
        if (event === "progress") follow(lines, data);
        else say(event === "result" ? textOf(data.result) : "Failed: " + data.error.message);
      }
      if (running.signal.aborted) say("Cancelled.");
    } catch (error) {
      if (!signal.aborted) say("Failed: " + error.message);
    } finally {
      running = undefined;
      lines.replaceChildren();
      thinking.hidden = cancel.hidden = true;
      showHealth();
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!running && message.value.trim() !== "") void talk();
  });
  cancel.addEventListener("click", () => running?.abort());
  workspace.addEventListener("change", () => void Promise.all([showPicker(), showTeams()]).catch(report));
  agent.addEventListener("change", showHealth);
  save.addEventListener("click", async () => {
    const chosen = [...boxes.querySelectorAll("input:checked")].map(({ value }) => value);
    try {
      await send("PUT", "workspaces/" + encodeURIComponent(workspace.value) + "/teams", { teams: chosen });
      notify("Saved.");
      await showPicker();
    } catch (error) {
      report(error);
    }
  });
  settings.addEventListener("toggle", () => settings.open && void showTeams().catch(report));
  await showAll();
  await showTeams();
  const timer = setInterval(() => void showAll().catch(() => {}), EVERY_MS);
  return () => clearInterval(timer);
}
`;
