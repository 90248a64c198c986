import type { IncomingHttpHeaders } from "node:http";
import type { Json } from "propylon";
import { onTestFinished } from "vitest";
import { rpc, serveHttp } from "../servers/support/servers.ts";

/** What a server was asked. */
interface Asked {
  readonly method: string;
  readonly params: Json;
  readonly headers: IncomingHttpHeaders;
}

/** A task as the test wants it told, or text that is sent as the whole answer. */
export type Told = Json | string;

/** A server of 2026-07-28 with a tool `long`, each call of which begins a task that goes as the test says. */
export class TaskServer {
  readonly asked: Asked[] = [];
  /** What `tasks/get` tells, by id; an id that is not there is unknown. */
  readonly tasks = new Map<string, Told>();
  /** What `tools/call` answers besides the id; default: a task at work. */
  seed: Json = {};
  /** Whether it declares the extension. */
  declares = true;
  /** Requests about tasks that are refused with HTTP 503 from now on. */
  failures = 0;
  #begun = 0;

  /** Starts one on a port. @param port default: a free one */
  async start(port?: number): Promise<string> {
    const server = await serveHttp((req, res, { id, method, params }) => {
      this.asked.push({ method, params, headers: req.headers });
      if (method.startsWith("tasks/") && this.failures-- > 0) return void res.writeHead(503).end();
      const answer = this.#answer(method, params);
      if (typeof answer === "string") {
        res.writeHead(200, { "content-type": "application/json" });
        res.end(answer.replace('"$id"', JSON.stringify(id)));
      } else if (answer) rpc(res, id, answer);
      else rpc(res, id, undefined, { code: -32602, message: "Unknown task" });
    }, port);
    onTestFinished(() => server.close());
    return `${server.url}/mcp`;
  }

  /** Requests of one method. */
  of(method: string): readonly Asked[] {
    return this.asked.filter((each) => each.method === method);
  }

  /** Says how a task is from now on. */
  tell(id: string, told: Told): void {
    this.tasks.set(id, typeof told === "string" ? told : { ...taskOf(id), ...told });
  }

  #answer(method: string, params: Json): Told | undefined {
    if (method === "server/discover") return discovery(this.declares);
    if (method === "tools/list")
      return complete({ tools: [{ name: "long", inputSchema: { type: "object" } }] });
    if (method === "tools/call") return this.#begin();
    if (method === "tasks/get") return this.tasks.get(String(params["taskId"]));
    return complete({});
  }

  #begin(): Json {
    const id = `task-${++this.#begun}`;
    this.tasks.set(id, taskOf(id));
    return { ...taskOf(id), resultType: "task", ...this.seed };
  }
}

function complete(result: Json): Json {
  return { resultType: "complete", ttlMs: 0, cacheScope: "private", ...result };
}

function discovery(declares: boolean): Json {
  const extensions = { "io.modelcontextprotocol/tasks": {} };
  return complete({
    supportedVersions: ["2026-07-28"],
    capabilities: { tools: {}, ...(declares && { extensions }) },
    serverInfo: { name: "tasks", version: "1" },
  });
}

function taskOf(taskId: string): Json {
  const at = new Date().toISOString();
  return {
    resultType: "complete",
    taskId,
    status: "working",
    createdAt: at,
    lastUpdatedAt: at,
    ttlMs: 60_000,
    pollIntervalMs: 0,
  };
}
