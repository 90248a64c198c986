import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { FIRST_PARTY, importFirstParty } from "../../core/config/first-party.ts";
import type { AnyPlugin, Gateway } from "../../core/index.ts";
import { setupGateway } from "../../core/testing/index.ts";

/** Options without which a plugin would not run alone. */
const OPTIONS: Readonly<Record<string, Record<string, unknown>>> = {
  a2a: { listener: "main", workDir: ".", skills: [{ id: "count", command: ["wc", "-w"] }] },
  gating: { state: false },
  oauth: {
    provider: { issuer: "http://127.0.0.1:9", clientId: "gateway" },
    roles: { caller: "everyone" },
    secretKeys: ["a key of the tests, long enough for it"],
  },
  "oauth-resource": { issuers: { corp: { issuer: "http://127.0.0.1:9" } } },
  "team-auth": { secretKeys: ["a key of the tests, long enough for it"] },
};

/** The routes of a gateway that runs with every plugin that comes with Propylon. */
export async function runningRoutes(): Promise<ReturnType<Gateway["describe"]>["routes"]> {
  const plugins = await Promise.all(
    FIRST_PARTY.map(async (name) => {
      const { default: plugin } = (await importFirstParty(name)) as { default: AnyPlugin };
      return [plugin, OPTIONS[name] ?? {}] as const;
    }),
  );
  const folder = await mkdtemp(join(tmpdir(), "propylon-routes-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const config = { store: `sqlite:${join(folder, "gateway.db")}` };
  const { gateway } = await setupGateway({ plugins, config, client: false });
  return gateway.describe().routes;
}
