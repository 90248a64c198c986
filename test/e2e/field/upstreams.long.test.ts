import type { ServerResponse } from "node:http";
import {
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import openapi from "../../../plugins/openapi/index.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import { anyTool, fieldServer } from "../../fixtures/field/servers.ts";
import { until } from "../../kit/until.ts";
import { rpc, serveHttp, serveOld, type Handler } from "../../plugins/servers/support/servers.ts";
import { callText, startField, toolNames } from "./kit.ts";

const URI = "mem://count";

async function listen(handler: Handler) {
  const server = await serveHttp(handler);
  onTestFinished(() => server.close());
  return server;
}

/** What a legacy server says of itself. */
const initialized = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
  serverInfo: { name: "field", version: "1" },
};

describe("a server whose URL has a slash more or less", () => {
  /** As Starlette mounts it: one spelling answers, the other redirects to it. */
  const starlette = async (path: string) => {
    const real = await serveOld((server) => {
      server.registerTool("t", { description: "T." }, () => ({
        content: [{ type: "text", text: "moved" }],
      }));
    });
    onTestFinished(() => real.close());
    const asked: string[] = [];
    const front = await listen(async (req, res, body) => {
      asked.push(`${req.method} ${req.url}`);
      if (req.url !== path) return void res.writeHead(307, { location: path }).end();
      const headers = Object.entries(req.headers).filter(([name]) =>
        /^(mcp-|accept|content-type)/.test(name),
      );
      const answer = await fetch(real.url, {
        method: req.method!,
        headers: headers as [string, string][],
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      res.writeHead(answer.status, Object.fromEntries(answer.headers));
      for await (const piece of answer.body ?? []) res.write(piece);
      res.end();
    });
    return { origin: new URL(front.url).origin, asked };
  };

  it.each([
    ["/mcp", "/mcp/"],
    ["/mcp/", "/mcp"],
    ["/mcp", "/v1/mcp"],
  ])(
    "mcp-09: at %s, which redirects to %s, is called by the official client",
    async (written, path) => {
      const { origin, asked } = await starlette(path);
      const { client } = await startField({ servers: { moved: { url: origin + written } } });
      expect(await callText(client, "t")).toBe("moved");
      expect(asked).toContain(`POST ${path}`);
    },
  );
});

describe("a server whose event stream is away for a moment", () => {
  /** A legacy server whose lists change while nobody hears it. */
  const start = async () => {
    const state = { tools: ["before"], prompts: ["hello"], streams: [] as ServerResponse[] };
    const server = await listen((req, res, body) => {
      if (req.method === "DELETE") return void res.writeHead(200).end();
      if (req.method === "GET") {
        res.writeHead(200, { "content-type": "text/event-stream" }).write(": open\n\n");
        return void state.streams.push(res);
      }
      if (body.id === undefined) return void res.writeHead(202).end();
      if (body.method === "initialize") {
        res.setHeader("mcp-session-id", "one");
        const capabilities = { ...initialized.capabilities, prompts: { listChanged: true } };
        return rpc(res, body.id, { ...initialized, capabilities });
      }
      const tools = state.tools.map(anyTool);
      const prompts = state.prompts.map((name) => ({ name }));
      const resources = [{ uri: URI, name: "count" }];
      const lists = { tools, prompts, resources, resourceTemplates: [] };
      rpc(res, body.id, body.method.endsWith("/list") ? lists : {});
    });
    const { client } = await startField({ servers: { away: { url: server.url } } });
    await until(() => state.streams.length > 0);
    return { state, client, cut: () => state.streams.at(-1)!.socket!.destroy() };
  };

  it("mcp-10: clients hear of the list that changed meanwhile", async () => {
    const { state, client, cut } = await start();
    expect(await toolNames(client)).toEqual(["before"]);
    const told = new Promise((resolve) =>
      client.setNotificationHandler(ToolListChangedNotificationSchema, resolve),
    );
    state.tools = ["after"];
    cut();
    await told;
    expect(await toolNames(client)).toEqual(["after"]);
  });

  it("mcp-10: prompts that changed meanwhile are listed", async () => {
    const { state, client, cut } = await start();
    const names = async () => (await client.listPrompts()).prompts.map(({ name }) => name);
    expect(await names()).toEqual(["hello"]);
    state.prompts = ["hello", "again"];
    cut();
    await until(async () => (await names()).length === 2);
    expect(await names()).toEqual(["hello", "again"]);
  });

  it("mcp-11: whoever watches a resource of it is told to read it again", async () => {
    const { client, cut } = await start();
    const updated = new Promise<unknown>((resolve) =>
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) =>
        resolve(params.uri),
      ),
    );
    await client.subscribeResource({ uri: URI });
    cut();
    expect(await updated).toBe(URI);
  });
});

