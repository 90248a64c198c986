import { createHash } from "node:crypto";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { connectClient } from "../../../core/testing/index.ts";
import { deferred } from "../../kit/deferred.ts";
import {
  call,
  ISO,
  silent,
  start,
  startOne,
  statusOf,
  type Asked,
  type Reply,
  SOON,
} from "./kit.ts";

/** A request to the routes; what came back, read. */
async function send(
  url: string,
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Record<string, unknown>; headers: Headers }> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>),
    headers: response.headers,
  };
}

describe("routes", () => {
  it("A047, C19: an agent is made, started, read, completed and deleted", async () => {
    const { url, agents } = await start();
    const made = await send(url, "POST", "/api/agents", { contract: "count" });
    expect(made).toMatchObject({
      status: 201,
      body: {
        agent_id: expect.any(String),
        status: "ready",
        started_at: expect.stringMatching(ISO),
      },
    });
    const path = made.headers.get("location")!;
    expect(path).toBe(`/api/agents/${made.body["agent_id"] as string}`);
    expect(agents.asked).toEqual([]);
    expect((await send(url, "POST", `${path}/start`)).body).toMatchObject({ status: "running" });
    expect((await send(url, "POST", `${path}/start`)).body).toMatchObject({
      status: "running",
      already: true,
    });
    expect(await send(url, "GET", path)).toMatchObject({
      status: 200,
      body: { status: "running", agent: "worker", contract: "count", output: "" },
    });
    expect(await send(url, "DELETE", path)).toMatchObject({
      status: 409,
      body: { ok: false, error: { code: "exists" } },
    });
    const completed = await send(url, "POST", `${path}/complete`, { summary: "s", payload: "p" });
    expect(completed).toMatchObject({ status: 200, body: { status: "completed" } });
    expect((await send(url, "POST", `${path}/stop`)).body).toEqual({
      ...completed.body,
      already: true,
    });
    expect(await send(url, "POST", `${path}/start`)).toMatchObject({
      status: 409,
      body: { error: { code: "exists" } },
    });
    expect((await send(url, "DELETE", path)).status).toBe(204);
    for (const [method, end, body] of [
      ["GET", ""],
      ["DELETE", ""],
      ["POST", "/start"],
      ["POST", "/stop"],
      ["POST", "/complete", { summary: "s" }],
    ] as const)
      expect(await send(url, method, `${path}${end}`, body)).toMatchObject({
        status: 404,
        body: { ok: false, error: { code: "not_found", message: "Agent not found." } },
      });
  });

  it("lists the newest first, by status and up to a number", async () => {
    const { url } = await start();
    const ids: unknown[] = [];
    for (const starts of [false, true, false])
      ids.push(
        (await send(url, "POST", "/api/agents", { contract: "x", start: starts })).body["agent_id"],
      );
    const list = async (query: string): Promise<unknown[]> =>
      (
        (await send(url, "GET", `/api/agents${query}`)).body["agents"] as { agent_id: string }[]
      ).map(({ agent_id }) => agent_id);
    expect(await list("")).toEqual(ids.toReversed());
    expect(await list("?status=ready&limit=1")).toEqual([ids[2]]);
    expect(await list("?status=running")).toEqual([ids[1]]);
    expect((await send(url, "GET", "/api/agents?status=asleep")).status).toBe(422);
  });

  it("refuses what is no request", async () => {
    const { url } = await start(silent, { agent: "worker" });
    for (const [body, status] of [
      [{}, 422],
      [{ contract: "" }, 422],
      [{ contract: "x", who: "me" }, 422],
      [{ contract: "x", agent: "nobody" }, 422],
    ] as const)
      expect(await send(url, "POST", "/api/agents", body)).toMatchObject({
        status,
        body: { ok: false },
      });
  });

  it("the same Idempotency-Key is the same agent, and no other request", async () => {
    const { url } = await start();
    const headers = { "idempotency-key": "k1" };
    const wish = { contract: "x", start: true };
    const [one, two, other] = await Promise.all([
      send(url, "POST", "/api/agents", wish, headers),
      send(url, "POST", "/api/agents", wish, headers),
      send(url, "POST", "/api/agents", wish, { "idempotency-key": "k2" }),
    ]);
    expect(two.body).toEqual(one.body);
    expect([one.status, two.status]).toEqual([201, 201]);
    expect(other.body["agent_id"]).not.toBe(one.body["agent_id"]);
    const changed = await send(url, "POST", "/api/agents", { ...wish, contract: "y" }, headers);
    expect(changed).toMatchObject({ status: 422, body: { error: { code: "invalid" } } });
    expect(((await send(url, "GET", "/api/agents")).body["agents"] as unknown[]).length).toBe(2);
    // With the agent its key is forgotten.
    await send(url, "POST", `/api/agents/${one.body["agent_id"] as string}/stop`);
    await send(url, "DELETE", `/api/agents/${one.body["agent_id"] as string}`);
    expect((await send(url, "POST", "/api/agents", wish, headers)).body["agent_id"]).not.toBe(
      one.body["agent_id"],
    );
  });
});

