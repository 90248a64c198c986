import type { Progress } from "propylon";
import type { PanelTools } from "propylon/panels";
import type { AgentView } from "propylon/plugins/console";
import { copyButton, make, sentenceOf, setRefusal, withLabel } from "./elements.ts";
import { ProgressLines } from "./progress-lines.ts";

const TALK = "POST /api/v1/workspaces/:id/chat";

/** Whom a message goes to. */
export interface Partner {
  readonly workspace: string;
  readonly agent: Pick<AgentView, "id" | "title" | "health">;
}

/** What was said, the message that is being written, and the one that is being answered. */
export class Conversation {
  readonly #tools: PanelTools;
  readonly #thread = make("ol", { marks: { "aria-label": "Messages" } });
  readonly #progress = new ProgressLines();
  readonly #message = make("textarea", { rows: 3, required: true });
  readonly #send = make("button", { className: "primary", marks: { "data-route": TALK } }, "Send");
  readonly #cancel = make("button", { type: "button", hidden: true }, "Cancel");
  #partner: Partner | undefined;
  #running: AbortController | undefined;

  constructor(parent: Element, tools: PanelTools) {
    this.#tools = tools;
    this.#message.onkeydown = ({ key, ctrlKey, metaKey }) => {
      if (key === "Enter" && (ctrlKey || metaKey)) this.#submit();
    };
    this.#cancel.dataset["effect"] = "cancel";
    this.#cancel.onclick = () => this.#running?.abort();
    const copy = copyButton(tools, () => this.#command());
    const hint = make("span", { className: "faint" }, "Ctrl+Enter sends");
    const row = make("div", { className: "row" }, this.#send, this.#cancel, copy, hint);
    const form = make("form", {}, withLabel("Message", this.#message), row);
    form.onsubmit = (event) => {
      event.preventDefault();
      this.#submit();
    };
    parent.append(this.#thread, this.#progress.element, form);
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

  async #talk({ workspace, agent }: Partner, message: string): Promise<void> {
    const { send, readEvents, signal } = this.#tools;
    const running = (this.#running = new AbortController());
    this.#say("You", message);
    this.#progress.begin();
    this.#draw();
    try {
      const body = { agent: agent.id, message };
      const answer = await send(TALK, { params: { id: workspace }, body });
      // The gateway cancels the call when nobody reads any more.
      for await (const { data } of readEvents(answer.body!, running.signal))
        this.#take(JSON.parse(data) as TurnData, agent.title);
      if (running.signal.aborted) this.#say(agent.title, "Cancelled.");
    } catch (error) {
      if (!signal.aborted) this.#say(agent.title, `Failed: ${sentenceOf(error)}`);
    } finally {
      this.#running = undefined;
      this.#progress.end();
      this.#draw();
    }
  }

  #take({ result, error, ...report }: TurnData, who: string): void {
    if (result) this.#say(who, textOf(result));
    else if (error) this.#say(who, `Failed: ${error.message}`);
    else this.#progress.show(report as Progress);
  }

  #say(who: string, text: string): void {
    const item = make("li", {}, make("strong", {}, who), `: ${text}`);
    this.#thread.append(item);
    item.scrollIntoView({ block: "nearest" });
  }

  /** The message as a request for a shell. */
  #command(): string {
    const { workspace = "WORKSPACE", agent } = this.#partner ?? {};
    const body = { agent: agent?.id ?? "AGENT", message: this.#message.value || "Hello" };
    return this.#tools.curl(TALK, { params: { id: workspace }, body });
  }
}

/** Data of an event of an answer: how far the call is, what the tool of the agent said, or why there is no answer. */
interface TurnData extends Partial<Progress> {
  readonly result?: {
    readonly content?: readonly { readonly type: string; readonly text?: string }[];
    readonly isError?: boolean;
  };
  readonly error?: { readonly message: string };
}

/** A result as a person reads it. */
function textOf({ content = [], isError }: NonNullable<TurnData["result"]>): string {
  const text = content
    .map((block) => (block.type === "text" ? (block.text ?? "") : `[${block.type}]`))
    .join("\n");
  return isError ? `Failed: ${text}` : text;
}
