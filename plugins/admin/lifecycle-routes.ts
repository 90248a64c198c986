import { getQuery } from "h3";
import { GatewayError, toGatewayError, type PluginContext, type Principal } from "propylon";
import { pathParameter, checkInput } from "propylon/kit";
import { toEnvelope } from "propylon/internal";
import { z } from "zod";
import type { AdminContext, Administration } from "./administration.ts";

const ACT = { access: "operator", mutates: true, management: true } as const;

const reloadSchema = z.strictObject({ dry: z.enum(["0", "1", "true", "false"]).default("0") });

/** Reading the config again, and connecting servers again. */
export function lifecycleRoutes(gateway: AdminContext, administration: Administration): void {
  const { management } = gateway.services;
  gateway.route("POST", "/_meta/reload", ACT, async (event) => {
    const { dry } = checkInput(getQuery(event), reloadSchema);
    if (dry === "1" || dry === "true") return { ok: true, dry: true, ...(await management.plan()) };
    return { ok: true, ...(await management.reload()) };
  });
  gateway.route("POST", "/_meta/reinit/:server", ACT, async (event) => {
    const name = pathParameter(event, "server");
    administration.find(name);
    await administration.reconnect(name);
    return { ok: true, server: administration.server(name, event.context.principal) };
  });
  gateway.route("POST", "/_meta/reinit", ACT, ({ context }) =>
    reconnectAll(gateway, administration, context.principal),
  );
}

/** @throws {GatewayError} `reinit_failed` when any server did not come back; the others did */
async function reconnectAll(
  gateway: PluginContext,
  administration: Administration,
  asker: Principal,
): Promise<object> {
  const names = [...gateway.info.servers.values()]
    .filter((server) => server.reconnect !== undefined)
    .map(({ name }) => name);
  const outcomes = await Promise.all(names.map((name) => attempt(administration, name)));
  const failed = outcomes.filter(({ ok }) => !ok);
  if (failed.length > 0)
    throw new GatewayError(
      "reinit_failed",
      `${failed.length} of ${names.length} servers did not come back: ${failed.map(({ name }) => name).join(", ")}.`,
      { data: { servers: outcomes }, hint: "Each has its reason in data.servers." },
    );
  return { ok: true, servers: names.map((name) => administration.server(name, asker)) };
}

async function attempt(
  administration: Administration,
  name: string,
): Promise<{ readonly name: string; readonly ok: boolean; readonly error?: object }> {
  try {
    await administration.reconnect(name);
    return { name, ok: true };
  } catch (thrown) {
    return { name, ok: false, error: toEnvelope(toGatewayError(thrown)).error };
  }
}
