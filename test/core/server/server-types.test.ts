import { ServerTypes, Management } from "propylon/kit";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ConfigFile } from "../../../core/file/config-file.ts";
import { loadConfig } from "../../../core/file/load.ts";
import {
  Answer,
  createGateway,
  definePlugin,
  GatewayError,
  type AnyPlugin,
  type Catalogue,
  type GatewayConfigInput,
  type Json,
  type ServerStatus,
} from "../../../core/index.ts";
import type { ManagedServer, ServerEvent } from "../../../core/kit.ts";
import { EMPTY_CATALOGUE } from "../../../core/internal.ts";
import { issuesOf, issueText } from "../../../core/config/issue.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { makeFolder } from "../../kit/folder.ts";
import { propylon } from "../cli/propylon.ts";

/** A server that writes down its life and says its greeting. */
class Greeter implements ManagedServer {
  readonly name: string;
  readonly greeting: string;
  readonly #events: string[];
  readonly #listeners = new Set<(event: ServerEvent) => void>();
  catalogue: Catalogue;
  status: ServerStatus = { state: "idle", since: "", attempts: 0, transport: "greeter" };
  release = (): void => {};

  constructor(name: string, greeting: string, events: string[], before: Catalogue | undefined) {
    this.name = name;
    this.greeting = greeting;
    this.#events = events;
    this.catalogue = before ?? EMPTY_CATALOGUE;
    events.push(`create ${greeting}`);
  }

  start(): void {
    this.#events.push(`start ${this.greeting}`);
    const tools = [{ name: `say-${this.greeting}`, inputSchema: { type: "object" } }];
    this.catalogue = { ...EMPTY_CATALOGUE, tools, hash: this.greeting };
    this.status = { ...this.status, state: "ready" };
    this.emit({ type: "state", status: this.status });
    this.emit({ type: "changed", lists: ["tools"] });
  }

  async request({ args }: { args: Json | undefined }): Promise<Answer> {
    if (args?.["slow"] === true) {
      this.#events.push(`called ${this.greeting}`);
      await new Promise<void>((resolve) => (this.release = resolve));
    }
    return Answer.result({ content: [{ type: "text", text: this.greeting }] });
  }

  close(): Promise<void> {
    this.#events.push(`close ${this.greeting}`);
    this.status = { ...this.status, state: "closed" };
    return Promise.resolve();
  }

  reconnect(): Promise<void> {
    this.#events.push(`reconnect ${this.greeting}`);
    return Promise.resolve();
  }

