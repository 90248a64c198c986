import { Gauge } from "prom-client";
import { describe, expect, it } from "vitest";
import {
  createGateway,
  definePlugin,
  type AnyPlugin,
  type GatewayConfigInput,
  type PluginContext,
} from "../../../core/index.ts";
import { Metrics } from "../../../core/kit.ts";
import { setupGateway } from "../../../core/testing/index.ts";

type Setup = (gateway: PluginContext<undefined, {}>) => void;

const plugin = (name: string, setup: Setup): AnyPlugin => definePlugin({ name, setup });
const tool =
  (name: string): Setup =>
  (gateway) =>
    gateway.tool(name, { description: "", run: () => "" });
const route = (
  method: string,
  path: string,
  options: object = { access: "public", mutates: false },
): Setup => {
  return (gateway) =>
    gateway.route(
      method as "GET",
      path,
      options as { access: "public"; mutates: boolean },
      () => "",
    );
};

/** The message with which a config of these plugins is refused. */
async function refusal(
  plugins: readonly AnyPlugin[],
  config: GatewayConfigInput = {},
): Promise<string> {
  const named = Object.fromEntries(plugins.map((entry) => [entry.name, entry]));
  const options = Object.fromEntries(plugins.map((entry) => [entry.name, {}]));
  const gateway = createGateway(
    { listeners: { main: { port: 0 } }, ...config, plugins: options, log: { level: "silent" } },
    { plugins: named },
  );
  return gateway.then(
    (started) => started.close().then(() => "nothing"),
    (error: Error) => error.message,
  );
}

describe("what cannot be served names both sides", () => {
  it("a tool registered twice", async () => {
    const twice: Setup = (gateway) => {
      tool("x")(gateway);
      tool("x")(gateway);
    };
    expect(await refusal([plugin("a", twice)])).toBe('Plugin "a" registers the tool "x" twice.');
  });

  it("a tool of two plugins where names are not prefixed", async () => {
    const both = [plugin("b", tool("x")), plugin("a", tool("x"))];
    expect(await refusal(both, { endpoints: { mcp: { naming: "none" } } })).toBe(
      'Plugins "a" and "b" both have the tool "x", and endpoint "mcp" does not prefix names.',
    );
    expect(await refusal(both)).toBe("nothing");
  });

  it.each([
    ["/a/:x", "/a/:y"],
    ["/a/:x", "/a/*"],
    ["/a/**", "/a/**:rest"],
    ["/a", "/a/"],
    ["/a", "/a"],
  ])("routes GET %s and GET %s", async (one, two) => {
    expect(await refusal([plugin("a", route("GET", one)), plugin("b", route("GET", two))])).toBe(
      `Route GET ${two} of plugin "b" collides with route GET ${one} of plugin "a" on listener "main".`,
    );
  });

  it("but not routes that differ in method, listener or shape", async () => {
    const apart = [
      plugin("a", route("GET", "/a/:x")),
      plugin("b", route("POST", "/a/:x")),
      plugin("c", route("GET", "/a/:x", { access: "public", mutates: false, listener: "other" })),
      plugin("d", route("GET", "/a/x")),
    ];
    expect(await refusal(apart, { listeners: { main: { port: 0 }, other: { port: 0 } } })).toBe(
      "nothing",
    );
  });

  it("a route on the path of an endpoint", async () => {
    expect(await refusal([plugin("a", route("GET", "/mcp"))])).toBe(
      'Route GET /mcp of plugin "a" collides with endpoint "mcp" on listener "main".',
    );
  });

  it("two endpoints on one path", async () => {
    expect(await refusal([], { endpoints: { one: {}, two: {} } })).toContain(
      'The endpoints "one" and "two" share the path /mcp of the listener "main".',
    );
  });

  it("a plugin and a server of one name", async () => {
    const servers = { search: { url: "http://127.0.0.1:9/mcp" } };
    expect(await refusal([plugin("search", tool("x"))], { servers })).toBe(
      'The server name "search" is taken twice: by the config\'s server "search" and by plugin "search".',
    );
  });

  it("two plugins with a metric of one name", async () => {
    const withMetric = (name: string): AnyPlugin =>
      definePlugin({
        name,
        inject: { metrics: Metrics },
        setup: ({ services }) =>
          void new Gauge({ name: "same", help: "h", registers: [services.metrics] }),
      });
    expect(await refusal([withMetric("a"), withMetric("b")])).toBe(
      'Plugins "a" and "b" both register the metric "same".',
    );
  });
});

