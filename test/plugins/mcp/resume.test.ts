import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type Call, GatewayError, Answer } from "propylon";
import { afterEach, expect, it, onTestFinished } from "vitest";
import { Journals } from "../../../plugins/mcp/message/journal.ts";
import type { HttpReply } from "../../../plugins/mcp/message/reply.ts";
import { Session } from "../../../plugins/mcp/session/session.ts";
import { deferred } from "../../kit/deferred.ts";
import { until } from "../../kit/until.ts";
import { FakeServer, openSession, serve, type Served } from "./kit.ts";

let served: Served | undefined;
afterEach(async () => {
  await served?.close();
  served = undefined;
});

/** A tool that reports one step, waits until it is let go, reports another, and answers. */
function steps() {
  const calls: Call[] = [];
  const ended: string[] = [];
  const { promise: free, resolve: go } = deferred();
  const server = new FakeServer("s").tool("steps", async (call) => {
    calls.push(call);
    call.progress?.({ progress: 1, message: "one" });
    await free;
    call.progress?.({ progress: 2, message: "two" });
    ended.push(call.signal.aborted ? "aborted" : "finished");
    return Answer.result({ content: [{ type: "text", text: "done" }] });
  });
  return { server, calls, ended, go };
}

const CALL = {
  jsonrpc: "2.0",
  id: 7,
  method: "tools/call",
  params: { name: "steps", arguments: {}, _meta: { progressToken: "p" } },
};

/** Reads events until one has the text; returns all that came. */
async function read(response: Response, wanted: string): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body!) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.includes(wanted)) return text;
  }
  return text;
}

async function breakOff(headers: Record<string, string>) {
  const abort = new AbortController();
  const response = await fetch(served!.url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(CALL),
    signal: abort.signal,
  });
  const text = await read(response, '"one"');
  abort.abort();
  return text;
}

const idsOf = (text: string): string[] => [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id!);

async function begin(tool: ReturnType<typeof steps>) {
  served = await serve([tool.server]);
  const session = await openSession(served.url);
  return { accept: "application/json, text/event-stream", ...session };
}

it("PT29: a dropped stream does not cancel a legacy call, and Last-Event-ID gives the rest of it", async () => {
  const tool = steps();
  const headers = await begin(tool);
  const first = await breakOff(headers);
  const [one] = idsOf(first);
  tool.go();
  await until(() => tool.ended.length > 0);
  expect(tool.ended).toEqual(["finished"]);
  const after = (id: string): Promise<string> =>
    fetch(served!.url, { headers: { ...headers, "last-event-id": id } }).then((response) =>
      response.text(),
    );
  const rest = await after(one!);
  expect(rest).not.toContain('"one"');
  expect(rest.indexOf('"two"')).toBeLessThan(rest.indexOf('"done"'));
  expect(await after(one!.replace(/\d+$/, "0"))).toContain('"one"');
});

it("a stream is resumed while the call runs, and goes on there", async () => {
  const tool = steps();
  const headers = await begin(tool);
  const [one] = idsOf(await breakOff(headers));
  const resumed = await fetch(served!.url, { headers: { ...headers, "last-event-id": one! } });
  tool.go();
  const text = await resumed.text();
  expect(text).toContain('"two"');
  expect(text).toContain('"done"');
  expect(text).not.toContain('"one"');
});

