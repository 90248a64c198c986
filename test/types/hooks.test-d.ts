import { definePlugin, type GatewayHooks } from "propylon";
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
      gateway.hook("server:state", (name) => expectTypeOf(name).toEqualTypeOf<string>());
    },
  });
  expectTypeOf<GatewayHooks>().toHaveProperty("gateway:ready");
});