  emit(event: ServerEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  on(listener: (event: ServerEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async subscribe(): Promise<void> {}
  async unsubscribe(): Promise<void> {}
  setLogLevel(): void {}
  rootsChanged(): void {}
}

/** Every greeter that was made; the gateway shows them behind a wrapper of its own. */
const made: Greeter[] = [];

/** A plugin that brings the type `greeter`. */
function greeterPlugin(events: string[], type = "greeter", name = "greeters"): AnyPlugin {
  return definePlugin({
    name,
    config: z.strictObject({ fail: z.boolean().default(false), mark: z.number().default(0) }),
    serverTypes: {
      [type]: z.strictObject({
        greeting: z.string().describe("What it says."),
        loud: z.boolean().default(false),
      }),
    },
    setup(gateway) {
      gateway.add(ServerTypes, {
        type,
        create: (server, { greeting }: { greeting: string }, before) => {
          if (greeting === "never") throw new GatewayError("invalid", "it never greets");
          const greeter = new Greeter(server, greeting, events, before);
          made.push(greeter);
          return greeter;
        },
      });
      gateway.onStart(() => {
        if (gateway.config.fail) throw new GatewayError("io_error", "no port");
        events.push(`plugin started`);
      });
      gateway.onDispose(() => void events.push("plugin disposed"));
    },
  }) as AnyPlugin;
}

const configOf = (servers: Json, options: Json = {}): GatewayConfigInput => ({
  listeners: { main: { port: 0 } },
  plugins: { greeters: options },
  servers: servers as NonNullable<GatewayConfigInput["servers"]>,
});

describe("an entry of servers with a plugin's type", () => {
  it("is a server like any other: listed, called, prefixed, reconnected, heard by hooks", async () => {
    const events: string[] = [];
    const told: string[] = [];
    const hooked = definePlugin({
      name: "hooked",
      inject: { management: Management },
      setup(gateway) {
        gateway.hook("server:state", (name, { state }) => void told.push(`${name} ${state}`));
        gateway.tool("again", {
          description: "Reconnects.",
          run: async () => (await gateway.services.management.reconnect("hi")).state,
        });
      },
    });
    const { gateway, client } = await setupGateway({
      plugins: [greeterPlugin(events), hooked],
      config: {
        servers: { hi: { type: "greeter", greeting: "hi", prefix: "pre" } },
        endpoints: { mcp: { naming: "server" } },
      },
    });
    expect(events).toEqual(["create hi", "plugin started", "start hi"]);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("pre__say-hi");
    expect(await client.callTool({ name: "pre__say-hi" })).toMatchObject({
      content: [{ text: "hi" }],
    });
    expect(gateway.describe().servers[0]).toMatchObject({
      name: "hi",
      tools: 1,
      status: { transport: "greeter" },
    });
    (gateway.servers.get("hi") as ManagedServer).start();
    expect(told).toEqual(["hi ready"]);
    expect(await client.callTool({ name: "hooked__again" })).toMatchObject({
      content: [{ text: "ready" }],
    });
    expect(events.at(-1)).toBe("reconnect hi");
    await gateway.close();
    expect(events.indexOf("close hi")).toBeGreaterThan(0);
    expect(events.indexOf("close hi")).toBeLessThan(events.indexOf("plugin disposed"));
  });

  it("is kept by a reload while it is the same, replaced when it or its plugin changes, in config order", async () => {
    const events: string[] = [];
    const servers = {
      a: { type: "greeter", greeting: "a" },
      b: { type: "greeter", greeting: "b" },
    };
    const { gateway } = await setupGateway({
      plugins: [greeterPlugin(events)],
      config: configOf(servers),
    });
    const [a, b] = [gateway.servers.get("a"), gateway.servers.get("b")];
    events.length = 0;
    const second = await gateway.apply(
      configOf({
        c: { type: "greeter", greeting: "c" },
        b: { type: "greeter", greeting: "b2" },
        a: servers.a,
      }),
    );
    expect(second.servers).toEqual({ added: ["c"], removed: [], changed: ["b"], unchanged: ["a"] });
    expect([...gateway.servers.keys()]).toEqual(["c", "b", "a"]);
    expect(gateway.servers.get("a")).toBe(a);
    expect(gateway.servers.get("b")).not.toBe(b);
    expect(events).toEqual(["create c", "create b2", "start c", "start b2", "close b"]);
    events.length = 0;
    const third = await gateway.apply(configOf({ a: servers.a }, { mark: 1 }));
    expect(third.servers).toEqual({
      added: [],
      removed: ["b", "c"],
      changed: ["a"],
      unchanged: [],
    });
    expect(gateway.servers.get("a")).not.toBe(a);
    expect(events.indexOf("start a")).toBeGreaterThan(events.indexOf("plugin started"));
    expect(events.lastIndexOf("close a")).toBeLessThan(events.indexOf("plugin disposed"));
    const off = await gateway.apply(configOf({ a: { ...servers.a, enabled: false } }, { mark: 1 }));
    expect(off.servers.removed).toEqual(["a"]);
  });

  it("is taken back with a failed reload, and the old one serves on", async () => {
    const events: string[] = [];
    const { gateway } = await setupGateway({
      plugins: [greeterPlugin(events)],
      config: configOf({ a: { type: "greeter", greeting: "a" } }),
    });
    const old = gateway.servers.get("a");
    events.length = 0;
    await expect(
      gateway.apply(configOf({ a: { type: "greeter", greeting: "b" } }, { fail: true })),
    ).rejects.toMatchObject({ code: "reload_failed" });
    expect(events).toEqual(["create b", "close b", "plugin disposed"]);
    expect(gateway.servers.get("a")).toBe(old);
    await expect(
      gateway.apply(configOf({ a: { type: "greeter", greeting: "never" } })),
    ).rejects.toThrow(/Plugin "greeters" could not make the server "a": it never greets/);
    expect(gateway.servers.get("a")).toBe(old);
  });

  it("finishes its calls before it is closed", async () => {
    const events: string[] = [];
    const { gateway } = await setupGateway({
      plugins: [greeterPlugin(events)],
      config: configOf({ a: { type: "greeter", greeting: "a" } }),
    });
    const old = made.at(-1)!;
    const call = gateway.call({ server: "a", name: "say-a", args: { slow: true } });
    await expect.poll(() => events).toContain("called a");
    await gateway.apply(configOf({ a: { type: "greeter", greeting: "b" } }));
    expect(events).not.toContain("close a");
    old.release();
    expect((await call).result).toMatchObject({ content: [{ text: "a" }] });
    await expect.poll(() => events).toContain("close a");
  });

  it("ends for its caller at once, whatever the plugin does", async () => {
    const events: string[] = [];
    const { gateway } = await setupGateway({
      plugins: [greeterPlugin(events)],
      config: configOf({ a: { type: "greeter", greeting: "a", timeout: "50ms" } }),
    });
    await expect(
      gateway.call({ server: "a", name: "say-a", args: { slow: true } }),
    ).rejects.toMatchObject({
      code: "timeout",
    });
    made.at(-1)!.release();
  });
});

describe("an entry that is wrong", () => {
  const start = (config: GatewayConfigInput, plugins: Record<string, AnyPlugin>) =>
    createGateway(config, { plugins }).then(
      () => expect.unreachable("the config was accepted"),
      (error: GatewayError) => error,
    );

  it("names the types there are, or the plugin that brings the one that is missing", async () => {
    const plugins = { greeters: greeterPlugin([]) };
    const near = await start(configOf({ a: { type: "greter", greeting: "x" } }), plugins);
    expect(near.message).toContain('No plugin in use brings the server type "greter".');
    expect(near.hint).toBe(
      'Types: stdio, http, streamable-http, sse, greeter; others come with plugins. Did you mean "greeter"?',
    );
    const { plugins: used, ...rest } = configOf({ a: { type: "openapi", spec: "x" } });
    const missing = await start({ ...rest, plugins: { ...used, rest: false } }, plugins);
    expect(missing.hint).toBe("Leave out plugins.rest: false, or this entry.");
    const twice = await start(
      { plugins: { greeters: {}, others: {} } },
      { ...plugins, others: greeterPlugin([], "greeter", "others") },
    );
    expect(twice).toMatchObject({ code: "exists" });
    expect(twice.message).toMatch(
      /"greeter" is brought twice: by plugin "greeters" and by plugin "others"/,
    );
    const transport = await start(
      { plugins: { greeters: {} } },
      { greeters: greeterPlugin([], "sse") },
    );
    expect(transport.message).toMatch(/"sse", which is the name of a transport/);
  });

  it("M013: is told with place, sentence and next step, on start as in check", async () => {
    const folder = makeFolder();
    const file = join(folder, "gateway.yaml");
    const lines = async (text: string): Promise<string[]> => {
      await writeFile(file, text);
      const { stderr } = await propylon(["check", "gateway.yaml"], { cwd: folder });
      return stderr.trim().split("\n");
    };
    const entry = (options: string): string =>
      `plugins:\n  rest: {}\nservers:\n  pets:\n    type: openapi\n${options}`;
    expect(await lines(entry("    spc: ./pets.yaml\n"))).toEqual([
      expect.stringMatching(/^gateway\.yaml:5:5 servers\.pets\.spec is missing\./),
      'gateway.yaml:6:5 Unknown key "spc" in servers.pets. Did you mean "spec"?',
      "2 problems.",
    ]);
    expect(
      await lines(entry("    spec: ./pets.yaml\n    refreshInterval: often\n    timout: 3\n")),
    ).toEqual([
      expect.stringMatching(
        /^gateway\.yaml:7:22 servers\.pets\.refreshInterval must be a duration/,
      ),
      'gateway.yaml:8:5 Unknown key "timout" in servers.pets. Did you mean "timeout"?',
      "2 problems.",
    ]);
    const off = "servers:\n  pets:\n    type: openapi\n    spec: ./pets.yaml\n";
    expect(await lines(`${off}plugins: { rest: false }\n`)).toEqual([
      'gateway.yaml:3:11 No plugin in use brings the server type "openapi". Leave out plugins.rest: false, or this entry.',
      "1 problem.",
    ]);
    expect(await lines("servers:\n  pets:\n    type: openapi\n    enabled: 7\n")).toEqual([
      expect.stringMatching(/^gateway\.yaml:3:5 servers\.pets\.spec is missing\./),
      "gateway.yaml:4:14 servers.pets.enabled must be true or false. Meaning: Whether the server takes part at all.",
      "2 problems.",
    ]);
  });

  it("is told by the check, before any plugin is set up; variables are numbers there too", async () => {
    const folder = makeFolder();
    const file = join(folder, "gateway.yaml");
    const counters = definePlugin({
      name: "counters",
      serverTypes: { counter: z.strictObject({ from: z.int().max(9) }) },
      setup: () => expect.unreachable("it was set up"),
    });
    const load = async (from: string): Promise<unknown> => {
      const entry = `servers: { a: { type: counter, from: ${from} } }`;
      await writeFile(file, `plugins: { counters: {} }\n${entry}\n`);
      const plugins = { counters };
      return new ConfigFile(file, { plugins, environment: { FROM: "7" } }).check().then(
        ({ config }) => config.entries.get("a"),
        (error: GatewayError) => issuesOf(error).map(issueText),
      );
    };
    expect(await load("'${FROM}'")).toEqual({ from: 7 });
    expect(await load("12")).toEqual([
      expect.stringContaining("gateway.yaml:2:38 servers.a.from must be at most 9."),
    ]);
    expect(await load("1, form: 2")).toEqual([
      expect.stringContaining(':2:41 Unknown key "form" in servers.a. Did you mean "from"?'),
    ]);
  });

  it("needs the schema of its type in the plugin's definition", async () => {
    const plugin = definePlugin({
      name: "silent",
      setup: (gateway) =>
        gateway.add(ServerTypes, { type: "silent", create: () => expect.unreachable() }),
    });
    const error = await start({ plugins: { silent: {} } }, { silent: plugin as AnyPlugin });
    expect(error.message).toContain(
      'Plugin "silent" adds to server-types what cannot be used: the schema of the server type "silent" is missing.',
    );
    expect(error.place?.path).toBe("plugins.silent");
    expect(error.hint).toBe("Add it to the definition: serverTypes: { silent: schema }.");
  });

  it("relative paths start at the config, wherever the command runs", async () => {
    const folder = makeFolder({
      "api.json": '{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{}}',
    });
    const file = join(folder, "gateway.yaml");
    const baseUrl = "http://127.0.0.1:1";
    await writeFile(
      file,
      `servers: { a: { type: openapi, spec: api.json, baseUrl: "${baseUrl}" } }\n`,
    );
    const right = await propylon(["check", "--connect", file]);
    expect(right).toMatchObject({ code: 0, stderr: "" });
    await rm(join(folder, "api.json"));
    const wrong = await propylon(["check", "--connect", file]);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toMatch(
      /The server "a" cannot be used: The file api\.json does not exist\./,
    );
  });

  it("M006: names of transports still mean transports", async () => {
    const folder = makeFolder();
    const file = join(folder, "gateway.json");
    for (const type of [
      "streamable_http",
      "streamablehttp",
      "streamable-http",
      "http",
      "StreamableHTTP",
    ]) {
      await writeFile(
        file,
        JSON.stringify({ mcpServers: { a: { type, url: "http://127.0.0.1:1/mcp" } } }),
      );
      expect((await loadConfig(file)).config.values.servers["a"]).toMatchObject({
        transport: "streamable-http",
      });
    }
    await writeFile(
      file,
      JSON.stringify({ mcpServers: { a: { type: "sse", url: "http://127.0.0.1:1/sse" } } }),
    );
    expect((await loadConfig(file)).config.values.servers["a"]).toMatchObject({ transport: "sse" });
    await writeFile(
      file,
      JSON.stringify({ mcpServers: { a: { type: "websocket", url: "ws://x" } } }),
    );
    const error = await new ConfigFile(file).load().then(
      () => expect.unreachable(),
      (thrown: GatewayError) => thrown,
    );
    expect(issuesOf(error).map(issueText).join()).toMatch(
      /No plugin in use brings the server type "websocket"/,
    );
  });
});
