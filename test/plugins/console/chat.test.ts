import { expect, it } from "vitest";
import { deferred } from "../../kit/deferred.ts";
import { startHost, type AgentHost, type Tell } from "./agent-host.ts";
import {
  type AgentView,
  type InstanceView,
  setupConsole,
  type TestConsole,
  QUICK_HEALTH,
} from "./kit.ts";

const UUID4 = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

async function setupChat(host: AgentHost, options: object = {}) {
  const running = await setupConsole({ ...QUICK_HEALTH, ...options });
  const { body } = await running.ask<InstanceView>("POST", "/pallas", {
    registry_url: host.url,
    name: "Kottos",
  });
  const { id: team } = body;
  await running.ask("POST", "/workspaces", { id: "ws_a", name: "A" });
  await running.ask("POST", "/workspaces", { id: "ws_b", name: "B" });
  await running.ask("PUT", `/workspaces/ws_a/teams/${team}`);
  return { running, team };
}

interface Refusal {
  readonly error: { readonly code: string; readonly message: string };
}

interface Sent {
  readonly status: number;
  readonly code: string | undefined;
  readonly events: readonly { readonly event: string; readonly data: Record<string, unknown> }[];
}

function post({ url }: TestConsole, workspace: string, agent: string, signal?: AbortSignal) {
  return fetch(`${url}/api/v1/workspaces/${workspace}/chat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ agent, message: "hello" }),
    ...(signal && { signal }),
  });
}

async function send(running: TestConsole, workspace: string, agent: string): Promise<Sent> {
  const response = await post(running, workspace, agent);
  const text = await response.text();
  const { status } = response;
  if (status !== 200) return { status, code: (JSON.parse(text) as Refusal).error.code, events: [] };
  const frames = text.split("\n\n").filter((frame) => frame.includes("data: "));
  const events = frames.map((frame) => ({
    event: /^event: (.*)$/m.exec(frame)![1]!,
    data: JSON.parse(/^data: (.*)$/m.exec(frame)![1]!) as Record<string, unknown>,
  }));
  return { status, code: undefined, events };
}

it("P099, P094: an answer comes as events with its progress, under a token that is a UUID", async () => {
  const host = await startHost(["harper"]);
  const harper = host.agents.get("harper")!;
  harper.run = (message, tell: Tell) => {
    tell({ progress: 0, message: "search/find: started", total: null });
    tell({ progress: 1, total: 1, message: "search/find: completed" });
    return `heard ${message}`;
  };
  const { running, team } = await setupChat(host);
  const { status, events } = await send(running, "ws_a", `${team}:harper`);
  expect(status).toBe(200);
  expect(events).toEqual([
    { event: "progress", data: { progress: 0, message: "search/find: started" } },
    { event: "progress", data: { progress: 1, total: 1, message: "search/find: completed" } },
    { event: "result", data: { result: { content: [{ type: "text", text: "heard hello" }] } } },
  ]);
  await send(running, "ws_a", `${team}:harper`);
  const turns = harper.calls.filter(({ tool }) => tool === "harper");
  expect(turns.map(({ args }) => args)).toEqual([{ message: "hello" }, { message: "hello" }]);
  const tokens = turns.map(({ meta }) => meta?.["progressToken"]);
  for (const token of tokens) expect(token).toMatch(UUID4);
  expect(new Set(tokens).size).toBe(2);
  const asked = harper.calls.filter(({ tool }) => tool === "get_health");
  expect(asked.length).toBeGreaterThan(0);
  for (const { meta } of asked) expect(meta?.["progressToken"]).toBeUndefined();
  expect(await running.metric('console_turns_total\\{outcome="answered"\\}')).toBe(2);
});

it("P090, P092, P093, T151, T152: 404 for an unknown agent, else 403 when it is not attached, else 503 in error", async () => {
  const host = await startHost(["harper", "mentor"]);
  const harper = host.agents.get("harper")!;
  harper.health = { status: "error", message: "Argos is gone" };
  host.agents.get("mentor")!.health = { status: "degraded", message: "slow" };
  const { running, team } = await setupChat(host);
  const statuses = async () => {
    const { agents } = (await running.ask<{ agents: AgentView[] }>("GET", "/agents")).body;
    return agents.map(({ health }) => health?.status);
  };
  await expect.poll(statuses).toEqual(["error", "degraded"]);
  const codes = async (workspace: string, agent: string) => {
    const { status, code } = await send(running, workspace, agent);
    return [status, code];
  };
  expect(await codes("ws_none", `${team}:harper`)).toEqual([404, "not_found"]);
  for (const unknown of [`${team}:nobody`, "harper", `${team}:\u0000`, ":", team])
    expect(await codes("ws_b", unknown)).toEqual([404, "not_found"]);
  expect(await codes("ws_b", `${team}:harper`)).toEqual([403, "forbidden"]);
  expect(await codes("ws_a", `${team}:harper`)).toEqual([503, "unavailable"]);
  const refusal = await post(running, "ws_a", `${team}:harper`);
  expect(((await refusal.json()) as Refusal).error.message).toBe("Argos is gone");
  // Another agent in the same workspace, and one that is degraded, answers.
  expect(await codes("ws_a", `${team}:mentor`)).toEqual([200, undefined]);
  // Attaching is not held up by health.
  expect((await running.ask("PUT", `/workspaces/ws_b/teams/${team}`)).status).toBe(200);
  expect(await codes("ws_b", `${team}:harper`)).toEqual([503, "unavailable"]);
  expect(harper.calls.filter(({ tool }) => tool !== "get_health")).toEqual([]);
  expect(await running.metric('console_turns_total\\{outcome="refused"\\}')).toBe(9);
});

it("a client that leaves cancels the call at the agent", async () => {
  const host = await startHost(["harper"]);
  const harper = host.agents.get("harper")!;
  harper.run = (_, tell) => {
    tell({ progress: 0, message: "begun" });
    return new Promise(() => {});
  };
  const { running, team } = await setupChat(host);
  const leaving = new AbortController();
  const response = await post(running, "ws_a", `${team}:harper`, leaving.signal);
  const reader = response.body!.getReader();
  let seen = "";
  while (!seen.includes("begun")) seen += Buffer.from((await reader.read()).value).toString();
  leaving.abort();
  await expect.poll(() => harper.cancelled).toHaveLength(1);
  await expect.poll(() => running.metric('console_turns_total\\{outcome="cancelled"\\}')).toBe(1);
});

it("messages that are being answered are bounded, and an answer has an end", async () => {
  const host = await startHost(["harper"]);
  const { promise: answered, resolve: answerAll } = deferred<string>();
  const harper = host.agents.get("harper")!;
  harper.run = () => answered;
  const { running, team } = await setupChat(host, { maxTurnsPerCaller: 2 });
  const first = send(running, "ws_a", `${team}:harper`);
  const second = send(running, "ws_a", `${team}:harper`);
  await expect.poll(() => harper.calls.filter(({ tool }) => tool === "harper")).toHaveLength(2);
  expect(await send(running, "ws_a", `${team}:harper`)).toMatchObject({ status: 429 });
  answerAll("done");
  for (const { events } of await Promise.all([first, second]))
    expect(events.at(-1)!.event).toBe("result");
  expect(await send(running, "ws_a", `${team}:harper`)).toMatchObject({ status: 200 });
});

it("messages that are being answered are bounded for all callers together", async () => {
  const host = await startHost(["harper"]);
  let answer = (_text: string): void => {};
  const harper = host.agents.get("harper")!;
  harper.run = () => new Promise((resolve) => (answer = resolve));
  const { running, team } = await setupChat(host, { maxTurns: 1 });
  const first = send(running, "ws_a", `${team}:harper`);
  await expect.poll(() => harper.calls.filter(({ tool }) => tool === "harper")).toHaveLength(1);
  expect(await send(running, "ws_a", `${team}:harper`)).toMatchObject({ status: 429 });
  answer("done");
  expect((await first).events.at(-1)!.event).toBe("result");
});

it("an agent that does not answer in time ends as an error, and its call is cancelled", async () => {
  const host = await startHost(["harper"]);
  host.agents.get("harper")!.run = () => new Promise(() => {});
  const { running, team } = await setupChat(host, { turnTimeout: "200ms" });
  const { events } = await send(running, "ws_a", `${team}:harper`);
  expect(events).toMatchObject([{ event: "error", data: { error: { code: "timeout" } } }]);
  await expect.poll(() => host.agents.get("harper")!.cancelled).toHaveLength(1);
});

it("T005: a console has one user: one key registers an instance, attaches it and drives its chat, and without it nobody gets in", async () => {
  const host = await startHost(["harper"]);
  const key = "the-key-of-the-only-user-of-this-console";
  const { url } = await setupConsole(
    { allowedAddresses: ["127.0.0.1"], healthInterval: "1s" },
    { config: { auth: { apiKey: key } } },
  );
  const ask = (method: string, path: string, body?: object, bearer?: string): Promise<Response> =>
    fetch(`${url}/api/v1/${path}`, {
      method,
      headers: {
        "content-type": "application/json",
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  const made = await ask("POST", "pallas", { registry_url: host.url, name: "Kottos" }, key);
  const { id } = (await made.json()) as { id: string };
  await ask("POST", "workspaces", { id: "ws_a", name: "A" }, key);
  await ask("PUT", "workspaces/ws_a/teams", { teams: [id] }, key);
  const turn = { agent: `${id}:harper`, message: "tea" };
  const steps = [
    ["GET", "pallas"],
    ["POST", "pallas", { name: "Other" }],
    ["GET", "workspaces"],
    ["PUT", "workspaces/ws_a/teams", { teams: [] }],
    ["POST", "workspaces/ws_a/chat", turn],
  ] as const;
  for (const [method, path, body] of steps)
    expect((await ask(method, path, body)).status).toBe(401);
  const said = await (await ask("POST", "workspaces/ws_a/chat", turn, key)).text();
  expect(said).toContain("heard tea");
  // Nothing that it keeps belongs to one of several users.
  const list = (await (await ask("GET", "workspaces", undefined, key)).json()) as object;
  expect(list).toEqual({
    workspaces: [
      {
        id: "ws_a",
        name: "A",
        created_at: expect.any(String) as string,
        teams: [id],
        team_names: ["Kottos"],
      },
    ],
  });
});
