import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { createGateway, type Gateway } from "propylon";
import { digestOf } from "propylon/kit";
import { expect, it, onTestFinished } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import { connectClient, connectModernClient, setupGateway } from "../../../core/testing/index.ts";
import { isAlive } from "../../fixtures/processes.ts";
import { makeFolder } from "../../kit/folder.ts";
import { until } from "../../kit/until.ts";

const PROGRAM = fileURLToPath(new URL("../../fixtures/upstreams/notes.mjs", import.meta.url));
const KEYS = { alice: createKey("caller"), bob: createKey("caller") };
const AUTH = {
  keys: Object.fromEntries(
    Object.entries(KEYS).map(([name, key]) => [
      name,
      { role: "caller" as const, hash: `sha256:${digestOf(key)}` },
    ]),
  ),
};
const TRANSPORTS = ["stdio", "http"] as const;

type Who = keyof typeof KEYS;

async function placeOf(transport: "stdio" | "http"): Promise<object> {
  if (transport === "stdio") return { command: process.execPath, args: [PROGRAM, "stdio"] };
  const child = spawn(process.execPath, [PROGRAM, "http"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill());
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return { url: (JSON.parse(line) as { url: string }).url };
}

async function startNotes(transport: "stdio" | "http", options: object): Promise<Gateway> {
  const place = await placeOf(transport);
  const { gateway } = await setupGateway({
    config: { auth: AUTH, servers: { notes: { ...place, ...options } as never } },
    client: false,
  });
  await until(() => gateway.servers.get("notes")?.status.state === "ready");
  return gateway;
}

async function connect(gateway: Gateway, who: Who, capabilities = {}): Promise<Client> {
  const headers = { authorization: `Bearer ${KEYS[who]}` };
  const client = await connectClient(gateway.endpoints[0]!.url, { headers, capabilities });
  onTestFinished(() => client.close());
  return client;
}

async function ask(client: Pick<Client, "callTool">, name: string, args = {}): Promise<string> {
  const { content } = await client.callTool({ name, arguments: args });
  return (content as { text: string }[])[0]!.text;
}

it.each(
  TRANSPORTS.flatMap(
    (transport) =>
      [
        [transport, "shared", "of alice"],
        [transport, "principal", "nothing"],
        [transport, "session", "nothing"],
      ] as const,
  ),
)(
  "mcp-08: over %s with connection: %s, another key reads %s",
  async (transport, connection, read) => {
    const gateway = await startNotes(transport, { connection });
    const [alice, bob] = await Promise.all([connect(gateway, "alice"), connect(gateway, "bob")]);
    await ask(alice, "set", { note: "of alice" });
    expect(await ask(bob, "get")).toBe(read);
    expect(await ask(alice, "get")).toBe("of alice");
    const second = await connect(gateway, "alice");
    expect(await ask(second, "get")).toBe(connection === "session" ? "nothing" : "of alice");
  },
);

it("mcp-08: a session's child ends with the session, and that of another stays", async () => {
  const gateway = await startNotes("stdio", { connection: "session" });
  const [one, two] = [await connect(gateway, "alice"), await connect(gateway, "alice")];
  const [first, second] = [Number(await ask(one, "pid")), Number(await ask(two, "pid"))];
  const shared = gateway.servers.get("notes")!.status.pid!;
  expect(new Set([first, second, shared]).size).toBe(3);
  await (one.transport as { terminateSession?(): Promise<void> }).terminateSession!();
  await until(() => !isAlive(first));
  expect([isAlive(second), isAlive(shared)]).toEqual([true, true]);
});

it("mcp-08: a session at an HTTP server ends there with the client's", async () => {
  const gateway = await startNotes("http", { connection: "session" });
  const [one, two] = [await connect(gateway, "alice"), await connect(gateway, "bob")];
  await ask(one, "get");
  const open = Number(await ask(two, "open"));
  await (one.transport as { terminateSession?(): Promise<void> }).terminateSession!();
  expect(await until(async () => Number(await ask(two, "open")) === open - 1)).toBe(true);
});

it("mcp-08: calls without a session share that of their principal", async () => {
  const gateway = await startNotes("stdio", { connection: "session" });
  const headers = { authorization: `Bearer ${KEYS.alice}` };
  const modern = await connectModernClient(gateway.endpoints[0]!.url, { headers });
  onTestFinished(() => modern.close());
  await ask(modern as never, "set", { note: "modern" });
  expect(await ask(modern as never, "get")).toBe("modern");
  expect(await ask(await connect(gateway, "alice"), "get")).toBe("nothing");
  const other = await connectModernClient(gateway.endpoints[0]!.url, {
    headers: { authorization: `Bearer ${KEYS.bob}` },
  });
  onTestFinished(() => other.close());
  expect(await ask(other as never, "get")).toBe("nothing");
});

it("mcp-08: who is evicted loses the connection, and nobody else", async () => {
  const gateway = await startNotes("stdio", { connection: "principal" });
  const [alice, bob] = [await connect(gateway, "alice"), await connect(gateway, "bob")];
  const [hers, his] = [Number(await ask(alice, "pid")), Number(await ask(bob, "pid"))];
  // Of another kind, with the same id.
  gateway.evict(({ ref }) => ref === "user:bob", "Test.");
  gateway.evict(({ ref }) => ref === "key:bob", "Test.");
  await until(() => !isAlive(his));
  expect(await ask(alice, "pid")).toBe(String(hers));
});

it("mcp-08: a reload keeps them, and ends that of a key that is gone", async () => {
  const folder = makeFolder();
  const file = join(folder, "gateway.json");
  const servers = { notes: { ...(await placeOf("stdio")), connection: "principal" } };
  const write = (config: object): void =>
    writeFileSync(file, JSON.stringify({ listeners: { main: { port: 0 } }, servers, ...config }));
  write({ auth: AUTH });
  const { gateway } = await setupGateway({ file, client: false });
  await until(() => gateway.servers.get("notes")?.status.state === "ready");
  const [alice, bob] = [await connect(gateway, "alice"), await connect(gateway, "bob")];
  await ask(alice, "set", { note: "kept" });
  const his = Number(await ask(bob, "pid"));
  write({ auth: { keys: { alice: AUTH.keys["alice"] } }, timeouts: { default: "7s" } });
  await (await gateway.manage()).reload();
  expect(await ask(alice, "get")).toBe("kept");
  await until(() => !isAlive(his));
});

it.each(TRANSPORTS)(
  "mcp-08: progress, cancellation, questions, updates and lists work over %s",
  async (transport) => {
    const gateway = await startNotes(transport, { connection: "principal" });
    const [alice, bob] = await Promise.all(
      (["alice", "bob"] as const).map((who) => connect(gateway, who, { elicitation: {} })),
    );
    const updates: string[] = [];
    for (const [who, client] of [
      ["alice", alice!],
      ["bob", bob!],
    ] as const) {
      client.setRequestHandler(ElicitRequestSchema, () => ({
        action: "accept" as const,
        content: { name: who },
      }));
      client.setNotificationHandler(
        ResourceUpdatedNotificationSchema,
        () => void updates.push(who),
      );
    }
    expect(await Promise.all([ask(alice!, "ask"), ask(bob!, "ask")])).toEqual(["alice", "bob"]);
    const abort = new AbortController();
    const waiting = alice!.callTool({ name: "wait" }, undefined, {
      signal: abort.signal,
      onprogress: () => abort.abort(),
    });
    await expect(waiting).rejects.toThrow("abort");
    await until(async () => (await ask(alice!, "get")) === "cancelled");
    expect(await ask(bob!, "get")).toBe("nothing");
    await Promise.all([alice, bob].map((each) => each!.subscribeResource({ uri: "note://mine" })));
    await ask(alice!, "set", { note: "new" });
    await until(() => updates.length > 0);
    await ask(bob!, "set", { note: "newer" });
    await until(() => updates.length > 1);
    expect(updates).toEqual(["alice", "bob"]);
    const read = await alice!.readResource({ uri: "note://mine" });
    expect(read.contents[0]).toMatchObject({ text: "new" });
    const before = gateway.servers.get("notes")!.catalogue;
    await ask(alice!, "grow");
    await ask(alice!, "get");
    expect(gateway.servers.get("notes")!.catalogue).toBe(before);
  },
);

it("mcp-08: there are no more than asked for; whoever comes beyond is told which option", async () => {
  const gateway = await startNotes("stdio", { connection: { per: "principal", max: 1 } });
  const [alice, bob] = [await connect(gateway, "alice"), await connect(gateway, "bob")];
  const hers = Number(await ask(alice, "pid"));
  const abort = new AbortController();
  const begun = new Promise<void>((resolve) => {
    alice
      .callTool({ name: "wait" }, undefined, { signal: abort.signal, onprogress: () => resolve() })
      .catch(() => {});
  });
  await begun;
  await expect(bob.callTool({ name: "get" })).rejects.toMatchObject({
    message: expect.stringContaining('Too many people use the server "notes" at once.'),
    data: { hint: expect.stringContaining("servers.notes.connection.max") },
  });
  abort.abort();
  const his = Number(await until(() => ask(bob, "pid").catch(() => undefined)));
  expect(his).not.toBe(hers);
  await until(() => !isAlive(hers));
});

it("mcp-08: one key cannot have all connections by opening sessions", async () => {
  const gateway = await startNotes("stdio", { connection: { per: "session", max: 4 } });
  const bob = await connect(gateway, "bob");
  await ask(bob, "set", { note: "of bob" });
  const pids: number[] = [];
  for (let count = 0; count < 5; count++)
    pids.push(Number(await ask(await connect(gateway, "alice"), "pid")));
  await until(() => pids.filter(isAlive).length === 1);
  expect(await ask(bob, "get")).toBe("of bob");
});

it("mcp-08: a child of one caller that hangs is found, and replaced", async () => {
  const gateway = await startNotes("stdio", { connection: "principal", ping: "100ms" });
  const alice = await connect(gateway, "alice");
  const pid = Number(await ask(alice, "pid"));
  process.kill(pid, "SIGSTOP");
  await until(() => !isAlive(pid));
  expect(Number(await ask(alice, "pid"))).not.toBe(pid);
});

it("mcp-08: an idle one ends", async () => {
  const gateway = await startNotes("stdio", { connection: { per: "principal", idle: "1s" } });
  const alice = await connect(gateway, "alice");
  const pid = Number(await ask(alice, "pid"));
  expect(await until(() => !isAlive(pid))).toBe(true);
});

it("mcp-08: a word that is none of the three is refused with its place", async () => {
  const servers = { notes: { command: "node", connection: "client" as never } };
  await expect(createGateway({ servers })).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("servers.notes.connection"),
  });
});