/** Opens a WebSocket and collects what it says. */
function listen(url: string, path: string, headers = {}) {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}${path}`, { headers });
  const said: Record<string, unknown>[] = [];
  socket.on("message", (data: Buffer) =>
    said.push(JSON.parse(data.toString()) as Record<string, unknown>),
  );
  const closed = once(socket, "close").then(([code, reason]) => [code as number, String(reason)]);
  return { socket, said, closed };
}

describe("/ws/agent/:id", () => {
  it("A047: tells state, output and progress as they happen, and ends with the agent", async () => {
    const replies = [deferred<Reply>(), deferred<Reply>()];
    const { client, url } = await start((): Promise<Reply> => replies.shift()!.promise);
    const [first, second] = replies;
    const id = await startOne(client);
    const { said, closed } = listen(url, `/ws/agent/${id}`);
    await expect.poll(() => said.length, SOON).toBe(1);
    expect(said[0]).toMatchObject({ type: "state", agent_id: id, status: "running" });
    first!.resolve({
      text: "Reading.",
      calls: [{ name: "append_payload", args: { agent_id: id, payload: "p" } }],
    });
    await expect.poll(() => said.length, SOON).toBe(5);
    expect(said.slice(1)).toEqual([
      { type: "output", text: "Reading." },
      {
        type: "progress",
        event: { type: "tool", server: "", tool: "append_payload", state: "started" },
      },
      {
        type: "progress",
        event: { type: "tool", server: "", tool: "append_payload", state: "completed" },
      },
      { type: "progress", event: { type: "step", step: 2, kind: "llm" } },
    ]);
    const late = listen(url, `/ws/agent/${id}`);
    await expect.poll(() => late.said.length, SOON).toBe(2);
    expect(late.said[0]).toEqual({ type: "output", text: "Reading." });
    second!.resolve({ text: "[CONTRACT COMPLETE]" });
    expect(await closed).toEqual([1000, "completed"]);
    expect(said.at(-1)).toMatchObject({ type: "state", status: "completed", payload_size: 1 });
    const over = listen(url, `/ws/agent/${id}`);
    expect(await over.closed).toEqual([1000, "completed"]);
    expect(over.said.at(-1)).toMatchObject({ type: "state", status: "completed" });
  });

  it("says goodbye to who watches nobody, or an agent that is deleted", async () => {
    const { url } = await start();
    expect(await listen(url, "/ws/agent/nobody").closed).toEqual([4404, "Agent not found"]);
    const made = await send(url, "POST", "/api/agents", { contract: "x" });
    const id = made.body["agent_id"] as string;
    const { said, closed } = listen(url, `/ws/agent/${id}`);
    await expect.poll(() => said.length, SOON).toBe(1);
    await send(url, "DELETE", `/api/agents/${id}`);
    expect(await closed).toEqual([4404, "Agent not found"]);
  });
});

describe("owners", () => {
  const KEYS = {
    alice: "alice-key-000000000000",
    bob: "bob-key-00000000000000",
    olga: "olga-key-0000000000000",
  };
  const hashed = (key: string, role: "caller" | "operator") => ({
    role,
    hash: `sha256:${createHash("sha256").update(key).digest("hex")}`,
  });
  const auth = {
    keys: {
      alice: hashed(KEYS.alice, "caller"),
      bob: hashed(KEYS.bob, "caller"),
      olga: hashed(KEYS.olga, "operator"),
    },
  };
  const as = (name: keyof typeof KEYS): Record<string, string> => ({
    authorization: `Bearer ${KEYS[name]}`,
  });

  it("nobody takes the room of others for agents that are ready", async () => {
    const { url } = await start(
      silent,
      { maxWaiting: 4, maxWaitingEach: 2 },
      {
        config: { auth },
        client: false,
      },
    );
    const make = async (name: keyof typeof KEYS): Promise<[number, unknown]> => {
      const { status, body } = await send(url, "POST", "/api/agents", { contract: "x" }, as(name));
      return [status, (body["error"] as { message?: string } | undefined)?.message];
    };
    const made = [await make("alice"), await make("alice"), await make("alice")];
    expect(made.map(([status]) => status)).toEqual([201, 201, 429]);
    expect(made[2]![1]).toBe("2 of your agents are ready already.");
    expect([await make("bob"), await make("bob")].map(([status]) => status)).toEqual([201, 201]);
    expect(await make("olga")).toEqual([429, "There are 4 agents ready already."]);
  });

  it("everybody sees their own agents only, through every door; operators see all", async () => {
    const script = ({ id, messages }: Asked): Reply | Promise<Reply> =>
      messages.length > 1
        ? silent()
        : {
            text: `my id is ${id}`,
            calls: [{ name: "append_payload", args: { agent_id: id, payload: id } }],
          };
    const { url, gateway } = await start(script, {}, { config: { auth }, client: false });
    const mcp = gateway.endpoints[0]!.url;
    const clients = {
      alice: await connectClient(mcp, { headers: as("alice") }),
      bob: await connectClient(mcp, { headers: as("bob") }),
      olga: await connectClient(mcp, { headers: as("olga") }),
    };
    const ids = { alice: [] as string[], bob: [] as string[] };
    for (let round = 0; round < 3; round++)
      for (const name of ["alice", "bob"] as const) ids[name].push(await startOne(clients[name]));
    const [foreign] = ids.bob as [string];
    const { alice } = clients;
    expect(await statusOf(alice, foreign)).toEqual({ agent_id: foreign, error: "Agent not found" });
    for (const [name, more] of [
      ["agent_stop", {}],
      ["agent_complete", { summary: "s" }],
      ["append_payload", { payload: "p" }],
    ] as const)
      await expect(call(alice, name, { agent_id: foreign, ...more })).rejects.toThrow(
        "Agent not found",
      );
    for (const [method, end, body] of [
      ["GET", ""],
      ["GET", "/payload"],
      ["DELETE", ""],
      ["POST", "/start"],
      ["POST", "/stop"],
      ["POST", "/complete", { summary: "s" }],
    ] as const)
      expect(
        (await send(url, method, `/api/agents/${foreign}${end}`, body, as("alice"))).status,
      ).toBe(404);
    expect(await listen(url, `/ws/agent/${foreign}`, as("alice")).closed).toEqual([
      4404,
      "Agent not found",
    ]);
    const listed = async (name: keyof typeof KEYS): Promise<string[]> =>
      (
        (await send(url, "GET", "/api/agents", undefined, as(name))).body["agents"] as {
          agent_id: string;
        }[]
      )
        .map(({ agent_id }) => agent_id)
        .toSorted();
    expect(await listed("alice")).toEqual(ids.alice.toSorted());
    expect(await listed("bob")).toEqual(ids.bob.toSorted());
    expect(await listed("olga")).toEqual([...ids.alice, ...ids.bob].toSorted());
    for (const id of ids.alice) {
      await expect.poll(async () => (await statusOf(alice, id))["payload_size"], SOON).toBe(36);
      expect((await statusOf(alice, id))["preview"]).toBe(`my id is ${id}`);
    }
    expect(await call(clients.olga, "agent_stop", { agent_id: foreign })).toMatchObject({
      status: "stopped",
    });
  });

  it("an Idempotency-Key is its owner's", async () => {
    const { url } = await start(silent, {}, { config: { auth }, client: false });
    const made = await Promise.all(
      (["alice", "bob"] as const).map((name) =>
        send(
          url,
          "POST",
          "/api/agents",
          { contract: "x" },
          { ...as(name), "idempotency-key": "k" },
        ),
      ),
    );
    expect(made[0]!.body["agent_id"]).not.toBe(made[1]!.body["agent_id"]);
  });

  it("who may not call may not start", async () => {
    const { url } = await start(silent, {}, { config: { auth }, client: false });
    expect((await send(url, "POST", "/api/agents", { contract: "x" })).status).toBe(401);
    expect((await send(url, "GET", "/api/agents")).status).toBe(401);
  });
});
