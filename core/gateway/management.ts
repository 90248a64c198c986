import { placeText, type ConfigPath } from "../config/issue.ts";
import { writeConfig, writeServer } from "../config/written.ts";
import { maskConfig, maskGatewayConfig, maskSaid, secretsOfEntry } from "../config/mask.ts";
import type { Places } from "../config/config.ts";
import type { Control, RunningCall } from "../plugin/control.ts";
import { GatewayError } from "../kit/errors.ts";
import { VERSION } from "../kit/version.ts";
import { originsOf } from "../config/origin.ts";
import { edit, planEdit, planReload, reload, versionOf } from "./activate.ts";
import { authenticatorsOf, describeGateway } from "./describe.ts";
import { evict } from "./evict.ts";
import type { Generation } from "./generation.ts";
import type { GatewayParts } from "./parts.ts";
import type { Principal } from "../kit/types.ts";
import { makePrincipal } from "../call/principal.ts";
import { type KeptPrincipal, restorePrincipal } from "../call/kept.ts";
import { metricsOf } from "./taking-part.ts";

/** The gateway as its management plugins see it: always the current generation. */
export function createControl(parts: () => GatewayParts): Control {
  const mask = (value: unknown): unknown => maskConfig(value, parts().file?.secrets);
  return {
    get servers() {
      return parts().generation.compiled.servers;
    },
    get configFile() {
      return parts().file?.path;
    },
    get dryRun() {
      return parts().dryRun;
    },
    version: VERSION,
    get settings() {
      const { name, version, limits } = parts().generation.config;
      return { name, version, limits };
    },
    get generation() {
      return parts().generation.number;
    },
    get authenticators() {
      return authenticatorsOf(parts().generation);
    },
    describe() {
      const { generation, sockets, seat } = parts();
      return describeGateway(generation, sockets.addresses, seat);
    },
    get panels() {
      return parts().generation.compiled.panels;
    },
    get eventKinds() {
      return parts().generation.compiled.events?.list ?? [];
    },
    renew: (record) => renew(parts().generation, record),
    refusal: (principal, policy) => parts().generation.compiled.guard.refusal(principal, policy),
    shows: (item, principal) => parts().generation.compiled.shows(item, principal),
    exists: (item, principal) => parts().generation.compiled.exists(item, principal),
    exposes: (server, tool) => parts().generation.compiled.exposes(server, tool),
    endpointNames: (server, tool, principal) =>
      parts().generation.compiled.endpointServer.namesOf(server, tool, principal),
    timeouts: (call) => parts().generation.compiled.allowance(call),
    metrics: () => metricsOf(parts()),
    placeOf: (path) => placeOf(parts().generation.places, path),
    effectiveConfig: () =>
      maskGatewayConfig(writeConfig(parts().generation.config), parts().file?.secrets),
    serverConfig(name) {
      const { servers } = parts().generation.config;
      return Object.hasOwn(servers, name) ? mask(writeServer(servers[name]!)) : undefined;
    },
    reload: () => reload(parts()),
    plan: () => planReload(parts()),
    edit: (edits, expected) => edit(parts(), edits, expected),
    checkEdit: (edits) => planEdit(parts(), edits),
    get configVersion() {
      return versionOf(parts());
    },
    configValues() {
      const { generation, file } = parts();
      const masked = maskGatewayConfig(writeConfig(generation.config), file?.secrets);
      return originsOf({ masked, written: generation.written, places: generation.places });
    },
    reconnect: (server) => reconnect(parts(), server),
    calls: () => callsOf(parts()),
    cancel: (call, reason) => cancel(parts(), call, reason),
    tail: (server, lines) => tail(parts(), server, lines),
    evict: (match, reason, options) => evict(parts(), match, reason, options),
  };
}

function placeOf(places: Places, path: ConfigPath): string {
  const { place } = places.place({ path, message: "", hint: "" });
  return placeText(place);
}

/** Calls of the current generation, and of old ones that have not ended yet. */
function callsOf({ generation, outgoing }: GatewayParts): readonly RunningCall[] {
  const now = performance.now();
  const clock = Date.now() - now;
  return [generation, ...outgoing.keys()]
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

function cancel({ generation, outgoing }: GatewayParts, call: string, reason: string): boolean {
  const error = new GatewayError("cancelled", reason);
  return [generation, ...outgoing.keys()].map((each) => each.cancel(call, error)).includes(true);
}

/** Longest line of a child that is shown, in characters. */
const MAX_LINE = 2_000;

/** What a child writes may hold what it was started with. */
function tail({ generation, file }: GatewayParts, name: string, lines: number) {
  const server = generation.compiled.servers.get(name);
  if (!server) throw new GatewayError("not_found", `No server named "${name}".`);
  const secrets = [...(file?.secrets ?? []), ...secretsOfEntry(generation.config.servers[name])];
  return server
    .tail?.(lines)
    .map((line) => maskSaid(line.slice(0, 2 * MAX_LINE), secrets).slice(0, MAX_LINE));
}

async function reconnect(
  { generation }: GatewayParts,
  name: string,
): ReturnType<Control["reconnect"]> {
  const server = generation.compiled.servers.get(name);
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

/** Somebody with the rights of now; see `Control.renew`. */
function renew(
  { compiled }: Pick<Generation, "compiled">,
  record: KeptPrincipal,
): Principal | undefined {
  const { ref, expiresAt, origin } = record;
  if (expiresAt !== undefined && expiresAt <= Date.now()) return undefined;
  const principal = restorePrincipal(record);
  if (compiled.open) return principal;
  if (origin === undefined) return principal.kind === "anonymous" ? undefined : principal;
  const link = compiled.authenticators.find(({ name }) => name === origin);
  if (link?.renew) return link.renew(ref);
  // As if it came now: what ends such a credential ends this, too.
  return link && makePrincipal(principal, origin);
}
