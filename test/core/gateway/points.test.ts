import { expect, it } from "vitest";
import {
  type AnyPlugin,
  definePlugin,
  definePoint,
  type PluginContext,
} from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";

interface Quota {
  readonly name: string;
  readonly perDay: number;
}

/** A kind of contribution that the kernel has never heard of. */
const Quotas = definePoint<Quota, string>("quotas", {
  nameOf: ({ value }) => `the quota "${value.name}"`,
  read({ plugin, value }, { config, route }) {
    if (value.perDay < 1) throw new Error(`perDay of ${value.name} is not positive`);
    const isShown = route("GET", "/quotas/:any") !== undefined;
    return value.perDay > 1_000_000
      ? undefined
      : `${config.name}: ${plugin} ${value.name} ${value.perDay}${isShown ? " shown" : ""}`;
  },
});
const Banner = definePoint<string>("banner", {
  only: (one, other) => `There are two banners: of "${one}" and of "${other}".`,
});

const plugin = (name: string, setup: (gateway: PluginContext) => void) =>
  definePlugin({ name, setup });
const adding = (name: string, ...quotas: readonly Quota[]) =>
  plugin(name, (gateway) => {
    for (const quota of quotas) gateway.add(Quotas, quota);
  });
const owner = plugin("owner", (gateway) =>
  gateway.route("GET", "/quotas/:name", { access: "public", mutates: false }, () =>
    gateway.point(Quotas),
  ),
);
const run = (...plugins: readonly AnyPlugin[]) => setupGateway({ plugins, client: false });

const CALLS = { name: "calls", perDay: 10 };

it("issue 40 line 4: a new kind of contribution needs no edit in core", async () => {
  const { gateway, url } = await run(
    owner,
    adding("b", CALLS, { name: "endless", perDay: 1e9 }),
    adding("a", { name: "tokens", perDay: 5 }),
  );
  const expected = ["propylon: a tokens 5 shown", "propylon: b calls 10 shown"];
  expect(gateway.point(Quotas)).toEqual(expected);
  expect(await (await fetch(`${url}/quotas/all`)).json()).toEqual(expected);
});

it("a point that nobody owns keeps what is added, and one that nobody adds to is empty", async () => {
  const { gateway } = await run(adding("a", CALLS));
  expect(gateway.point(Quotas)).toEqual(["propylon: a calls 10"]);
  expect(gateway.point(Banner)).toEqual([]);
});

it("two tokens of one id are one point", async () => {
  const { gateway } = await run(adding("a", CALLS));
  expect(gateway.point(definePoint<Quota, string>("quotas"))).toHaveLength(1);
});

it("the owner reads what is in force: a reload takes values away, and keeps those of before where it fails", async () => {
  const { gateway } = await setupGateway({
    plugins: [adding("a", CALLS)],
    client: false,
    resolvePlugin: () => Promise.resolve(adding("b", { name: "none", perDay: 0 })),
  });
  const before = gateway.point(Quotas);
  const both = { ...gateway.written, plugins: { a: {}, b: {} } };
  await expect(gateway.apply(both)).rejects.toMatchObject({
    code: "reload_failed",
    message: expect.stringContaining(
      'Plugin "b" adds to quotas what cannot be used: perDay of none',
    ),
  });
  expect(gateway.point(Quotas)).toEqual(before);
  await gateway.apply({ ...gateway.written, plugins: { a: false } });
  expect(gateway.point(Quotas)).toEqual([]);
});

it.each([
  [
    "one name of two plugins",
    [adding("a", CALLS), adding("b", CALLS)],
    'Plugins "a" and "b" both add the quota "calls".',
  ],
  ["one name twice", [adding("a", CALLS, CALLS)], 'Plugin "a" adds the quota "calls" twice.'],
  [
    "two values where one is the most",
    [
      plugin("a", (gateway) => gateway.add(Banner, "A")),
      plugin("b", (gateway) => gateway.add(Banner, "B")),
    ],
    'There are two banners: of "a" and of "b".',
  ],
  [
    "a value that the point refuses",
    [adding("a", { name: "none", perDay: 0 })],
    'Plugin "a" adds to quotas what cannot be used: perDay of none is not positive.',
  ],
  [
    "no point",
    [plugin("a", (gateway) => gateway.add(undefined as never, "A"))],
    'Plugin "a" could not be set up: gateway.add takes a point and then a value.',
  ],
])("refuses %s", async (_, plugins, message) => {
  await expect(run(...plugins)).rejects.toThrow(message);
});

it("what is added after the setup is refused, not lost", async () => {
  let late: (() => void) | undefined;
  await run(plugin("a", (gateway) => (late = () => gateway.add(Quotas, CALLS))));
  expect(late).toThrow("It registers something after its setup.");
});
