import { definePlugin, type GatewayHooks, type Mutation } from "propylon";
import { EventKinds } from "propylon/kit";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";

declare module "propylon" {
  interface GatewayHooks {
    "cache:hit": (key: string) => void;
    cache_filled: (news: { readonly entries: number }) => void;
  }
}

test("a plugin adds hooks of its own, under the package's public name", () => {
  definePlugin({
    name: "cache",
    setup(gateway) {
      gateway.hook("cache:hit", (key) => expectTypeOf(key).toEqualTypeOf<string>());
      gateway.emit("cache:hit", "k");
      // @ts-expect-error: the key is a string
      gateway.emit("cache:hit", 7);
      // @ts-expect-error: only the core emits its own hooks
      gateway.emit("gateway:ready");
      // @ts-expect-error: nor does a plugin forge a line of the audit
      gateway.emit("mutation", {} as Mutation);
      gateway.hook("server:state", (name) => expectTypeOf(name).toEqualTypeOf<string>());
    },
  });
  expectTypeOf<GatewayHooks>().toHaveProperty("gateway:ready");
});

test("the schema of a kind of events says what its hook is told", () => {
  const filled = {
    kind: "cache_filled",
    description: "The cache was filled.",
    access: "viewer",
  } as const;
  const data = z.strictObject({ entries: z.int() });
  definePlugin({
    name: "cache",
    setup(gateway) {
      gateway.add(EventKinds, { ...filled, data });
      // @ts-expect-error: the hook is told a number
      gateway.add(EventKinds, { ...filled, data: z.strictObject({ entries: z.string() }) });
      // @ts-expect-error: the data has no such member
      gateway.add(EventKinds, { ...filled, data, owner: "by" });
      // @ts-expect-error: a kind needs a hook of its name
      gateway.add(EventKinds, { ...filled, data, kind: "cache_emptied" });
    },
  });
});
