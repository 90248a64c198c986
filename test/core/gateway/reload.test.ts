import { Gauge } from "prom-client";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  definePlugin,
  defineService,
  GatewayError,
  type AnyPlugin,
  type GatewayConfigInput,
  type ReloadReport,
} from "../../../core/index.ts";
import { Metrics } from "../../../core/kit.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { deferred } from "../../kit/deferred.ts";

const LISTENERS = { main: { port: 0 } };
const configOf = (plugins: GatewayConfigInput["plugins"]): GatewayConfigInput => ({
  listeners: LISTENERS,
  plugins,
});

/** A plugin that writes down what happens to it. */
function recorder(name: string, events: string[], more: Partial<AnyPlugin> = {}): AnyPlugin {
  return definePlugin({
    name,
    config: z.strictObject({ level: z.number().default(0), fail: z.boolean().default(false) }),
    ...more,
    setup(gateway) {
      events.push(`setup ${name}`);
      gateway.onDispose(() => void events.push(`dispose ${name}`));
      gateway.onStart(() => {
        if ((gateway.config as { fail: boolean }).fail)
          throw new GatewayError("io_error", "the port is taken");
        events.push(`start ${name}`);
        return () => void events.push(`stop ${name}`);
      });
      return name;
    },
  }) as AnyPlugin;
}

/** A plugin whose calls never end. */
function hanging(entered: () => void): AnyPlugin {
  return definePlugin({
    name: "stuck",
    config: z.strictObject({ level: z.number().default(0) }),
    setup(gateway) {
      gateway.tool("hang", {
        description: "",
        run() {
          entered();
          return new Promise<string>(() => {});
        },
      });
    },
  }) as AnyPlugin;
}

