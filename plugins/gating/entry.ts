import type { GatingContext } from "./context.ts";
import type { Flag } from "./service.ts";

type Gateway = Pick<GatingContext, "info" | "emit" | "services">;

/** Whether a server is in the config and left out there: its entry says `enabled: false`. */
export function isLeftOut({ info, services }: Gateway, name: string): boolean {
  // Looking an entry up costs; what runs is not left out.
  if (info.servers.has(name)) return false;
  const entry = services.management.serverConfig(name) as
    | { readonly enabled?: boolean }
    | undefined;
  return entry?.enabled === false;
}

/**
 * Takes servers into the gateway that the config leaves out and that are to be switched on: no flag could, since they do not run.
 *
 * @returns the flags that this fulfilled
 * @throws {GatewayError} as `management.edit`; then nothing changed
 */
export async function takeIn(
  gateway: Gateway,
  flags: readonly Flag[],
  by: string,
): Promise<readonly Flag[]> {
  const wanted = flags.filter(
    ({ server, tool, enabled }) => tool === undefined && enabled && isLeftOut(gateway, server),
  );
  if (wanted.length === 0) return [];
  const names = [...new Set(wanted.map(({ server }) => server))];
  await gateway.services.management.edit(
    names.map((name) => ({ path: ["servers", name, "enabled"], value: true })),
  );
  const first = names.map((name) => wanted.find(({ server }) => server === name)!);
  for (const flag of first) gateway.emit("gating:changed", { ...flag, by });
  return first;
}
