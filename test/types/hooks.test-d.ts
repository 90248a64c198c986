import { definePlugin, type GatewayHooks, type Mutation } from "propylon";
import { expectTypeOf, test } from "vitest";

declare module "propylon" {
  interface GatewayHooks {
    "cache:hit": (key: string) => void;
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