describe("a reload", () => {
  it("leaves unchanged plugins alone and rebuilds changed ones with everything that injects them", async () => {
    const events: string[] = [];
    const Base = defineService<string>("base");
    const base = recorder("base", events, { provides: Base });
    const user = recorder("user", events, { inject: { base: Base } });
    const other = recorder("other", events);
    const { gateway } = await setupGateway({ plugins: [user, other, base] });
    expect(events).toEqual([
      "setup base",
      "setup other",
      "setup user",
      "start base",
      "start other",
      "start user",
    ]);
    events.length = 0;
    const report = await gateway.apply(configOf({ other: {}, user: {}, base: { level: 1 } }));
    expect(report.plugins).toEqual({
      added: [],
      removed: [],
      changed: ["base", "user"],
      unchanged: ["other"],
    });
    expect(events).toEqual([
      "setup base",
      "setup user",
      "start base",
      "start user",
      "stop user",
      "dispose user",
      "stop base",
      "dispose base",
    ]);
    expect(report.generation).toBe(2);
  });

  it("undoes a failed start in reverse, keeps serving, and says why", async () => {
    const events: string[] = [];
    const { gateway, client } = await setupGateway({
      plugins: [recorder("one", events), recorder("two", events), recorder("three", events)],
      config: { plugins: { tooled: {} } },
      resolvePlugin: () =>
        Promise.resolve(
          definePlugin({
            name: "tooled",
            setup: (g) => g.tool("ping", { description: "", run: () => "pong" }),
          }),
        ),
    });
    events.length = 0;
    const failures: GatewayError[] = [];
    gateway.hook("reload:failed", (error) => void failures.push(error));
    const before = gateway.describe();
    const failed = gateway.apply(
      configOf({ tooled: {}, one: { level: 1 }, three: { level: 1 }, two: { fail: true } }),
    );
    await expect(failed).rejects.toMatchObject({
      code: "reload_failed",
      message: expect.stringContaining(
        'Plugin "two" could not be started: the port is taken',
      ) as string,
    });
    expect(events).toEqual([
      "setup one",
      "setup three",
      "setup two",
      "start one",
      "start three",
      "dispose two",
      "stop three",
      "dispose three",
      "stop one",
      "dispose one",
    ]);
    expect(failures.map(({ code }) => code)).toEqual(["reload_failed"]);
    expect(failures[0]!.cause).toMatchObject({ code: "io_error" });
    expect(gateway.describe()).toEqual(before);
    expect((await client.callTool({ name: "ping" })).content).toEqual([
      { type: "text", text: "pong" },
    ]);
    await gateway.apply(configOf({ tooled: {}, one: {}, two: {}, three: {} }));
    expect(gateway.info.generation).toBe(2);
  });

  it("runs every cleanup even when another throws", async () => {
    const events: string[] = [];
    const messy = definePlugin({
      name: "messy",
      setup(gateway) {
        gateway.onDispose(() => void events.push("first registered"));
        gateway.onDispose(() => {
          throw new Error("no");
        });
        gateway.onDispose(() => Promise.reject(new Error("nor this")));
        gateway.onDispose(() => void events.push("last registered"));
      },
    });
    const { gateway } = await setupGateway({ plugins: [messy] });
    await gateway.apply(configOf({}));
    expect(events).toEqual(["last registered", "first registered"]);
  });

  it("gives up on a setup or start that takes too long, and closes what a late start opened", async () => {
    let open = 0;
    let finish: (() => void) | undefined;
    const slow = definePlugin({
      name: "slow",
      setup(gateway) {
        gateway.onStart(async () => {
          await new Promise<void>((resolve) => (finish = resolve));
          open++;
          return () => void open--;
        });
      },
    });
    const stuck = definePlugin({ name: "stuck", setup: () => new Promise<void>(() => {}) });
    const { gateway } = await setupGateway({
      resolvePlugin: (key) => Promise.resolve(key === "slow" ? slow : stuck),
    });
    const timeouts = { setup: "20ms" };
    await expect(gateway.apply({ ...configOf({ stuck: {} }), timeouts })).rejects.toThrow(
      'Plugin "stuck" could not be set up: setup took longer than 20 ms.',
    );
    await expect(gateway.apply({ ...configOf({ slow: {} }), timeouts })).rejects.toThrow(
      'Plugin "slow" could not be started: start took longer than 20 ms.',
    );
    finish!();
    await new Promise((resolve) => setImmediate(resolve));
    expect(open).toBe(0);
  });

  it("a start of the gateway has more time for what plugins read", async () => {
    const slow = definePlugin({
      name: "slow",
      setup: (gateway) => gateway.onStart(() => new Promise<void>(() => {})),
    });
    await expect(
      setupGateway({ plugins: [slow], config: { timeouts: { setup: "20ms" } }, client: false }),
    ).rejects.toThrow('Plugin "slow" could not be started: start took longer than 120 ms.');
  });

  it("waits for calls in flight before it disposes what they use", async () => {
    const events: string[] = [];
    const { promise: inside, resolve: entered } = deferred();
    const { promise: held, resolve: release } = deferred();
    const { promise: gone, resolve: disposed } = deferred();
    const slow = definePlugin({
      name: "slow",
      config: z.strictObject({ level: z.number().default(0) }),
      setup(gateway) {
        gateway.onDispose(() => {
          events.push(`dispose ${gateway.config.level}`);
          disposed();
        });
        gateway.tool("wait", {
          description: "",
          async run() {
            entered();
            await held;
            events.push(`answer ${gateway.config.level}`);
            return "done";
          },
        });
      },
    });
    const { gateway, client } = await setupGateway({ plugins: [slow] });
    const call = client.callTool({ name: "wait" });
    await inside;
    await gateway.apply(configOf({ slow: { level: 1 } }));
    expect(events).toEqual([]);
    release();
    expect((await call).content).toEqual([{ type: "text", text: "done" }]);
    await gone;
    expect(events).toEqual(["answer 0", "dispose 0"]);
  });

  it("aborts calls that outlast the drain time", async () => {
    const { promise: inside, resolve: entered } = deferred();
    const stuck = hanging(() => entered());
    const { gateway } = await setupGateway({ plugins: [stuck] });
    const call = gateway.call({ server: "stuck", name: "hang" });
    await inside;
    await gateway.apply({ ...configOf({ stuck: { level: 1 } }), timeouts: { drain: "10ms" } });
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
  });

  it("gives each old configuration its own drain time, however long one before may take", async () => {
    const entered: (() => void)[] = [];
    const stuck = hanging(() => entered.shift()!());
    const { gateway } = await setupGateway({ plugins: [stuck] });
    const hang = async (): Promise<{ call: Promise<unknown> }> => {
      const inside = new Promise<void>((resolve) => void entered.push(resolve));
      const call = gateway.call({ server: "stuck", name: "hang" });
      await inside;
      return { call };
    };
    const times = (drain: string): GatewayConfigInput["timeouts"] => ({ drain, grace: "10ms" });
    const first = await hang();
    await gateway.apply({ ...configOf({ stuck: { level: 1 } }), timeouts: times("10m") });
    const second = await hang();
    await gateway.apply({ ...configOf({ stuck: { level: 2 } }), timeouts: times("10ms") });
    await expect(second.call).rejects.toMatchObject({ code: "cancelled" });
    const [ended] = await Promise.allSettled([first.call, gateway.close()]);
    expect(ended).toMatchObject({ status: "rejected", reason: { code: "cancelled" } });
  });

  it("applies one config at a time, in the order asked", async () => {
    const { gateway } = await setupGateway({ plugins: [recorder("one", [])] });
    const reports: ReloadReport[] = [];
    gateway.hook("reload:done", (report) => void reports.push(report));
    const applied = await Promise.all(
      [1, 2, 3, 4].map((level) => gateway.apply(configOf({ one: { level } }))),
    );
    expect(applied.map(({ generation }) => generation)).toEqual([2, 3, 4, 5]);
    expect(reports).toEqual(applied);
    expect(gateway.config.plugins["one"]).toEqual({ level: 4 });
  });

  it("keeps a value through reloads, failed ones too, and drops it with the plugin", async () => {
    const made: string[] = [];
    const keeper = definePlugin({
      name: "keeper",
      config: z.strictObject({ level: z.number().default(0), fail: z.boolean().default(false) }),
      setup(gateway) {
        const { level, fail } = gateway.config;
        const keep = (key: string) =>
          gateway.keep(
            key,
            () => (made.push(`make ${key}`), key),
            (value) => void made.push(`drop ${value}`),
          );
        keep("always");
        if (level > 0) keep("later");
        if (fail) throw new Error("on purpose");
      },
    });
    const { gateway } = await setupGateway({ plugins: [keeper] });
    await expect(gateway.apply(configOf({ keeper: { level: 1, fail: true } }))).rejects.toThrow(
      "on purpose",
    );
    expect(made).toEqual(["make always", "make later", "drop later"]);
    await gateway.apply(configOf({ keeper: { level: 1 } }));
    await gateway.apply(configOf({ keeper: { level: 2 } }));
    expect(made.slice(3)).toEqual(["make later"]);
    await gateway.apply(configOf({ keeper: false }));
    expect(made.slice(4)).toEqual(["drop later", "drop always"]);
    await gateway.apply(configOf({ keeper: {} }));
    expect(made.slice(6)).toEqual(["make always"]);
    await gateway.close();
    expect(made.slice(7)).toEqual(["drop always"]);
  });

  it("may be asked for from inside a call", async () => {
    const admin = definePlugin({
      name: "admin",
      config: z.strictObject({ level: z.number().default(0) }),
      setup(gateway) {
        gateway.tool("reload", {
          description: "",
          run: async () => String((await reload()).generation),
          timeout: 5_000,
        });
        void gateway;
      },
    });
    const { gateway } = await setupGateway({ plugins: [admin] });
    const reload = () => gateway.apply(configOf({ admin: { level: 1 } }));
    const answer = await gateway.call({ server: "admin", name: "reload" });
    expect(answer.result).toMatchObject({ content: [{ text: "2" }] });
  });

  it("opens a new port before it closes the old one, and names what needs a restart", async () => {
    const plugin = definePlugin({
      name: "web",
      setup: (g) => g.route("GET", "/hi", { access: "public", mutates: false }, () => "hi"),
    });
    const { gateway, url } = await setupGateway({ plugins: [plugin] });
    const more = { ...configOf({ web: {} }), listeners: { ...LISTENERS, extra: { port: 0 } } };
    await gateway.apply(more);
    const extra = gateway.addresses.get("extra")!;
    expect(gateway.addresses.get("main")!.url).toBe(url);
    expect((await fetch(`${url}/hi`)).status).toBe(200);
    expect((await fetch(`${extra.url}/hi`)).status).toBe(404);
    const report = await gateway.apply({
      ...configOf({ web: {} }),
      listeners: { main: { port: 0, allowedHosts: ["x.example"] } },
      log: { level: "error" },
    });
    expect(report.restartRequired).toEqual(["listeners.main", "log"]);
    expect([...gateway.addresses.keys()]).toEqual(["main"]);
    // Who had connected before is still answered.
    const extraAnswer = (): Promise<unknown> =>
      fetch(`${extra.url}/hi`).then(({ status }) => status, String);
    await expect.poll(extraAnswer).toBe("TypeError: fetch failed");
    expect((await fetch(`${url}/hi`)).status).toBe(200);
  });

  it("drops the metrics of a scope with the scope", async () => {
    const counted = definePlugin({
      name: "counted",
      config: z.strictObject({ level: z.number().default(0) }),
      inject: { metrics: Metrics },
      setup({ config, services }) {
        const registers = [services.metrics];
        new Gauge({ name: "counted_level", help: "Level.", registers }).set(config.level);
      },
    });
    const { gateway } = await setupGateway({ plugins: [counted] });
    expect(await (await gateway.manage()).metrics()).toContain("counted_level 0");
    await gateway.apply(configOf({ counted: { level: 5 } }));
    expect(await (await gateway.manage()).metrics()).toContain("counted_level 5");
    await gateway.apply(configOf({}));
    expect(await (await gateway.manage()).metrics()).not.toContain("counted_level");
  });
});
