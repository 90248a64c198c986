import type { AgentView } from "propylon/plugins/console";
import type { PanelTools } from "propylon/panels";
import { makeCopy } from "./copy.ts";
import { make, makeField, setRefusal } from "./elements.ts";
import type { Gateway } from "./gateway.ts";
import { ProgressLines } from "./progress-lines.ts";
import { textOf, type TurnEvent } from "./turn-stream.ts";

const TALK = "POST /api/v1/workspaces/:id/chat";

/** Whom a message goes to. */
export interface Partner {
  readonly workspace: string;
  readonly agent: Pick<AgentView, "id" | "title" | "health">;
}

/** What was said, the message that is being written, and the one that is being answered. */
export class Conversation {
  readonly #gateway: Gateway;
  readonly #tools: PanelTools;
  readonly #thread: HTMLElement;
  readonly #progress: ProgressLines;
  readonly #message: HTMLTextAreaElement;
  readonly #send: HTMLButtonElement;
  readonly #cancel: HTMLButtonElement;
  #partner: Partner | undefined;
  #running: AbortController | undefined;

  constructor(parent: Element, gateway: Gateway, tools: PanelTools) {
    this.#gateway = gateway;
    this.#tools = tools;
    this.#thread = make(parent, "ol");
    this.#thread.setAttribute("aria-label", "Messages");
    this.#progress = new ProgressLines(parent);
    const form = make(parent, "form");
    this.#message = makeField(form, "textarea", "Message");
    this.#message.rows = 3;
    this.#message.required = true;
    const row = make(form, "div", { className: "row" });
    this.#send = make(
      row,
      "button",
      { className: "primary", textContent: "Send" },
      { route: TALK },
    );
    const cancel = { type: "button", textContent: "Cancel", hidden: true } as const;
    this.#cancel = make(row, "button", cancel, { effect: "cancel" });
    makeCopy(row, tools, () => this.#command());
    make(row, "span", { className: "faint", textContent: "Ctrl+Enter sends" });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.#message.addEventListener("keydown", ({ key, ctrlKey, metaKey }) => {
      if (key === "Enter" && (ctrlKey || metaKey)) this.#submit();
    });
    this.#cancel.addEventListener("click", () => this.#running?.abort());
  }

  /** Whom the next message goes to; what is being answered goes on. */
  set partner(partner: Partner | undefined) {
    this.#partner = partner;
    this.#draw();
  }

  /** Only an agent that is well can be written to. */
  #draw(): void {
    const isBlocked = !this.#partner || this.#partner.agent.health?.status === "error";
    this.#message.disabled = isBlocked;
    this.#send.disabled = isBlocked || this.#running !== undefined;
    this.#cancel.hidden = this.#running === undefined;
    setRefusal(this.#send, this.#tools.refusal(TALK));
  }

  #submit(): void {
    const text = this.#message.value;
    const partner = this.#partner;
    if (!partner || this.#send.disabled || this.#tools.refusal(TALK) !== undefined) return;
    if (text.trim() === "") return this.#message.focus();
    this.#message.value = "";
    void this.#talk(partner, text);
  }

  async #talk({ workspace, agent }: Partner, text: string): Promise<void> {
    const running = (this.#running = new AbortController());
    this.#say("You", text);
    this.#progress.begin();
    this.#draw();
    try {
      const body = await this.#gateway.talk(workspace, agent.id, text);
      // The gateway cancels the call when nobody reads any more.
      for await (const { event, data } of this.#tools.readEvents(body, running.signal))
        this.#take({ event, data: JSON.parse(data) as unknown } as TurnEvent, agent.title);
      if (running.signal.aborted) this.#say(agent.title, "Cancelled.");
    } catch (error) {
      if (!this.#tools.signal.aborted) this.#say(agent.title, `Failed: ${messageOf(error)}`);
    } finally {
      this.#running = undefined;
      this.#progress.end();
      this.#draw();
    }
  }

  #take(turn: TurnEvent, who: string): void {
    if (turn.event === "progress") this.#progress.show(turn.data);
    else if (turn.event === "result") this.#say(who, textOf(turn.data.result));
    else this.#say(who, `Failed: ${turn.data.error.message}`);
  }

  #say(who: string, text: string): void {
    const item = make(this.#thread, "li");
    make(item, "strong", { textContent: who });
    item.append(`: ${text}`);
    item.scrollIntoView({ block: "nearest" });
  }

  /** The message as a request for a shell. */
  #command(): string {
    const { workspace = "WORKSPACE", agent } = this.#partner ?? {};
    const body = { agent: agent?.id ?? "AGENT", message: this.#message.value || "Hello" };
    return this.#tools.curl(TALK, { params: { id: workspace }, body });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
