import type { PickerView, WorkspaceView } from "propylon/plugins/console";
import { make, setOptions, withLabel } from "./elements.ts";

/** What the picker tells the page. */
export interface PickerEvents {
  readonly onWorkspace: () => void;
  readonly onAgent: () => void;
  /** Somebody wants to attach teams. */
  readonly onSettings: () => void;
  /** Somebody wants to make a workspace. */
  readonly onNewWorkspace: () => void;
}

/** Which workspace and which of its agents, and how that agent is. */
export class AgentPicker {
  readonly #workspace = make("select");
  readonly #agent = make("select");
  readonly #badge = make("span", { hidden: true });
  readonly #empty = make("p", { className: "empty", hidden: true });
  readonly #banner = make("p", { hidden: true, marks: { role: "status" } });
  readonly #events: PickerEvents;
  #agents: PickerView["agents"] = [];

  constructor(parent: Element, events: PickerEvents) {
    this.#events = events;
    this.#workspace.onchange = events.onWorkspace;
    this.#agent.onchange = () => {
      this.#showHealth();
      events.onAgent();
    };
    const fields = [withLabel("Workspace", this.#workspace), withLabel("Agent", this.#agent)];
    const bar = make("div", { className: "bar" }, ...fields, this.#badge);
    parent.append(bar, this.#empty, this.#banner);
  }

  /** Id of the chosen workspace; `""` while there is none. */
  get workspace(): string {
    return this.#workspace.value;
  }

  get agent(): PickerView["agents"][number] | undefined {
    return this.#agents.find(({ id }) => id === this.#agent.value);
  }

  showWorkspaces(workspaces: readonly WorkspaceView[], wanted: string | null): void {
    const isFirst = this.#workspace.options.length === 0;
    setOptions(
      this.#workspace,
      workspaces.map(({ id, name }) => [id, name]),
    );
    if (isFirst && workspaces.some(({ id }) => id === wanted)) this.#workspace.value = wanted!;
  }

  showAgents({ agents, message }: PickerView): void {
    this.#agents = agents;
    setOptions(
      this.#agent,
      agents.map(({ id, label }) => [id, label]),
    );
    this.#empty.hidden = agents.length > 0;
    this.#empty.replaceChildren(...this.#whyEmpty(message));
    this.#showHealth();
  }

  /** The sentence for an empty picker ends with where to go. */
  #whyEmpty(message: string | undefined): readonly (Node | string)[] {
    const { onSettings, onNewWorkspace } = this.#events;
    if (this.workspace === "")
      return ["There is no workspace yet. ", linkTo("Make a workspace", onNewWorkspace)];
    if (message === undefined)
      return ["The attached teams have no agents. Check them on the page Instances."];
    const [before = "", place] = message.split("Go to ");
    return place === undefined ? [before] : [`${before}Go to `, linkTo(place, onSettings)];
  }

  #showHealth(): void {
    const health = this.agent?.health;
    const { status = "", message = null } = health ?? {};
    const isWell = !health || status === "ok";
    this.#badge.hidden = !health;
    this.#badge.className = `badge ${status}`;
    this.#badge.textContent = status;
    this.#badge.title = message ?? "";
    this.#banner.hidden = isWell;
    this.#banner.className = `banner ${status}`;
    // Said again to a screen reader only where it is other than before.
    const text = isWell ? "" : `${status}: ${message ?? "The agent gives no reason."}`;
    if (this.#banner.textContent !== text) this.#banner.textContent = text;
  }
}

function linkTo(text: string, follow: () => void): HTMLElement {
  const onclick = (event: Event): void => {
    event.preventDefault();
    follow();
  };
  return make("a", { href: "#", onclick, marks: { "data-effect": "settings" } }, text);
}
