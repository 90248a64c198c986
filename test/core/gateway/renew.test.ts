import { expect, it } from "vitest";
import { definePlugin, type GatewayConfigInput } from "../../../core/index.ts";
import { originOf } from "../../../core/kit/principal.ts";
import { createPrincipal, digestOf } from "../../../core/kit.ts";
import { Authenticators } from "propylon/kit";
import { keepPrincipal } from "../../../core/internal.ts";
import { type PluginEntry, setupGateway } from "../../../core/testing/index.ts";

const auth = { keys: { ci: { role: "operator" as const, hash: `sha256:${digestOf("secret")}` } } };
const CI = { ref: "key:ci", roles: ["caller" as const], origin: "keys" };
const ANYBODY = { ref: "anonymous:anonymous", roles: ["admin" as const] };

async function start(config: GatewayConfigInput, plugins: readonly PluginEntry[] = []) {
  const { gateway } = await setupGateway({ config, plugins, client: false });
  return gateway.info;
}

it("somebody whom a store kept has the rights of now, and nobody who would not be let in", async () => {
  const info = await start({ auth });
  expect(info.renew(CI)).toMatchObject({ ref: "key:ci", roles: new Set(["operator"]) });
  const plugin = keepPrincipal(createPrincipal({ id: "a", kind: "agent", roles: new Set() }));
  expect(info.renew(plugin)).toMatchObject({ ref: "agent:a", roles: new Set() });
  const user = { ref: "user:ada", roles: ["caller" as const], expiresAt: Date.now() + 60_000 };
  expect(info.renew(user)).toMatchObject({ ref: "user:ada" });
  for (const gone of [
    { ...CI, ref: "key:gone" },
    { ...user, expiresAt: Date.now() - 1 },
    { ...user, origin: "left" },
    ANYBODY,
  ])
    expect(info.renew(gone)).toBeUndefined();
});

it("where everyone is let in, everyone has the rights of then", async () => {
  const info = await start({});
  expect(info.renew(ANYBODY)).toMatchObject({ kind: "anonymous", roles: new Set(["admin"]) });
  expect(info.renew(CI)).toMatchObject({ ref: "key:ci", roles: new Set(["caller"]) });
});

it("who came by an authenticator of a plugin is ended with it, as those who come now", async () => {
  const directory = definePlugin({
    name: "directory",
    setup: (gateway) =>
      gateway.add(Authenticators, { name: "directory", authenticate: () => undefined }),
  });
  const info = await start({ auth }, [directory]);
  const kept = { ref: "user:ada", roles: ["caller" as const], origin: "directory" };
  expect(originOf(info.renew(kept)!)).toBe("directory");
});
