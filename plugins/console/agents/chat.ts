import { randomUUID } from "node:crypto";
import {
  type Answer,
  type Call,
  GatewayError,
  type Peer,
  type Principal,
  type Tool,
} from "propylon";
import { addSignal, type Cancellation, FairQuota, isObject, setTimer } from "propylon/kit";
import { agentId, type ConnectedAgent, type ConnectedAgents, whyAway } from "./connected-agents.ts";
import type { Instances } from "./instances.ts";
import type { ConsoleOptions } from "../options.ts";
import type { Workspaces } from "./workspaces.ts";

const ID = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}):([^\p{Cc}]{1,255})$/u;

/** What a {@link Chat} works with. */
export interface ChatOptions {
  readonly config: Pick<ConsoleOptions, "maxTurns" | "maxTurnsPerCaller" | "turnTimeout">;
  readonly instances: Instances;
  readonly workspaces: Workspaces;
  readonly agents: ConnectedAgents;
}

/** One message to an agent. */
export interface ChatTurn {
  readonly agent: ConnectedAgent;
  readonly message: string;
  readonly principal: Principal;
  readonly cancellation: Cancellation;
  readonly progress: NonNullable<Call["progress"]>;
}

/** What people say to the agents of their workspaces: each message is one call of the agent's tool. */
export class Chat {
  readonly #options: ChatOptions;
  readonly #shares = new FairQuota();
  #running = 0;

  constructor(options: ChatOptions) {
    this.#options = options;
  }

  /**
   * The agent, if it can be talked to in a workspace.
   *
   * @throws {GatewayError} in this order: `not_found` for an unknown one, `forbidden` when its team is not attached, `unavailable`
   * with its own words when it is in `error`
   */
  async find(workspace: string, id: string): Promise<ConnectedAgent> {
    const { instances, workspaces, agents } = this.#options;
    const [instance, server] = partsOf(id);
    const row = await instances.findAgent(instance, server);
    if (!row) throw noAgent();
    if (!(await workspaces.teamsOf(workspace)).includes(instance)) throw notAttached();
    const health = agents.healthOf(id);
    if (health?.status === "error") throw notWell(health.message);
    // Another replica of the store may have attached it just now.
    if (!agents.get(id)) await agents.sync();
    const agent = agents.get(id);
    if (agent) return agent;
    throw notWell(
      "It is not connected: there are more agents than plugins.console.maxConnectedAgents.",
    );
  }

  /** Counts a message until the function that it returns is called. @throws {GatewayError} `rate_limited` */
  enter({ ref }: Principal): () => void {
    this.#checkRoom(ref);
    this.#running++;
    this.#shares.add(ref);
    return () => {
      this.#running--;
      this.#shares.remove(ref);
    };
  }

  /** @throws {GatewayError} `timeout`, `cancelled`, `upstream_error` */
  async run(turn: ChatTurn): Promise<Answer> {
    const { turnTimeout } = this.#options.config;
    const timer = setTimer(() => turn.cancellation.abort(lateError(turnTimeout)), turnTimeout);
    try {
      return await send(turn);
    } finally {
      clearTimeout(timer);
    }
  }

  #checkRoom(ref: string): void {
    const { maxTurns, maxTurnsPerCaller } = this.#options.config;
    const isOwn = this.#shares.of(ref) >= maxTurnsPerCaller;
    if (!isOwn && this.#running < maxTurns) return;
    throw new GatewayError("rate_limited", "Too many messages are being answered.", {
      data: { limit: isOwn ? maxTurnsPerCaller : maxTurns },
      hint: "Wait for the answer to one, or cancel it.",
    });
  }
}

async function send({
  agent,
  message,
  principal,
  cancellation,
  progress,
}: ChatTurn): Promise<Answer> {
  const { server } = agent;
  await whenSettled(server);
  if (server.status.state !== "ready") throw notWell(whyAway(agent));
  const tool = toolOf(agent);
  return server.request(
    addSignal({
      id: randomUUID(),
      method: "tools/call" as const,
      source: "http" as const,
      endpoint: "",
      server: server.name,
      name: tool.name,
      tool,
      args: { message },
      params: undefined,
      meta: undefined,
      principal,
      timeout: undefined,
      cancellation,
      progress,
      peer: createPeer(),
    }),
  );
}

/** Waits for the first outcome of connecting, which has a limit of its own: before it the tools of the agent are not known. */
function whenSettled(server: ConnectedAgent["server"]): Promise<void> {
  const isSettled = (): boolean => !["idle", "connecting"].includes(server.status.state);
  if (isSettled()) return Promise.resolve();
  return new Promise((resolve) => {
    const leave = server.on(() => {
      if (!isSettled()) return;
      leave();
      resolve();
    });
  });
}

/** The tool that is named after the agent, else `send_message`, else the only one that takes a message. */
function toolOf({ row, server }: ConnectedAgent): Tool {
  const takers = server.catalogue.tools.filter(takesMessage);
  const found =
    takers.find(({ name }) => name === row.server_id || row.server_id.endsWith(`-${name}`)) ??
    takers.find(({ name }) => name === "send_message") ??
    (takers.length === 1 ? takers[0] : undefined);
  if (found) return found;
  throw new GatewayError(
    "upstream_error",
    `The agent "${agentId(row)}" has no tool that takes a message.`,
    {
      hint: "Its tool must be named like the agent or send_message, and take { message }.",
    },
  );
}

function takesMessage({ name, inputSchema }: Tool): boolean {
  const { properties } = inputSchema;
  return name !== "get_health" && isObject(properties) && Object.hasOwn(properties, "message");
}

/** Nobody whom an agent could ask something: a chat has one question and one answer. */
function createPeer(): Peer {
  return {
    key: randomUUID(),
    capabilities: {},
    ask: () =>
      Promise.reject(new GatewayError("invalid", "A chat answers no questions of agents.")),
    tell: () => undefined,
  };
}

/** Whatever cannot be an id is unknown, and gets to no database. */
function partsOf(id: string): readonly [instance: string, server: string] {
  const [, instance, server] = ID.exec(id) ?? [];
  if (instance !== undefined && server !== undefined) return [instance, server];
  throw noAgent();
}

function noAgent(): GatewayError {
  return new GatewayError("not_found", "There is no such agent.", {
    hint: "GET /api/v1/workspaces/:id/agents lists those of a workspace.",
  });
}

function notAttached(): GatewayError {
  return new GatewayError(
    "forbidden",
    "The team of this agent is not attached to this workspace.",
    {
      hint: "Attach it first, or choose an agent of an attached team.",
    },
  );
}

function notWell(message: string | null): GatewayError {
  return new GatewayError("unavailable", message ?? "The agent says that it is in error.", {
    hint: "Sending is possible again when the agent is well; GET /api/v1/agents shows it.",
  });
}

function lateError(ms: number): GatewayError {
  return new GatewayError("timeout", `The agent did not answer within ${ms / 1_000} s.`);
}
