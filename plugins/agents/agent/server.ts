import {
  Answer,
  GatewayError,
  isGatewayError,
  type Call,
  type Catalogue,
  type Server,
  type ServerStatus,
  type Tool,
  type ToolReturn,
} from "propylon";
import { type ServerEvent, isObject, makeCatalogue, StatusTracker } from "propylon/kit";
import { toResult, wordsOf } from "propylon/internal";
import type { Logger } from "pino";
import type { Offers } from "./offers.ts";
import type { OfferedTool } from "../service.ts";

/** What answers the agent's own tool. */
export interface Desk {
  /** As listed; `undefined` for an agent whose tools are those of a server. */
  readonly tool: Tool | undefined;
  /** Longest run in milliseconds. */
  readonly timeout: number;
  /** @throws {GatewayError} whose words the caller reads */
  answer(call: Call): Promise<ToolReturn>;
}

/** An agent as an MCP server: its own tool, and those that every agent has. */
export class AgentServer implements Server {
  readonly name: string;
  readonly isApart = true;
  readonly #desk: Desk;
  readonly #log: Logger;
  readonly #tracker: StatusTracker;
  #offered: ReadonlyMap<string, OfferedTool>;
  #catalogue: Catalogue;

  constructor(name: string, desk: Desk, offers: Offers, log: Logger) {
    this.name = name;
    this.#desk = desk;
    this.#log = log;
    this.#tracker = new StatusTracker({ server: name, transport: "local", log, state: "ready" });
    this.#offered = offers.current;
    this.#catalogue = toCatalogue(desk.tool, this.#offered);
    offers.follow(() => this.#update(offers.current));
  }

  get catalogue(): Catalogue {
    return this.#catalogue;
  }

  get status(): ServerStatus {
    return this.#tracker.status;
  }

  /** Has other tools beside the agent's own from now on, and tells clients. */
  #update(offered: ReadonlyMap<string, OfferedTool>): void {
    this.#offered = offered;
    const { hash } = this.#catalogue;
    this.#catalogue = toCatalogue(this.#desk.tool, offered);
    if (hash !== this.#catalogue.hash) this.#tracker.emit({ type: "changed", lists: ["tools"] });
  }

  timeoutOf(tool: string): number | undefined {
    return tool === this.#desk.tool?.name ? this.#desk.timeout : undefined;
  }

  async request(call: Call): Promise<Answer> {
    if (call.method !== "tools/call")
      return Answer.error({ code: -32601, message: `An agent does not support ${call.method}.` });
    const offered = this.#offered.get(call.name);
    // Ahead of the agent's own: what is answered in code never gets to a model.
    if (offered)
      return this.#attempt(call, () => {
        refuseUnknown(offered, call.args);
        return offered.run(this.name, call);
      });
    if (call.name === this.#desk.tool?.name)
      return this.#attempt(call, () => this.#desk.answer(call));
    return Answer.error({ code: -32602, message: `Unknown tool: ${call.name}` });
  }

  async #attempt(call: Call, work: () => ToolReturn | Promise<ToolReturn>): Promise<Answer> {
    try {
      return Answer.result(toResult(await work()));
    } catch (error) {
      if (isGatewayError(error)) return Answer.failed(wordsOf(error));
      this.#log.error({ err: error, agent: this.name, call: call.id }, "an agent failed");
      return Answer.failed(`The agent "${this.name}" failed.`);
    }
  }

  on(listener: (event: ServerEvent) => void): () => void {
    return this.#tracker.on(listener);
  }
}

/** @throws {GatewayError} `invalid` for an argument that the tool's schema rules out */
function refuseUnknown(
  { name, inputSchema }: OfferedTool,
  args: Readonly<Record<string, unknown>> = {},
): void {
  const { properties, additionalProperties } = inputSchema;
  if (additionalProperties !== false) return;
  const known = isObject(properties) ? properties : {};
  const unknown = Object.keys(args).find((key) => !Object.hasOwn(known, key));
  if (unknown !== undefined)
    throw new GatewayError("invalid", `${name} has no argument "${unknown.slice(0, 100)}".`, {
      hint: "Leave it out.",
    });
}

function toCatalogue(own: Tool | undefined, offered: ReadonlyMap<string, OfferedTool>): Catalogue {
  const others = [...offered.values()]
    .filter(({ name }) => name !== own?.name)
    .map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  return makeCatalogue({ tools: own ? [own, ...others] : others });
}
