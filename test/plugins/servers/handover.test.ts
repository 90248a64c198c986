import { expect, it } from "vitest";
import { fakeUpstream, setupGateway } from "../../../core/testing/index.ts";
import { deferred } from "../../kit/deferred.ts";
import { rpc, serveHttp } from "./support/servers.ts";
import { closing } from "./support/use.ts";

const use = closing();

/** A server that answers "new" to every call, and nothing at all before it is let. */
async function serveLate() {
  const { promise: gate, resolve: open } = deferred();
  const server = use(
    await serveHttp(async (req, res, body) => {
      if (req.method !== "POST") return void res.writeHead(405).end();
      await gate;
      const complete = { resultType: "complete" };
      if (body.method === "server/discover")
        return rpc(res, body.id, {
          supportedVersions: ["2026-07-28"],
          capabilities: { tools: {} },
          ...complete,
        });
      if (body.method === "tools/list") {
        const tools = ["who", "more"].map((name) => ({ name, inputSchema: { type: "object" } }));
        return rpc(res, body.id, { tools, ...complete });
      }
      rpc(res, body.id, { content: [{ type: "text", text: "new" }], ...complete });
    }),
  );
  return { url: server.url, open };
}

async function start() {
  const old = await fakeUpstream({ who: () => "old" });
  const { gateway, client, url } = await setupGateway({
    config: { servers: { house: { url: old.url, ping: 0 } } },
  });
  await expect.poll(() => gateway.servers.get("house")!.status.state).toBe("ready");
  const who = async (): Promise<unknown> => {
    const { result } = await gateway.call({ server: "house", name: "who" });
    return (result as { content: { text: string }[] }).content[0]!.text;
  };
  const apply = (server: object) =>
    gateway.apply({ ...gateway.written, servers: { house: server } as never });
  return { old, gateway, client, url, who, apply };
}

it("the old server answers without a wait until the changed one is ready, and that from then on", async () => {
  const { gateway, client, who, apply } = await start();
  const late = await serveLate();
  const report = await apply({ url: late.url, protocol: "modern" });
  expect(report.servers.changed).toEqual(["house"]);
  expect([await who(), await who()]).toEqual(["old", "old"]);
  expect(gateway.servers.get("house")!.status.state).toBe("ready");
  const names = async () => (await client.listTools()).tools.map(({ name }) => name);
  expect(await names()).toEqual(["who"]);
  late.open();
  await expect.poll(names).toEqual(["who", "more"]);
  expect(await who()).toBe("new");
});

it("a changed entry that does not work takes nothing away, says so, and takes over once it works", async () => {
  const { gateway, who, apply } = await start();
  const next = await fakeUpstream({ who: () => "new" });
  await next.stop();
  await apply({ url: next.url, backoff: { initial: "50ms", max: "100ms" } });
  const { servers } = gateway;
  await expect.poll(() => servers.get("house")!.status.state).toBe("degraded");
  expect(servers.get("house")!.status.reason).toMatch(
    /The changed entry does not work: .*The previous one serves on\./,
  );
  expect(await who()).toBe("old");
  await next.start();
  await expect.poll(who).toBe("new");
  await expect.poll(() => servers.get("house")!.status.state).toBe("ready");
});

it("a broken command takes nothing away either, and can be taken back", async () => {
  const { old, gateway, who, apply } = await start();
  await apply({ command: "no-such-command-here" });
  await expect.poll(() => gateway.servers.get("house")!.status.state).toBe("degraded");
  expect(await who()).toBe("old");
  await apply({ url: old.url, timeout: 5 });
  await expect.poll(() => gateway.servers.get("house")!.status.state).toBe("ready");
  expect(await who()).toBe("old");
  await gateway.close();
});

it("an old server that goes away meanwhile leaves its place to the changed one", async () => {
  const { old, gateway, who, apply } = await start();
  const late = await serveLate();
  await apply({ url: late.url, protocol: "modern" });
  await old.stop();
  late.open();
  await expect.poll(() => who().catch(() => "none")).toBe("new");
  await gateway.close();
});

it("a call in flight on the old server has its answer although the changed one took over", async () => {
  let finish = (): void => {};
  let isRunning = false;
  const slow = await fakeUpstream({
    who: async () => {
      isRunning = true;
      await new Promise<void>((resolve) => (finish = resolve));
      return "old";
    },
  });
  const { gateway } = await setupGateway({
    config: { servers: { house: { url: slow.url } } },
    client: false,
  });
  await expect.poll(() => gateway.servers.get("house")!.status.state).toBe("ready");
  const call = gateway.call({ server: "house", name: "who" });
  await expect.poll(() => isRunning).toBe(true);
  const next = await fakeUpstream({ who: () => "new", more: () => "" });
  await gateway.apply({ ...gateway.written, servers: { house: { url: next.url } } });
  await expect.poll(() => gateway.servers.get("house")!.catalogue.tools.length).toBe(2);
  const again = await gateway.call({ server: "house", name: "who" });
  expect(JSON.stringify(again.result)).toContain("new");
  finish();
  expect(JSON.stringify((await call).result)).toContain("old");
});
