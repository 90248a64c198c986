import * as fc from "fast-check";
import { definePlugin, type GatewayConfig, type GatewayConfigInput } from "propylon";
import { describe, expect, it } from "vitest";
import { Management } from "propylon/kit";
import { parseConfig } from "../../../core/gateway/check/parse.ts";
import { createResolver } from "../../../core/gateway/gateway-options.ts";
import { writeConfig } from "../../../core/config/config.ts";
import { fakeUpstream, setupGateway } from "../../../core/testing/index.ts";

const amount = fc.oneof(
  fc.integer({ min: 0, max: 100_000 }),
  fc.integer({ min: 0, max: 100_000 }).map((hundreds) => hundreds / 100),
);
const duration = fc.oneof(
  amount,
  fc
    .tuple(amount, fc.constantFrom("ms", "s", "m", "h", "d"))
    .map(([count, unit]) => `${count}${unit}`),
);
const backoff = fc.record({ initial: duration, max: duration }, { requiredKeys: [] });
const connection = fc.oneof(
  fc.constantFrom("shared" as const, "principal" as const),
  fc.record({ per: fc.constant("session" as const), idle: duration }),
);
const times = { timeout: duration, connectTimeout: duration, ping: duration, backoff, connection };
const server = fc.oneof(
  fc.record({ command: fc.constant("node"), ...times }, { requiredKeys: ["command"] }),
  fc.record({ url: fc.constant("http://a.example/"), ...times }, { requiredKeys: ["url"] }),
  fc.record(
    { type: fc.constant("pets"), timeout: duration, connectTimeout: duration },
    { requiredKeys: ["type"] },
  ),
);
const config: fc.Arbitrary<GatewayConfigInput> = fc.record(
  {
    servers: fc.dictionary(fc.constantFrom("a", "b", "c"), server),
    timeouts: fc.record(
      { default: duration, setup: duration, drain: duration, grace: duration },
      { requiredKeys: [] },
    ),
    limits: fc.record(
      { headersTimeout: duration, sessionIdle: duration, body: amount },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);

const parse = async (input: GatewayConfigInput): Promise<GatewayConfig> =>
  (await parseConfig(input, createResolver({}))).values;
const spread = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(spread);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, spread(item)]));
};
const copy = fc.constantFrom<(value: GatewayConfigInput) => GatewayConfigInput>(
  (value) => value,
  (value) => ({ ...value }),
  (value) => structuredClone(value),
  (value) => JSON.parse(JSON.stringify(value)) as GatewayConfigInput,
  (value) => spread(value) as GatewayConfigInput,
  (value) => ({ ...value, timeouts: { ...value.timeouts }, servers: { ...value.servers } }),
);

describe("a config that was read, as people write one", () => {
  it("reads the same, however and however often it is copied", async () => {
    await fc.assert(
      fc.asyncProperty(config, fc.array(copy, { maxLength: 4 }), async (input, copies) => {
        const read = await parse(input);
        let again = read;
        for (const make of copies) again = await parse(make(writeConfig(again)));
        expect(again).toEqual(read);
      }),
    );
  });

  it("reads the same in parts", async () => {
    await fc.assert(
      fc.asyncProperty(config, copy, async (input, make) => {
        const read = await parse(input);
        const { servers, timeouts, limits } = make(writeConfig(read));
        expect(await parse({ servers })).toMatchObject({ servers: read.servers });
        expect(await parse({ timeouts, limits })).toMatchObject({
          timeouts: read.timeouts,
          limits: read.limits,
        });
      }),
    );
  });

  it("takes seconds beside it where people write them", async () => {
    const read = writeConfig(await parse({ servers: { a: { command: "node", timeout: 5 } } }));
    const more = await parse({
      ...read,
      timeouts: { default: 7 },
      servers: { ...read.servers, b: { command: "node", timeout: 9 } },
    });
    expect(more.timeouts.default).toBe(7_000);
    expect(more.servers["a"]?.timeout).toBe(5_000);
    expect(more.servers["b"]?.timeout).toBe(9_000);
  });

  it("keeps a gateway's times when it is applied, again and again, and its server connected", async () => {
    const upstream = await fakeUpstream({ echo: () => "yes" });
    const { gateway, client } = await setupGateway({
      config: { servers: { up: { url: upstream.url, timeout: 20 } }, timeouts: { default: 30 } },
    });
    const before = structuredClone(gateway.config);
    expect(gateway.written.timeouts).toMatchObject({ default: "30s" });
    for (const copied of [
      gateway.written,
      { ...gateway.written },
      structuredClone(gateway.written),
      JSON.parse(JSON.stringify(gateway.written)) as GatewayConfigInput,
    ]) {
      const report = await gateway.apply(copied);
      expect(report.servers.unchanged).toEqual(["up"]);
    }
    expect(gateway.config).toEqual(before);
    expect(gateway.config.timeouts.default).toBe(30_000);
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  });
});

it("one that was read is refused where people write one: its times are milliseconds", async () => {
  const { gateway } = await setupGateway({ client: false });
  for (const read of [gateway.config, { ...gateway.config }, { limits: gateway.config.limits }])
    await expect(gateway.apply(read as GatewayConfigInput)).rejects.toThrow(
      /is of a config that was read: its times are milliseconds\./,
    );
});

it("finding 7: neither the config in force nor its values know a mark", async () => {
  let shown: unknown;
  const look = definePlugin({
    name: "look",
    inject: { management: Management },
    setup: (gateway) =>
      gateway.onStart(() => {
        shown = [gateway.info.effectiveConfig(), gateway.services.management.configValues()];
      }),
  });
  await setupGateway({ plugins: [look], client: false });
  expect(JSON.stringify(shown)).toContain('"timeouts"');
  expect(JSON.stringify(shown)).not.toContain("$unit");
  await expect(parse({ timeouts: { $unit: "ms" } as never })).rejects.toThrow(/\$unit/);
});
