import { maskConfig, maskSaid, secretsOfEntry } from "../../kit/mask.ts";
import { maskGatewayConfig } from "../../config/shown.ts";
import { originsOf } from "./origin.ts";
import { writeConfig, writeServer } from "../../config/config.ts";
import { collectWarnings } from "./warnings.ts";
import { GatewayError } from "../../kit/errors.ts";
import type { Management, RunningCall } from "../../plugin/management-service.ts";
import type { Managed } from "../gateway-options.ts";
import type { Changing } from "../changes.ts";
import { edit, planEdit, planReload, reload, versionOf } from "./config-changes.ts";
import type { Generation } from "../generation.ts";
import { renderMetrics, renderTogether } from "../metrics.ts";

/** The gateway as those who manage it reach it. */
export function createManagement(gateway: Managed): Management {
  const { file } = gateway;
  const compiled = (): Generation["compiled"] => gateway.current.compiled;
  return {
    configFile: file?.path,
    warnings: () => collectWarnings(gateway),
    metrics: async () =>
      gateway.seat
        ? renderTogether(await gateway.seat.metrics())
        : renderMetrics(gateway.current.scopes),
    endpointNames: (server, tool, principal) =>
      compiled().endpointServer.namesOf(server, tool, principal),
    serverConfig(name) {
      const { servers } = gateway.current.config;
      if (!Object.hasOwn(servers, name)) return undefined;
      return maskConfig(writeServer(servers[name]!), file?.secrets);
    },
    reload: () => reload(gateway),
    plan: () => planReload(gateway),
    edit: (edits, expected) => edit(gateway, edits, expected),
    checkEdit: (edits) => planEdit(gateway, edits),
    get configVersion() {
      return versionOf(gateway);
    },
    configValues() {
      const { config, written, places } = gateway.current;
      const masked = maskGatewayConfig(writeConfig(config), file?.secrets);
      return originsOf({ masked, written, places });
    },
    reconnect: (server) => reconnect(compiled(), server),
    calls: () => callsOf(gateway.generations),
    cancel: (call, reason) => cancel(gateway.generations, call, reason),
    tail: (server, lines) => tail(gateway, server, lines),
    evict: (match, reason, options) => gateway.evict(match, reason, options),
  };
}

/** Calls of the current generation, and of old ones that have not ended yet. */
function callsOf(generations: readonly Generation[]): readonly RunningCall[] {
  const now = performance.now();
  const clock = Date.now() - now;
  return generations
    .flatMap((each) => [...each.calls().values()])
    .toSorted((a, b) => a.started - b.started || (a.call.id < b.call.id ? -1 : 1))
    .map(({ call, started }) => {
      const { id, method, source, endpoint, server, name, principal } = call;
      const isTimed = started > 0;
      const startedAt = isTimed ? new Date(clock + started).toISOString() : null;
      const ms = isTimed ? Math.round(now - started) : null;
      return { id, method, source, endpoint, server, name, principal, startedAt, ms, started };
    });
}

function cancel(generations: readonly Generation[], call: string, reason: string): boolean {
  const error = new GatewayError("cancelled", reason);
  return generations.map((each) => each.cancel(call, error)).includes(true);
}

/** Longest line of a child that is shown, in characters. */
const MAX_LINE = 2_000;

/** What a child writes may hold what it was started with. */
function tail({ current, file }: Changing, name: string, lines: number) {
  const server = current.compiled.servers.get(name);
  if (!server) throw new GatewayError("not_found", `No server named "${name}".`);
  const secrets = [...(file?.secrets ?? []), ...secretsOfEntry(current.config.servers[name])];
  return server
    .tail?.(lines)
    .map((line) => maskSaid(line.slice(0, 2 * MAX_LINE), secrets).slice(0, MAX_LINE));
}

async function reconnect(
  { servers }: Pick<Generation["compiled"], "servers">,
  name: string,
): ReturnType<Management["reconnect"]> {
  const server = servers.get(name);
  if (!server) throw new GatewayError("not_found", `No server named "${name}".`);
  await server.reconnect?.();
  const { status } = server;
  if (status.state === "ready" || status.state === "degraded") return status;
  throw new GatewayError("reinit_failed", `Server "${name}" did not come back: ${status.reason}`, {
    data: {
      server: name,
      state: status.state,
      ...(status.nextRetryAt && { nextRetryAt: status.nextRetryAt }),
    },
    hint: "Check the server itself; the gateway keeps trying.",
  });
}
