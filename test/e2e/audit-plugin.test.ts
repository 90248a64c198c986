import { createPrincipal, Audit, digestOf } from "propylon/kit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { boundDetails } from "../../core/gateway/management/plugin-audit.ts";
import { createKey } from "../../plugins/keys/key.ts";
import {
  definePlugin,
  type Call,
  type Json,
  type Mutation,
  type PluginContext,
  type Role,
  type RouteEvent,
  type Service,
} from "../../core/index.ts";
import { connectClient, connectModernClient, setupGateway } from "../../core/testing/index.ts";

const KEYS = { ann: createKey("operator"), bob: createKey("caller") };
const AUTH = {
  keys: {
    ann: { role: "operator", hash: `sha256:${digestOf(KEYS.ann)}` },
    bob: { role: "caller", hash: `sha256:${digestOf(KEYS.bob)}` },
  },
} as const;
const ROOT = { id: "root", kind: "key", roles: new Set<Role>(["admin"]) } as const;

type Clerk = PluginContext<undefined, { readonly audit: Service<Audit> }>;

/** Keeps every request and call that it is handed, and audits on whatever the test says. */
function start() {
  const kept: { events: RouteEvent[]; calls: Call[]; gateway?: Clerk } = {
    events: [],
    calls: [],
  };
  const plugin = definePlugin({
    name: "clerk",
    inject: { audit: Audit },
    setup(gateway) {
      kept.gateway = gateway;
      gateway.tool("note", {
        description: "Writes it down.",
        run(_args, call) {
          kept.calls.push(call);
          gateway.services.audit("note", { page: "1" }, { by: call.principal.id }, call);
          return "noted";
        },
      });
      gateway.route("GET", "/reveal", { access: "caller", mutates: false }, (event) => {
        kept.events.push(event);
        // What a plugin writes on the request changes nothing.
        Object.assign(event.context, { principal: createPrincipal(ROOT) });
        gateway.services.audit("reveal", { secret: "7" }, undefined, event);
        return "shown";
      });
      gateway.route("POST", "/change", { access: "caller", mutates: true }, (event) => {
        gateway.services.audit("change", {}, undefined, event);
        return "changed";
      });
    },
  });
  return setupGateway({ plugins: [plugin], config: { auth: AUTH }, client: false }).then(
    (setup) => {
      const mutations: Mutation[] = [];
      setup.gateway.hook("mutation", (mutation) => void mutations.push(mutation));
      const get = (path: string, key: string, method = "GET") =>
        fetch(setup.url + path, { method, headers: { authorization: `Bearer ${key}` } });
      return { ...setup, kept, mutations, get, plugin: kept.gateway! };
    },
  );
}

