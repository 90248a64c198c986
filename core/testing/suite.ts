import { createGateway } from "../gateway/management/create.ts";
import { pino } from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import type { GatewayConfigInput } from "../config/schema.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { AnyPlugin } from "../plugin/plugin.ts";
import { toRecords, type PluginEntry } from "./test-gateway.ts";
import { leakedResources, openResources } from "./handles.ts";

/** What the shared suite needs to know about a plugin. */
export interface PluginSuite {
  /** Options to run it with; default: none. */
  readonly config?: Record<string, unknown>;
  /** Other valid options, to test a reload that changes them; default: no such test. */
  readonly changed?: Record<string, unknown>;
  /** Plugins that provide what it injects. */
  readonly with?: readonly PluginEntry[];
  /** The rest of the gateway config. */
  readonly gateway?: GatewayConfigInput;
}

/** For one test: the first one loads all modules of a gateway, and a plugin may begin with a connection. */
const TIMEOUT_MS = 30_000;

/**
 * The suite that every plugin passes: it applies, is left alone by a reload that does not concern it, is rebuilt by one that
 * does, and leaves nothing behind: no handle, no metric, no route, no server.
 */
export function testPlugin(plugin: AnyPlugin, suite: PluginSuite = {}): void {
  const { name } = plugin;
  const options = suite.config ?? {};
  const others = toRecords(suite.with ?? []);
  const configOf = (own: Record<string, unknown> | false): GatewayConfigInput => ({
    listeners: { main: { port: 0 } },
    ...suite.gateway,
    plugins: { ...others.options, ...suite.gateway?.plugins, [name]: own },
  });
  const start = async (
    own: Record<string, unknown> | false = options,
  ): Promise<{ gateway: Gateway; replace: (next: AnyPlugin) => void }> => {
    let current = plugin;
    const resolvePlugin = (): Promise<AnyPlugin> => Promise.resolve(current);
    const gateway = await createGateway(configOf(own), {
      plugins: others.plugins,
      resolvePlugin,
      log: pino({ level: "silent" }),
    });
    onTestFinished(() => gateway.close({ grace: 0 }));
    await gateway.listen();
    return { gateway, replace: (next) => void (current = next) };
  };

  describe(`plugin ${name}`, { timeout: TIMEOUT_MS }, () => {
    it("applies and closes without leaving a handle open", async () => {
      const before = openResources();
      const { gateway } = await start();
      expect(gateway.describe().plugins.map((entry) => entry.name)).toContain(name);
      await gateway.close();
      expect(await leakedResources(before)).toEqual([]);
    });

    it("is left alone by a reload that does not concern it", async () => {
      const { gateway } = await start();
      const { plugins } = await gateway.apply(configOf(options));
      expect(plugins.unchanged).toContain(name);
    });

    it("is rebuilt when its code changes, and offers the same afterwards", async () => {
      const { gateway, replace } = await start();
      const before = offered(gateway, name);
      replace({ ...plugin });
      const { plugins } = await gateway.apply(configOf(options));
      expect(plugins.changed).toContain(name);
      expect(offered(gateway, name)).toEqual(before);
    });

    it.each(suite.changed ? [suite.changed] : [])(
      "is rebuilt when its options change",
      async (changed) => {
        const { gateway } = await start();
        const { plugins } = await gateway.apply(configOf(changed));
        expect(plugins.changed).toContain(name);
      },
    );

    it("leaves no tool, route, metric or handle when it is taken out, and can come back", async () => {
      const { gateway } = await start(false);
      const before = {
        resources: openResources(),
        metrics: await metricNames(gateway),
        offers: offered(gateway, name),
      };
      const added = await gateway.apply(configOf(options));
      expect(added.plugins.added).toEqual([name]);
      const first = { metrics: await metricNames(gateway), offers: offered(gateway, name) };
      const removed = await gateway.apply(configOf(false));
      expect(removed.plugins.removed).toEqual([name]);
      expect({ metrics: await metricNames(gateway), offers: offered(gateway, name) }).toEqual({
        metrics: before.metrics,
        offers: before.offers,
      });
      expect(await leakedResources(before.resources)).toEqual([]);
      await gateway.apply(configOf(options));
      expect({ metrics: await metricNames(gateway), offers: offered(gateway, name) }).toEqual(
        first,
      );
    });
  });
}

/** What a gateway shows of one plugin. */
function offered(
  gateway: Gateway,
  name: string,
): { server: object | undefined; routes: readonly object[] } {
  const { servers, routes } = gateway.describe();
  const server = servers.find((entry) => entry.name === name);
  return {
    server: server && { ...server, status: server.status.state },
    routes: routes.filter(({ plugin }) => plugin === name),
  };
}

async function metricNames(gateway: Gateway): Promise<readonly string[]> {
  return (await (await gateway.manage()).metrics())
    .split("\n")
    .filter((line) => line.startsWith("# TYPE "));
}
