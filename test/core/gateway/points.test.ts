import { inspect } from "node:util";
import { expect, it } from "vitest";
import {
  type AnyPlugin,
  definePlugin,
  type Identity,
  type PluginContext,
} from "../../../core/index.ts";
import { Authenticators, Checks, type Credentials, definePoint, Pages } from "../../../core/kit.ts";
import { StandIns } from "../../../core/internal.ts";
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

it.each([
  ["a promise", () => Promise.reject(new Error("canary")), "and must answer at once"],
  ["a name that is a promise", undefined, "and must answer at once"],
])(
  "a rule that answers with %s refuses the config, and ends no process",
  async (_, read, words) => {
    const late = Promise.reject(new Error("canary"));
    late.catch(() => {});
    const nameOf = read ? undefined : () => late as never;
    const point = definePoint<number>("late", {
      ...(read && { read: read as never }),
      ...(nameOf && { nameOf }),
    });
    await expect(run(plugin("a", (gateway) => gateway.add(point, 1)))).rejects.toThrow(words);
  },
);

it("a point that lies about its rules gets around none of the kernel's", async () => {
  const pages = definePoint<unknown>("pages");
  const authenticators = definePoint<unknown>("authenticators");
  const page = (name: string) => plugin(name, (gateway) => gateway.add(pages, () => "page"));
  await expect(run(page("a"), page("b"))).rejects.toThrow("Browsers get two pages");
  const authenticate = () => undefined;
  const { gateway } = await run(
    plugin("a", (each) => each.add(authenticators, { name: "mine", authenticate, plugin: "core" })),
  );
  expect(gateway.describe().authenticators).toEqual([{ name: "mine", plugin: "a" }]);
});

it.each([
  [Checks, null, "is not a check"],
  [Checks, (): undefined => undefined, "is not a check"],
  [Authenticators, (): undefined => undefined, "is not an authenticator"],
  [Authenticators, { authenticate: (): undefined => undefined }, "is not an authenticator"],
  [Pages, {}, "is not a page"],
  [StandIns, "x", "is not a stand-in for credentials"],
  [{ id: "x" }, 1, "gateway.add takes a point and then a value"],
])("a plugin without types cannot add what is none: %#", async (point, value, words) => {
  const careless = plugin("a", (gateway) => gateway.add(point as never, value));
  await expect(run(careless)).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining(words) as string,
  });
});

it("objects keep their methods: a check and an authenticator may be classes", async () => {
  class Depth {
    readonly name = "depth";
    readonly #limit = 3;
    ask(): string | undefined {
      return this.#limit > 2 ? "It is too deep." : undefined;
    }
  }
  class Directory {
    readonly name = "directory";
    readonly #people = new Map([["Bearer ada", "ada"]]);
    authenticate({ headers }: Credentials): Identity | undefined {
      const id = this.#people.get(String(headers["authorization"]));
      return id === undefined ? undefined : { id, kind: "user", roles: new Set(["viewer"]) };
    }
  }
  const { url } = await run(
    plugin("a", (gateway) => {
      gateway.add(Checks, new Depth());
      gateway.add(Authenticators, new Directory());
      const look = { access: "viewer", mutates: false } as const;
      gateway.route("GET", "/me", look, ({ context }) => context.principal.ref);
    }),
  );
  expect(await (await fetch(`${url}/readyz?verbose`)).text()).toContain("It is too deep.");
  const me = await fetch(`${url}/me`, { headers: { authorization: "Bearer ada" } });
  expect([me.status, await me.text()]).toEqual([200, "user:ada"]);
});

it("what is read cannot be changed by whoever reads it, and a gateway shows no secret of its config", async () => {
  const secret = "a-secret-key-of-16-characters";
  const { gateway } = await setupGateway({
    plugins: [adding("a", CALLS)],
    config: { auth: { apiKey: secret } },
    client: false,
  });
  expect(() => (gateway.point(Quotas) as string[]).pop()).toThrow(TypeError);
  expect(JSON.stringify(gateway)).toBe('{"name":"propylon","generation":1}');
  expect(inspect(gateway, { depth: 9, showHidden: true })).not.toContain(secret);
});

it("what is added after the setup is refused, not lost", async () => {
  let late: (() => void) | undefined;
  await run(plugin("a", (gateway) => (late = () => gateway.add(Quotas, CALLS))));
  expect(late).toThrow("It registers something after its setup.");
});
