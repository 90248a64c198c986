import type { PickerView, WorkspaceView } from "propylon/plugins/console";
import { make, makeField, setOptions } from "./elements.ts";

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
  readonly #workspace: HTMLSelectElement;
  readonly #agent: HTMLSelectElement;
  readonly #badge: HTMLElement;
  readonly #empty: HTMLElement;
  readonly #banner: HTMLElement;
  readonly #events: PickerEvents;
  #agents: PickerView["agents"] = [];

  constructor(parent: Element, events: PickerEvents) {
    this.#events = events;
    const bar = make(parent, "div", { className: "bar" });
    this.#workspace = makeField(bar, "select", "Workspace");
    this.#agent = makeField(bar, "select", "Agent");
    this.#badge = make(bar, "span", { hidden: true });
    this.#empty = make(parent, "p", { className: "empty", hidden: true });
    this.#banner = make(parent, "p", { hidden: true });
    this.#banner.setAttribute("role", "status");
    this.#workspace.addEventListener("change", events.onWorkspace);
    this.#agent.addEventListener("change", () => {
      this.#showHealth();
      events.onAgent();
    });
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
    this.#showEmpty(message);
    this.#showHealth();
  }

  /** The sentence for an empty picker ends with where to go. */
  #showEmpty(message: string | undefined): void {
    this.#empty.replaceChildren();
    this.#empty.hidden = this.#agents.length > 0;
    const { onSettings, onNewWorkspace } = this.#events;
    if (this.workspace === "") {
      this.#empty.append("There is no workspace yet. ");
      this.#link("Make a workspace", onNewWorkspace);
    } else if (message === undefined) {
      this.#empty.append("The attached teams have no agents. Check them on the page Instances.");
    } else {
      const [before = "", link] = message.split("Go to ");
      this.#empty.append(link === undefined ? before : `${before}Go to `);
      if (link !== undefined) this.#link(link, onSettings);
    }
  }

  #link(textContent: string, follow: () => void): void {
    const link = make(this.#empty, "a", { href: "#", textContent }, { effect: "settings" });
    link.addEventListener("click", (event) => {
      event.preventDefault();
      follow();
    });
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