it("an official client gets its answer over a connection that was cut in the middle", async () => {
  const tool = steps();
  served = await serve([tool.server]);
  const sockets = new Set<Socket>();
  const proxy = createServer((socket) => {
    const server = connect(Number(served!.url.port), "127.0.0.1");
    sockets.add(socket.on("error", () => {}));
    server.on("error", () => {});
    socket.pipe(server).pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const { port } = proxy.address() as AddressInfo;
  const client = new Client({ name: "cut", version: "1" });
  onTestFinished(async () => {
    await client.close();
    proxy.close();
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)));
  const heard: unknown[] = [];
  const result = client.callTool({ name: "steps", arguments: {} }, undefined, {
    onprogress: ({ message }) => {
      heard.push(message);
      if (message !== "one") return;
      for (const socket of sockets) socket.destroy();
      tool.go();
    },
  });
  expect(await result).toMatchObject({ content: [{ text: "done" }] });
  expect(heard).toEqual(["one", "two"]);
  expect(tool.calls.length).toBe(1);
});

/** An official client, and how each GET of it was answered. */
async function connectSeen(): Promise<{ client: Client; seen: [string | null, number][] }> {
  const seen: [string | null, number][] = [];
  const client = new Client({ name: "seen", version: "1" });
  const transport = new StreamableHTTPClientTransport(served!.url, {
    reconnectionOptions: {
      initialReconnectionDelay: 10,
      maxReconnectionDelay: 10,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 20,
    },
    fetch: async (url, init) => {
      const answer = await fetch(url, init);
      const last = new Headers(init?.headers).get("last-event-id");
      if (init?.method === "GET") seen.push([last && last.replace(/^.*\./, "."), answer.status]);
      return answer;
    },
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  await until(() => seen.length === 1);
  return { client, seen };
}

it.each([
  ["an error", 2, () => Promise.reject(new GatewayError("unavailable", "It broke."))],
  ["no answer, since it is cancelled", 1, () => new Promise<never>(() => {})],
])(
  "an official client whose call ends with %s does not open the session's stream a second time",
  async (_end, last, run) => {
    const server = new FakeServer("s").tool("end", (call) => {
      call.progress?.({ progress: 1 });
      return run();
    });
    served = await serve([server]);
    const { client, seen } = await connectSeen();
    const abort = new AbortController();
    const ended = client.callTool({ name: "end", arguments: {} }, undefined, {
      signal: abort.signal,
      onprogress: () => void (last === 1 && abort.abort()),
    });
    await expect(ended).rejects.toThrow(/It broke|aborted/);
    await until(() => seen.length === 2);
    expect(seen).toEqual([
      [null, 200],
      [`.${last}`, 405],
    ]);
  },
);

it("T4: nobody else can resume a stream, and an unknown one is refused", async () => {
  const tool = steps();
  const headers = await begin(tool);
  const [one] = idsOf(await breakOff(headers));
  const other = { ...headers, ...(await openSession(served!.url)) };
  const status = (theirs: object, id: string): Promise<number> =>
    fetch(served!.url, { headers: { ...theirs, "last-event-id": id } as never }).then(
      (response) => response.status,
    );
  expect(await status(other, one!)).toBe(400);
  for (const id of ["zz.1", "nonsense", "0.".padEnd(200, "9")])
    expect([id, await status(headers, id)]).toEqual([id, 400]);
  tool.go();
});

it("a cancellation and the end of the session still end a call whose stream is gone", async () => {
  for (const end of ["cancel", "delete"]) {
    const tool = steps();
    const headers = await begin(tool);
    const [one] = idsOf(await breakOff(headers));
    const params = { requestId: 7 };
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params };
    const body = JSON.stringify(cancelled);
    const json = { ...headers, "content-type": "application/json" };
    if (end === "cancel") await fetch(served!.url, { method: "POST", headers: json, body });
    else await fetch(served!.url, { method: "DELETE", headers });
    expect([end, tool.calls[0]!.signal.aborted]).toEqual([end, true]);
    const resumed = await fetch(served!.url, { headers: { ...headers, "last-event-id": one! } });
    expect(resumed.status).toBe(end === "cancel" ? 405 : 404);
    tool.go();
    await served!.close();
  }
  served = undefined;
});

function journals() {
  const all = new Journals();
  const begun = (session: Session) => all.begin({} as HttpReply, session, 1);
  const session = (): Session => new Session("p", "2025-11-25", {});
  return { all, begun, session };
}

it("what is kept is bounded per session: the oldest events go, the answer stays", () => {
  const { all, begun, session } = journals();
  const one = session();
  const journal = begun(one);
  for (let count = 0; count < 5_000; count++) journal.add("x".repeat(1_000));
  journal.end(["the answer"]);
  expect(all.bytes).toBeLessThanOrEqual(1024 * 1024);
  expect(journal.after(4_999).map(({ pieces }) => pieces[0])).toEqual([
    "x".repeat(1_000),
    "the answer",
  ]);
  expect(journal.after(0).length).toBeLessThan(1_100);
  all.drop(one);
  expect(all.bytes).toBe(0);
  journal.add("late");
  expect(all.bytes).toBe(0);
});

it("an answer that is too large to be kept is an error in its place", () => {
  const { all, begun, session } = journals();
  const journal = begun(session());
  journal.end(["x".repeat(2 * 1024 * 1024)]);
  expect(all.bytes).toBeLessThan(1_000);
  expect(JSON.parse(String(journal.after(0)[0]!.pieces[0]))).toMatchObject({
    id: 1,
    error: { message: expect.stringContaining("too large") },
  });
});

it("what is kept is bounded over all sessions, and the number of streams of one", () => {
  const { all, begun, session } = journals();
  for (let count = 0; count < 200; count++) begun(session()).add("x".repeat(1_000_000));
  expect(all.bytes).toBeLessThanOrEqual(64 * 1024 * 1024);
  const one = session();
  const first = begun(one);
  for (let count = 0; count < 100; count++) begun(one);
  expect(one.resumable!.journals.size).toBe(100);
  expect(all.find(one, first.add("x"))).toBeUndefined();
});
