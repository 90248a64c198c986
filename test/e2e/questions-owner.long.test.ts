import { randomUUID } from "node:crypto";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { createGateway, type Gateway } from "propylon";
import { createPrincipal, digestOf } from "propylon/kit";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { createKey } from "../../plugins/keys/key.ts";
import type { Era } from "../../core/kit/types.ts";
import { connectLegacy } from "../../plugins/conformance/mcp/client-legacy.ts";
import { connectModern } from "../../plugins/conformance/mcp/client-modern.ts";
import type { KitClient } from "../../plugins/conformance/mcp/client.ts";
import { until } from "../kit/until.ts";
import { textOf } from "./relay/features.ts";
import { personOf } from "./relay/person.ts";

const PROGRAM = fileURLToPath(new URL("../fixtures/upstreams/asker.mjs", import.meta.url));
const KEYS = { ada: createKey("caller"), bob: createKey("caller") };
const AUTH = {
  keys: Object.fromEntries(
    Object.entries(KEYS).map(([name, key]) => [
      name,
      { role: "caller" as const, hash: `sha256:${digestOf(key)}` },
    ]),
  ),
};
const CONNECT = { legacy: connectLegacy, modern: connectModern };

type Person = keyof typeof KEYS;

/** The ways in which a caller leaves its call behind, by what the server sees of it. */
const WAYS: Readonly<Record<string, { readonly eras: readonly Era[]; readonly gone: boolean }>> = {
  "was cancelled": { eras: ["legacy", "modern"], gone: true },
  "timed out": { eras: ["legacy"], gone: true },
  "was deleted with its session": { eras: ["legacy"], gone: true },
  "lost its client": { eras: ["legacy", "modern"], gone: false },
  "has its answer": { eras: ["legacy", "modern"], gone: false },
};
const ENDS = Object.entries(WAYS).flatMap(([way, { eras, gone }]) =>
  eras.map((era) => ({ way, era, gone })),
);
const SERVERS = ["old", "new"].flatMap((sdk) =>
  ["stdio", "http"].map((transport) => ({ sdk, transport })),
);

/** A gateway in front of one server process. */
async function startScene(sdk: string, transport: string) {
  const remote = transport === "http" ? await startRemote(sdk) : undefined;
  const place = remote
    ? { url: remote.url }
    : { command: process.execPath, args: [PROGRAM, sdk, transport] };
  const gateway = await createGateway(
    {
      listeners: { main: { port: 0 } },
      auth: AUTH,
      servers: { asker: { ...place, protocol: "legacy" } },
    },
    { log: pino({ level: "silent" }) },
  );
  await gateway.listen();
  await until(() => gateway.servers.get("asker")?.status.state === "ready");
  const close = async (): Promise<void> => {
    await gateway.close({ grace: 0 });
    remote?.stop();
  };
  return { gateway, close };
}

async function startRemote(sdk: string): Promise<{ url: string; stop(): void }> {
  const child = spawn(process.execPath, [PROGRAM, sdk, "http"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return { url: (JSON.parse(line) as { url: string }).url, stop: () => child.kill() };
}

async function connect(gateway: Gateway, era: Era, name: Person): Promise<KitClient> {
  const headers = { authorization: `Bearer ${KEYS[name]}` };
  const client = await CONNECT[era](gateway.endpoints[0]!.url, headers, personOf(name));
  onTestFinished(() => client.close());
  return client;
}

/** Over MCP only the server's entry has a timeout, and Bob's calls should have none. */
function callBriefly(gateway: Gateway, who: string): Promise<unknown> {
  const principal = createPrincipal({ id: "ada", kind: "key", roles: new Set(["caller"]) });
  return gateway.call({ server: "asker", name: "leave", args: { who }, principal, timeout: 1_000 });
}

/** Begins a call in the name of Ada and leaves it behind. */
async function leave(gateway: Gateway, ada: KitClient, bob: KitClient, way: string, who: string) {
  const begun = (): Promise<unknown> => bob.call("watch", { who, what: "begun" });
  if (way === "has its answer") return void (await ada.call("leave", { who, what: "answer" }));
  if (way === "timed out") return void (await callBriefly(gateway, who).catch(() => undefined));
  const abort = new AbortController();
  const call = ada.call("leave", { who }, { signal: abort.signal }).catch(() => undefined);
  await begun();
  if (way === "was cancelled") abort.abort();
  else await ada.close();
  await call;
}

describe.each(SERVERS)("a server of the $sdk SDK over $transport", ({ sdk, transport }) => {
  let shared: Awaited<ReturnType<typeof startScene>> | undefined;
  afterAll(() => shared?.close());

  /** Over HTTP the gateway learns whom a server asks; over stdio one does for all, and to start it is most of the work. */
  async function start(): Promise<Gateway> {
    const scene = shared ?? (await startScene(sdk, transport));
    if (transport === "stdio") shared = scene;
    else onTestFinished(scene.close);
    return scene.gateway;
  }

  it("asks the only principal that there is", async () => {
    const ada = await connect(await start(), "legacy", "ada");
    const outcome = textOf(await ada.call("ask", { who: "ada" }));
    expect(outcome).toBe("accept | assistant");
  });

  it.each(ENDS)(
    "T5: asks and talks to nobody else for a call that $way ($era client)",
    async ({ way, era, gone }) => {
      const gateway = await start();
      const who = randomUUID();
      const ada = await connect(gateway, era, "ada");
      const bob = await connect(gateway, era === "legacy" ? "modern" : "legacy", "bob");
      await leave(gateway, ada, bob, way, who);
      if (gone) await bob.call("watch", { who, what: "gone" });
      const outcome = textOf(await bob.call("ask", { who }));
      expect(bob.heard.about("asked")).toEqual([]);
      expect(bob.heard.about("log")).toEqual([]);
      expect(outcome).toMatch(/^refused: .*several clients.* \| refused: .*several clients/);
    },
  );
});

it("a server over HTTP that asked without saying whom has a session per principal from then on", async () => {
  const { gateway, close } = await startScene("old", "http");
  onTestFinished(close);
  const people = [await connect(gateway, "legacy", "ada"), await connect(gateway, "modern", "bob")];
  await people[0]!.call("leave", { who: "x", what: "answer" });
  expect(textOf(await people[1]!.call("ask", { who: "bob" }))).toContain("several clients");
  const asked = people.map((person, index) => person.call("ask", { who: ["ada", "bob"][index] }));
  expect((await Promise.all(asked)).map(textOf)).toEqual(Array(2).fill("accept | assistant"));
  expect(people.map(({ heard }) => [...new Set(heard.about("asked"))])).toEqual([
    ["for ada"],
    ["for bob"],
  ]);
});
