import { expect, it } from "vitest";
import { firstPartyPlugins } from "../../core/gateway/check/first-party.ts";
import { STORE_PLUGINS, TYPE_PLUGINS } from "../../core/config/defaults.ts";

/** Which plugin has what. */
async function ownersOf(member: "serverTypes" | "stores"): Promise<ReadonlyMap<string, string>> {
  return new Map(
    Object.entries(await firstPartyPlugins()).flatMap(([key, plugin]) =>
      Object.keys(plugin[member] ?? {}).map((name) => [name, key] as const),
    ),
  );
}

it("the plugins that come along with a type of server or a store are those that declare it", async () => {
  expect(TYPE_PLUGINS).toEqual(await ownersOf("serverTypes"));
  expect(STORE_PLUGINS).toEqual(await ownersOf("stores"));
});
