import { describe, expect, it } from "vitest";
import { createGateway, definePlugin, type GatewayHooks } from "../../../core/index.ts";
import { openResources, setupGateway } from "../../../core/testing/index.ts";
import { leakedResources } from "../../../core/testing/handles.ts";
import { deferred } from "../../kit/deferred.ts";

/** A tool that runs until it is let go, or for ever. */
function holder() {
  const { promise: inside, resolve: entered } = deferred();
  const { promise: held, resolve: release } = deferred();
  const plugin = definePlugin({
    name: "holder",
    setup(gateway) {
      gateway.tool("hold", {
        description: "",
        async run() {
          entered();
          await held;
          return "done";
        },
      });
    },
  });
  return { plugin, inside, release };
}

const ping = {
  method: "POST",
  headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
  body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
};

describe("a shutdown", () => {
  it("lets calls in flight finish, refuses new ones with 503, and leaves nothing open", async () => {
    const before = openResources();
    const { plugin, inside, release } = holder();
    const { gateway, client, url } = await setupGateway({ plugins: [plugin] });
    const heard: string[] = [];
    gateway.hook("gateway:drain", () => void heard.push("drain"));
    const call = client.callTool({ name: "hold" });
    await inside;
    const closed = gateway.close({ grace: 10_000 });
    const refused = await fetch(`${url}/mcp`, ping).catch((error: unknown) => error);
    expect(refused instanceof Response ? refused.status : 503).toBe(503);
    release();
    expect((await call).content).toEqual([{ type: "text", text: "done" }]);
    await closed;
    await client.close();
    expect(heard).toEqual(["drain"]);
    await expect(fetch(`${url}/mcp`, ping)).rejects.toThrow("fetch failed");
    expect(await leakedResources(before)).toEqual([]);
  });

  it("R057: lets clients read how their calls ended when the grace time is over, before it cuts them off", async () => {
    const { plugin, inside } = holder();
    const pad = "x".repeat(2_000_000);
    const face = definePlugin({
      name: "face",
      setup(gateway) {
        gateway.route("GET", "/hold", { access: "public", mutates: false }, async () => {
          const end = await gateway
            .call({ server: "holder", name: "hold" })
            .catch((error: unknown) => error);
          return `${(end as Error).message} ${pad}`;
        });
      },
    });
    const { gateway, url } = await setupGateway({ plugins: [plugin, face], client: false });
    const answer = fetch(`${url}/hold`).then((res) => res.text());
    await inside;
    await gateway.close({ grace: 0 });
    expect(await answer).toBe(`The gateway is shutting down. ${pad}`);
  });

  it("gives calls of a configuration that was replaced the grace time too, not the longer drain time", async () => {
    const { plugin, inside } = holder();
    const { gateway } = await setupGateway({ plugins: [plugin], client: false });
    const call = gateway.call({ server: "holder", name: "hold" }).catch((error: unknown) => error);
    await inside;
    await gateway.apply({
      listeners: { main: { port: 0 } },
      plugins: { holder: {} },
      timeouts: { drain: 60_000 },
    });
    await gateway.close({ grace: 10 });
    expect(await call).toMatchObject({ code: "cancelled" });
  });

  it("does not wait the drain time for a middleware that ignores its signal, nor for its listener", async () => {
    const disposed: string[] = [];
    const { promise: inside, resolve: entered } = deferred();
    const deaf = definePlugin({
      name: "deaf",
      setup(gateway) {
        gateway.tool("hear", { description: "", run: () => "never" });
        gateway.use("breaker", () => {
          entered();
          return new Promise(() => {});
        });
        gateway.onDispose(() => void disposed.push("deaf"));
      },
    });
    const { gateway, client } = await setupGateway({ plugins: [deaf] });
    const call = client.callTool({ name: "hear" }).catch((error: unknown) => error);
    await inside;
    const timeouts = { drain: "1h" };
    await gateway.apply({ listeners: { other: { port: 0 } }, plugins: {}, timeouts });
    const before = performance.now();
    await gateway.close({ grace: 10 });
    expect(performance.now() - before).toBeLessThan(5_000);
    expect(disposed).toEqual(["deaf"]);
    expect(await call).toBeInstanceOf(Error);
    await client.close();
  });

  it("aborts what outlasts the grace time", async () => {
    const { plugin, inside } = holder();
    const { gateway } = await setupGateway({ plugins: [plugin], client: false });
    const call = gateway.call({ server: "holder", name: "hold" }).catch((error: unknown) => error);
    await inside;
    await gateway.close({ grace: 10 });
    expect(await call).toMatchObject({
      code: "cancelled",
      message: "The gateway is shutting down.",
    });
  });

  it("runs every step, collects what fails, and may be asked for twice", async () => {
    const events: string[] = [];
    const failing = (name: string) =>
      definePlugin({
        name,
        setup(gateway) {
          gateway.keep(
            "k",
            () => 1,
            () => void events.push(`drop ${name}`),
          );
          gateway.onDispose(() => {
            events.push(`dispose ${name}`);
            throw new Error(name);
          });
        },
      });
    const plugins = { a: failing("a"), b: failing("b") };
    const gateway = await createGateway(
      { listeners: { main: { port: 0 } }, plugins: { a: {}, b: {} }, log: { level: "silent" } },
      { plugins },
    );
    await gateway.listen();
    const [one, two] = await Promise.allSettled([gateway.close(), gateway.close()]);
    expect(events).toEqual(["dispose b", "dispose a", "drop b", "drop a"]);
    expect(one).toMatchObject({
      status: "rejected",
      reason: { errors: [{ message: "b" }, { message: "a" }] },
    });
    expect(two).toEqual(one);
    await expect(gateway.apply({})).rejects.toMatchObject({ code: "draining" });
    await expect(gateway.listen()).rejects.toMatchObject({ code: "draining" });
  });

  it("undoes everything when the first config cannot be started", async () => {
    const events: string[] = [];
    const before = openResources();
    const bad = definePlugin({
      name: "bad",
      setup(gateway) {
        gateway.onStart(() => {
          const timer = setInterval(() => {}, 1_000);
          return () => {
            clearInterval(timer);
            events.push("stop");
          };
        });
        gateway.onStart(() => {
          throw new Error("second");
        });
      },
    });
    await expect(
      createGateway({ plugins: { bad: {} }, log: { level: "silent" } }, { plugins: { bad } }),
    ).rejects.toThrow('Plugin "bad" could not be started: second');
    expect(events).toEqual(["stop"]);
    expect(await leakedResources(before)).toEqual([]);
  });
});

describe("hooks", () => {
  it("observe only: a listener that throws or rejects is passed over", async () => {
    const heard: (keyof GatewayHooks)[] = [];
    const plugin = definePlugin({
      name: "listener",
      setup(gateway) {
        gateway.hook("gateway:ready", () => {
          throw new Error("no");
        });
        const late: () => unknown = async () => Promise.reject(new Error("no"));
        gateway.hook("gateway:ready", late);
        gateway.hook("gateway:ready", () => void heard.push("gateway:ready"));
        gateway.hook("gateway:drain", () => void heard.push("gateway:drain"));
      },
    });
    const { gateway } = await setupGateway({ plugins: [plugin], client: false });
    expect(heard).toEqual(["gateway:ready"]);
    const stop = gateway.hook("gateway:drain", () => void heard.push("gateway:drain"));
    stop();
    await gateway.close();
    expect(heard).toEqual(["gateway:ready", "gateway:drain"]);
  });
});
