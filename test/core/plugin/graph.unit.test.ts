import fc from "fast-check";
import { definePlugin, type AnyPlugin, defineService, optional } from "propylon";
import { Audit, Files, Lists, Metrics, Management } from "propylon/kit";
import { Database, Store } from "propylon/store";
import { describe, expect, it } from "vitest";
import { orderPlugins } from "../../../core/gateway/graph.ts";
import { EndpointHost } from "../../../core/plugin/endpoint-server.ts";

const A = defineService<string>("a");
const B = defineService<string>("b");
const C = defineService<string>("c");

const node = (plugin: AnyPlugin) => ({ key: plugin.name, plugin });
const names = (plugins: readonly AnyPlugin[]) =>
  orderPlugins(plugins.map(node)).map(({ plugin }) => plugin.name);

const zulu = definePlugin({ name: "zulu", provides: A, setup: () => "zulu" });
const alpha = definePlugin({ name: "alpha", inject: { a: A }, provides: B, setup: () => "alpha" });
const mike = definePlugin({ name: "mike", inject: { a: optional(A), c: optional(C) }, setup() {} });
const lima = definePlugin({ name: "lima", inject: { b: B }, setup() {} });
const bravo = definePlugin({ name: "bravo", setup() {} });

describe("the order of plugins", () => {
  it("follows the service graph, then the name, whatever the order in the config", () => {
    const all = [zulu, alpha, mike, lima, bravo];
    fc.assert(
      fc.property(fc.shuffledSubarray(all, { minLength: all.length }), (shuffled) => {
        expect(names(shuffled)).toStrictEqual(["zulu", "alpha", "bravo", "lima", "mike"]);
      }),
    );
  });

  it("names both sides of a missing service", () => {
    expect(() => names([alpha])).toThrow(
      'Plugin "alpha" needs the service "a", which no plugin provides.',
    );
  });

  it("lets an optional service be missing", () => {
    expect(names([mike])).toStrictEqual(["mike"]);
  });

  it("prints the whole circle", () => {
    const one = definePlugin({ name: "one", inject: { b: B }, provides: A, setup: () => "" });
    const two = definePlugin({
      name: "two",
      inject: { c: optional(C) },
      provides: B,
      setup: () => "",
    });
    const three = definePlugin({ name: "three", inject: { a: A }, provides: C, setup: () => "" });
    expect(() => names([three, two, one])).toThrow(
      "Plugins need each other in a circle: one -> two -> three -> one.",
    );
  });

  it("names both providers of one service", () => {
    const other = definePlugin({ name: "other", provides: A, setup: () => "" });
    expect(() => names([zulu, other])).toThrow(
      'Plugins "other" and "zulu" both provide the service "a".',
    );
  });

  it("a service of the gateway itself is there for all, and no plugin can stand in its place", () => {
    const inject = { management: Management };
    const one = definePlugin({ name: "one", inject, setup() {} });
    const two = definePlugin({ name: "two", inject, setup() {} });
    expect(names([two, one])).toStrictEqual(["one", "two"]);
    for (const { id } of [
      Management,
      Audit,
      Database,
      EndpointHost,
      Files,
      Lists,
      Metrics,
      Store,
    ]) {
      const forged = defineService<object>(id);
      const forger = definePlugin({ name: "forger", provides: forged, setup: () => ({}) });
      expect(() => names([one, forger])).toThrow(
        `Plugin "forger" provides the service "${id}", which is the gateway's own.`,
      );
    }
  });

  it("names both config keys of one plugin name", () => {
    const twin = [
      { key: "./plugins/bravo.ts", plugin: bravo },
      { key: "bravo", plugin: bravo },
    ];
    expect(() => orderPlugins(twin)).toThrow(
      'Plugins "./plugins/bravo.ts" and "bravo" are both named "bravo".',
    );
  });
});