describe("a server that has forgotten its sessions", () => {
  const start = async (status: number) => {
    const state = { session: "s1", ran: 0 };
    const server = await listen((req, res, body) => {
      if (req.method !== "POST") return void res.writeHead(405).end();
      if (body.method === "initialize") {
        res.setHeader("mcp-session-id", state.session);
        return rpc(res, body.id, initialized);
      }
      if (req.headers["mcp-session-id"] !== state.session) {
        const error = { code: -32001, message: "Session not found" };
        res.writeHead(status, { "content-type": "application/json" });
        return void res.end(JSON.stringify({ jsonrpc: "2.0", id: body.id ?? null, error }));
      }
      if (body.id === undefined) return void res.writeHead(202).end();
      const lists = { tools: [anyTool("t")], resources: [], resourceTemplates: [], prompts: [] };
      if (body.method.endsWith("/list")) return rpc(res, body.id, lists);
      if (body.method === "resources/read")
        return rpc(res, body.id, { contents: [{ uri: URI, text: "read" }] });
      if (body.method === "tools/call") state.ran++;
      rpc(res, body.id, { content: [{ type: "text", text: "ran" }] });
    });
    const started = await startField(
      { servers: { lost: { url: server.url } } },
      { plugins: [openapi] },
    );
    await toolNames(started.client);
    state.session = "s2";
    return { ...started, state };
  };

  it.each([200, 410])("mcp-17: and says so with HTTP %d has the call once", async (status) => {
    const { client, state } = await start(status);
    expect(await callText(client, "t")).toBe("ran");
    expect(state.ran).toBe(1);
  });

  it("mcp-17: has a call over HTTP once", async () => {
    const { url, state } = await start(200);
    const response = await fetch(`${url}/lost/t`, { method: "POST" });
    expect([response.status, await response.json()]).toMatchObject([200, { result: "ran" }]);
    expect(state.ran).toBe(1);
  });

  it("mcp-17: has ten calls at once, once each", async () => {
    const { client, state } = await start(200);
    const texts = await Promise.all(Array.from({ length: 10 }, () => callText(client, "t")));
    expect([new Set(texts).size, state.ran]).toEqual([1, 10]);
  });
});

describe("a server that never answers ping", () => {
  /** Calls until the gateway has asked several times for a sign of life. */
  const countFor = async (client: Client, milliseconds: number): Promise<readonly string[]> => {
    const counts: string[] = [];
    const end = performance.now() + milliseconds;
    while (performance.now() < end) counts.push((await callText(client, "inc")).split(" ")[2]!);
    return counts;
  };

  it("mcp-24: keeps its state while it answers calls", async () => {
    const { client, gateway } = await startField({
      servers: {
        quiet: { ...fieldServer({ tools: [anyTool("inc")], deaf: ["ping"] }), ping: "50ms" },
      },
    });
    const { pid } = gateway.servers.get("quiet")!.status;
    const counts = await countFor(client, 600);
    expect(counts).toEqual(counts.map((_, at) => String(at + 1)));
    expect(gateway.servers.get("quiet")!.status).toMatchObject({ state: "ready", pid });
  });

  it("mcp-24: keeps its session over HTTP, where a ping is an empty 200", async () => {
    let [opened, pings, lists] = [0, 0, 0];
    const server = await listen((req, res, body) => {
      if (req.method !== "POST") return void res.writeHead(405).end();
      if (body.id === undefined) return void res.writeHead(202).end();
      if (body.method === "ping") {
        pings++;
        return void res.writeHead(200, { "content-type": "application/json" }).end();
      }
      if (body.method === "initialize") {
        opened++;
        res.setHeader("mcp-session-id", "one");
        return rpc(res, body.id, { ...initialized, capabilities: { tools: {} } });
      }
      if (body.method === "tools/list") lists++;
      rpc(res, body.id, { tools: [anyTool("inc")] });
    });
    const { gateway } = await startField({ servers: { quiet: { url: server.url, ping: "50ms" } } });
    await until(() => lists >= 6);
    expect([opened, gateway.servers.get("quiet")!.status.state]).toEqual([1, "ready"]);
    expect(pings).toBeGreaterThan(0);
  });

  it("mcp-24: is ended all the same when it answers nothing at all", async () => {
    const { gateway } = await startField({
      servers: {
        dead: {
          ...fieldServer({ tools: [anyTool("inc")], deaf: ["ping", "tools/call"] }),
          ping: "50ms",
        },
      },
    });
    const { pid } = gateway.servers.get("dead")!.status;
    process.kill(pid!, "SIGSTOP");
    await until(() => (gateway.servers.get("dead")!.status.pid ?? pid) !== pid);
    expect(gateway.servers.get("dead")!.status.pid).not.toBe(pid);
  });
});