describe("a route is refused", () => {
  it.each([
    [
      "without access policy",
      route("GET", "/x", { mutates: false }),
      'Route GET /x of plugin "a" has no access policy.',
    ],
    [
      "with an unknown access policy",
      route("GET", "/x", { access: "anyone", mutates: false }),
      'Route GET /x of plugin "a" has no access policy.',
    ],
    [
      "without options",
      (g: PluginContext<undefined, {}>) => g.route("GET", "/x", undefined as never, () => ""),
      'Route GET /x of plugin "a" has no access policy.',
    ],
    [
      "without mutates",
      route("GET", "/x", { access: "public" }),
      'Route GET /x of plugin "a" does not say whether it changes anything.',
    ],
    [
      "without slash",
      route("GET", "x"),
      'Route GET x of plugin "a" has a path that does not start with a slash.',
    ],
    [
      "with an unknown method",
      route("FETCH", "/x"),
      'Route FETCH /x of plugin "a" has an unknown method.',
    ],
    [
      "on an unknown listener",
      route("GET", "/x", { access: "public", mutates: true, listener: "side" }),
      'Route GET /x of plugin "a" names an unknown listener "side".',
    ],
  ])("%s", async (_, setup, message) => {
    expect(await refusal([plugin("a", setup)])).toBe(message);
  });
});

describe("a config is refused", () => {
  it("for an unknown stage of a JavaScript plugin", async () => {
    const setup: Setup = (gateway) => gateway.use("before" as "gate", (call, next) => next(call));
    expect(await refusal([plugin("a", setup)])).toBe(
      'Plugin "a" could not be set up: It uses an unknown stage "before".',
    );
  });

  it("for a plugin nobody knows", async () => {
    await expect(
      createGateway({ plugins: { nobody: {} }, log: { level: "silent" } }),
    ).rejects.toThrow('There is no plugin "nobody".');
  });

  it("for options of a plugin that takes none", async () => {
    const options = { plugins: { a: plugin("a", () => {}) } };
    await expect(
      createGateway({ plugins: { a: { size: 1 } }, log: { level: "silent" } }, options),
    ).rejects.toThrow('Unknown key "size" in plugins.a.');
  });

  it("for an endpoint that names an unknown server or listener", async () => {
    expect(await refusal([], { endpoints: { mcp: { servers: ["x"] } } })).toContain(
      'The endpoint "mcp" names a server "x" that does not exist.',
    );
    expect(await refusal([], { endpoints: { mcp: { listener: "x" } } })).toContain(
      'The endpoint "mcp" is on a listener "x" that does not exist.',
    );
  });

  it.each(["0.0.0.0", "::", "192.0.2.1", "example.com"])(
    "for a listener on %s without authentication, unless that is wanted",
    async (host) => {
      const listeners = { main: { host, port: 0 } };
      expect(await refusal([], { listeners })).toContain(
        `The listener "main" is open to the network (${host}) without authentication.`,
      );
      expect(await refusal([], { listeners, insecure: true })).toBe("nothing");
      expect(await refusal([], { listeners, auth: { apiKey: "0123456789abcdef" } })).toBe(
        "nothing",
      );
    },
  );

  it.each(["127.0.0.1", "127.9.9.9", "localhost", "::1"])("but not for one on %s", async (host) => {
    expect(await refusal([], { listeners: { main: { host, port: 0 } } })).toBe("nothing");
  });
});

it("an endpoint shows the servers selected for it, and nothing else", async () => {
  const { gateway, client } = await setupGateway({
    plugins: [plugin("a", tool("x")), plugin("b", tool("y"))],
    config: { endpoints: { mcp: { servers: ["b"] }, all: { path: "/all" } } },
  });
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["y"]);
  expect(gateway.describe().endpoints.map(({ name, servers }) => [name, servers])).toEqual([
    ["mcp", ["b"]],
    ["all", ["a", "b"]],
  ]);
});
