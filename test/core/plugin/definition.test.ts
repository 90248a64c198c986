import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createGateway, definePlugin, type AnyPlugin } from "../../../core/index.ts";
import { EndpointServers } from "../../../core/internal.ts";
import { NO_ENDPOINTS } from "../../../core/plugin/endpoint-server.ts";

const config = { listeners: { main: { port: 0 } }, log: { level: "silent" as const } };

async function start(definition: object, mcp?: false): Promise<string | undefined> {
  const plugin = { name: "odd", setup() {}, ...definition } as AnyPlugin;
  try {
    const gateway = await createGateway(
      { ...config, plugins: { odd: {}, ...(mcp === false && { mcp }) } },
      { plugins: { odd: plugin } },
    );
    await gateway.close();
    return undefined;
  } catch (error) {
    return `${(error as Error).message} ${(error as { hint?: string }).hint}`;
  }
}

describe("a definition that the gateway cannot use is refused at its place", () => {
  it.each<[string, object, string]>([
    [
      "a mistyped member",
      { need: () => ({}) },
      'member "need" that nothing reads. Did you mean needs?',
    ],
    [
      "an unknown member",
      { colour: "red" },
      'member "colour" that nothing reads. It may have name,',
    ],
    [
      "a mistyped need",
      { needs: () => ({ selector: [] }) },
      'has a member "selector" that nothing reads. Did you mean selectors?',
    ],
    [
      "needs that throws",
      {
        needs: () => {
          throw new Error("no disk");
        },
      },
      "cannot say what it needs: no disk.",
    ],
    ["needs that returns nothing", { needs() {} }, "needs(options) returns no plain object"],
    [
      "needs that is async",
      { needs: () => Promise.reject(new Error("late")) },
      "returns no plain object",
    ],
    ["needs that is no function", { needs: {} }, "cannot say what it needs"],
    ["needs of another form", { needs: () => ({ references: [{}] }) }, "references is not a list"],
    ["a store without open", { stores: { mine: () => {} } }, "brings a store mine without open"],
  ])("%s", async (_what, definition, message) => {
    const said = await start(definition);
    expect(said).toContain(message);
    expect(said).toContain("plugins.odd");
  });
});

it("what serves the endpoints is closed with its plugin, though the plugin does not", async () => {
  let closed = 0;
  const faces = (level: number): AnyPlugin =>
    definePlugin({
      name: "faces",
      setup: (gateway) =>
        gateway.add(EndpointServers, { ...NO_ENDPOINTS, close: () => void (closed += level) }),
    });
  const gateway = await createGateway(
    { ...config, plugins: { mcp: false, faces: {} } },
    { plugins: { faces: faces(1) } },
  );
  await gateway.apply({ ...config, plugins: { mcp: false } });
  expect(closed).toBe(1);
  await gateway.close();
});

it("what a plugin keeps through reloads serves on", async () => {
  let closed = 0;
  const faces = (level: number): AnyPlugin =>
    definePlugin({
      name: "faces",
      config: z.strictObject({ level: z.number().default(level) }),
      setup: (gateway) =>
        gateway.add(
          EndpointServers,
          gateway.keep("faces", () => ({ ...NO_ENDPOINTS, close: () => void closed++ })),
        ),
    });
  const gateway = await createGateway(
    { ...config, plugins: { mcp: false, faces: {} } },
    { plugins: { faces: faces(1) } },
  );
  await gateway.apply({ ...config, plugins: { mcp: false, faces: { level: 2 } } });
  expect(closed).toBe(0);
  await gateway.close();
  expect(closed).toBeGreaterThan(0);
});

it.each<[string, object]>([
  ["no methods", {}],
  ["no problems", { ...NO_ENDPOINTS, problems: undefined }],
])("one with %s is refused with its plugin", async (_what, server) => {
  const said = await start(
    {
      setup: (gateway: { add(point: unknown, value: unknown): void }) =>
        gateway.add(EndpointServers, server),
    },
    false,
  );
  expect(said).toContain('Plugin "odd" adds to endpoint-servers what cannot be used');
});

it("two of them are refused with what to do", async () => {
  const said = await start({
    setup: (gateway: { add(point: unknown, value: unknown): void }) =>
      gateway.add(EndpointServers, NO_ENDPOINTS),
  });
  expect(said).toBe(
    'The endpoints are served twice: by plugin "mcp" and by plugin "odd". Switch one of them off, e.g. plugins: { mcp: false }.',
  );
});
