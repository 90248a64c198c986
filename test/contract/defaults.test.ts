import { expect, it } from "vitest";
import { firstPartyPlugins } from "../../core/loading/first-party.ts";
import { DEFAULT_PLUGINS, STORE_PLUGINS, TYPE_PLUGINS } from "../../core/plugin/defaults.ts";

/** Which plugin has what, but for those that are there anyway. */
async function ownersOf(member: "serverTypes" | "stores"): Promise<ReadonlyMap<string, string>> {
  const plugins = Object.entries(await firstPartyPlugins());
  const others = plugins.filter(([key]) => !DEFAULT_PLUGINS.includes(key));
  return new Map(
    others.flatMap(([key, plugin]) =>
      Object.keys(plugin[member] ?? {}).map((name) => [name, key] as const),
    ),
  );
}

it("the plugins that come along with a type of server or a store are those that declare it", async () => {
  expect(TYPE_PLUGINS).toEqual(await ownersOf("serverTypes"));
  expect(STORE_PLUGINS).toEqual(await ownersOf("stores"));
});