describe("what a plugin does is audited in the name of whoever asked for it", () => {
  it("over HTTP, with the request's id on every line about it", async () => {
    const { get, mutations } = await start();
    await get("/reveal", KEYS.bob);
    await get("/change", KEYS.ann, "POST");
    expect(mutations).toMatchObject([
      { who: "key:bob", action: "clerk:reveal", target: { secret: "7" }, status: null },
      { who: "key:ann", action: "clerk:change", outcome: "ok" },
      { who: "key:ann", action: "POST /change", status: 200 },
    ]);
    const [, first, second] = mutations.map(({ request }) => request);
    expect(first).toBe(second);
    expect(new Set(mutations.map(({ request }) => request)).size).toBe(2);
  });

  it.each([
    ["2025-11-25", connectClient],
    ["2026-07-28", connectModernClient],
  ] as const)("over MCP %s", async (_era, connect) => {
    const { gateway, mutations, kept } = await start();
    const headers = { authorization: `Bearer ${KEYS.bob}` };
    const client = await connect(gateway.endpoints[0]!.url, { headers });
    await client.callTool({ name: "note" });
    const request = kept.calls[0]!.id;
    expect(mutations).toMatchObject([
      { who: "key:bob", action: "clerk:note", details: { by: "bob" }, request },
    ]);
    await client.close();
  });

  it("and of nobody else: a copy, a request of one's own, and nothing at all name the plugin", async () => {
    const { get, mutations, kept, plugin } = await start();
    await get("/reveal", KEYS.bob);
    const principal = createPrincipal(ROOT);
    const forged = { context: { principal } } as unknown as RouteEvent;
    const copy = { ...kept.events[0]! } as RouteEvent;
    for (const on of [forged, copy, { principal, id: "x" } as Call, undefined])
      plugin.services.audit("forge", {}, undefined, on);
    expect(mutations.slice(1)).toMatchObject(
      Array.from({ length: 4 }, () => ({ who: "plugin:clerk", request: null })),
    );
  });

  it("a name that only a plugin vouches for is told as that", async () => {
    const { gateway, mutations, plugin } = await start();
    await plugin.call({ server: "clerk", name: "note", principal: ROOT });
    await plugin.call({ server: "clerk", name: "note" });
    expect(mutations.map(({ who }) => who)).toEqual(["unverified key:root", "service:gateway"]);
    expect(gateway.draining).toBe(false);
  });

  it("in a name of its own: no action looks like a request, or like another plugin's", async () => {
    const { plugin, mutations } = await start();
    for (const action of [
      "POST /_meta/servers",
      "gating:set",
      "",
      "a b",
      "x".repeat(65),
      "__proto__",
    ])
      expect(() => plugin.services.audit(action, {})).toThrow("not a short name");
    expect(mutations).toEqual([]);
  });

  it("no listener changes what the next one is told", async () => {
    const { gateway, mutations, plugin } = await start();
    gateway.hook("mutation", (mutation) => {
      (mutation as { who: string }).who = "key:ann";
    });
    gateway.hook("mutation", (mutation) => void mutations.push(mutation));
    plugin.services.audit("own", {});
    expect(mutations.map(({ who }) => who)).toEqual(["plugin:clerk", "plugin:clerk"]);
  });
});

it.each(["mutation", "gateway:ready", "log:line", "server:state"])(
  "a plugin cannot emit %s, a hook of the core",
  async (hook) => {
    const { gateway, plugin } = await start();
    let heard = 0;
    gateway.hook("mutation", () => void heard++);
    const { emit } = plugin as unknown as { emit: (this: void, name: string, it: object) => void };
    expect(() => emit(hook, { who: "key:ann" })).toThrow("which only the gateway may");
    expect(heard).toBe(0);
  },
);

describe("details", () => {
  it("masks what stands under the name of a secret, and in URLs", () => {
    const details = { token: "t", nested: { api_key: "k" }, url: "https://u:p@x.example/?a=b" };
    expect(JSON.stringify(boundDetails(details))).not.toMatch(/"t"|"k"|u:p|a=b/);
    expect(boundDetails({ a: "from-the-env" }, ["from-the-env"])).toEqual({ a: "***" });
  });

  it("are bounded in depth, members and size, whatever a plugin gives", () => {
    const cyclic: Json = { a: 1 };
    cyclic["self"] = cyclic;
    expect(JSON.stringify(boundDetails(cyclic))).toContain("…");
    expect(boundDetails({ f: () => 1, s: Symbol("x"), u: undefined })).toEqual({
      f: "…",
      s: "…",
      u: "…",
    });
    fc.assert(
      fc.property(fc.object({ maxDepth: 9, maxKeys: 60 }), (value) => {
        const bounded = boundDetails(value);
        expect(JSON.stringify(bounded).length).toBeLessThan(12_000);
        expect(depthOf(bounded)).toBeLessThanOrEqual(4);
      }),
      { numRuns: 200 },
    );
    const wide = Object.fromEntries(
      Array.from({ length: 900 }, (_, i) => [`k${i}`, "x".repeat(500)]),
    );
    expect(Object.keys(boundDetails(wide)).length).toBeLessThanOrEqual(32);
    expect(JSON.stringify(boundDetails({ a: wide, b: wide })).length).toBeLessThan(8_000);
  });
});

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}
