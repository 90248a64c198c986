import type { PanelTools, RouteReference } from "propylon/panels";
import type { InstanceView, PickerView, WorkspaceView } from "propylon/plugins/console";
import { AgentPicker } from "./agent-picker.ts";
import { Conversation } from "./conversation.ts";
import { make } from "./elements.ts";
import { STYLE } from "./style.ts";
import { TeamSettings } from "./team-settings.ts";

/** Events after which the page is read again: of the console, and those that say that some are missing. */
const TOUCHED = new Set(["console", "reload_done", "gap", "returned", "poll", "rights"]);

/** The page Chat: the agents of a workspace in a picker, a conversation, and the teams of the workspace. */
export default async function draw(element: HTMLElement, tools: PanelTools): Promise<() => void> {
  addStyle(element);
  const page = make("div", { className: "stack" });
  element.append(page);
  const chat = new ChatPage(page, tools);
  await chat.refresh();
  return tools.events((kind) => {
    if (TOUCHED.has(kind)) chat.refreshSoon();
  });
}

/** A sheet of the shadow root: the policy of the page allows no style in the markup. */
function addStyle(element: HTMLElement): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  (element.getRootNode() as ShadowRoot).adoptedStyleSheets = [sheet];
}

class ChatPage {
  readonly #tools: PanelTools;
  readonly #picker: AgentPicker;
  readonly #conversation: Conversation;
  readonly #settings: TeamSettings;
  #isReading = false;
  #isOld = false;

  constructor(parent: Element, tools: PanelTools) {
    this.#tools = tools;
    this.#picker = new AgentPicker(parent, {
      onWorkspace: () => this.#chooseWorkspace(),
      onAgent: () => this.#meet(),
      onSettings: () => this.#settings.open(),
      onNewWorkspace: () => tools.navigate("/panels/console/new-workspace"),
    });
    this.#conversation = new Conversation(parent, tools);
    this.#settings = new TeamSettings(parent, tools, () => this.refreshSoon());
  }

  /** Reads all that is on the screen. */
  async refresh(): Promise<void> {
    const [{ workspaces }, { instances }] = await Promise.all([
      this.#ask<{ workspaces: WorkspaceView[] }>("GET /api/v1/workspaces"),
      this.#ask<{ instances: InstanceView[] }>("GET /api/v1/instances"),
    ]);
    this.#picker.showWorkspaces(workspaces, new URLSearchParams(location.search).get("workspace"));
    const { workspace } = this.#picker;
    this.#settings.show(
      instances,
      workspaces.find(({ id }) => id === workspace),
    );
    const agents = await this.#agentsOf(workspace);
    // Somebody chose another one meanwhile, which is being read.
    if (workspace !== this.#picker.workspace) return;
    this.#picker.showAgents(agents);
    this.#meet();
  }

  async #agentsOf(id: string): Promise<PickerView> {
    return id === "" ? { agents: [] } : this.#ask("GET /api/v1/workspaces/:id/agents", { id });
  }

  async #ask<T>(route: RouteReference, params: Readonly<Record<string, string>> = {}): Promise<T> {
    return (await (await this.#tools.send(route, { params })).json()) as T;
  }

  /** Reads it again; events that come meanwhile are one more reading. */
  refreshSoon(): void {
    this.#isOld = true;
    if (!this.#isReading) void this.#readWhileOld();
  }

  async #readWhileOld(): Promise<void> {
    this.#isReading = true;
    while (this.#isOld && !this.#tools.signal.aborted) {
      this.#isOld = false;
      // The header of the page says that the gateway does not answer, and events come when it does.
      await this.refresh().catch(() => {});
    }
    this.#isReading = false;
  }

  #chooseWorkspace(): void {
    // A link to the page leads to what is on it.
    const url = new URL(location.href);
    url.searchParams.set("workspace", this.#picker.workspace);
    history.replaceState(history.state, "", url);
    this.refreshSoon();
  }

  #meet(): void {
    const { workspace, agent } = this.#picker;
    this.#conversation.partner = agent && { workspace, agent };
  }
}
