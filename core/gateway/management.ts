import { placeText, type ConfigPath } from "../config/issue.ts";
import { writeConfig, writeServer } from "../config/written.ts";
import { maskConfig, maskGatewayConfig, maskSaid, secretsOfEntry } from "../config/mask.ts";
import type { Places } from "../config/config.ts";
import type { Control, RunningCall } from "../plugin/control.ts";
import { GatewayError } from "../kit/errors.ts";
import { VERSION } from "../kit/version.ts";
import { originsOf } from "../config/origin.ts";
import type { GatewayDescription, GatewayWarning } from "../plugin/description.ts";
import { type Changing, edit, planEdit, planReload, reload, versionOf } from "./changes.ts";
import { authenticatorsOf } from "./describe.ts";
import type { Generation } from "./generation.ts";
import type { Principal } from "../kit/types.ts";
import { makePrincipal } from "../call/principal.ts";
import { type KeptPrincipal, restorePrincipal } from "../call/kept.ts";

/** What management reaches of a gateway: always the current generation. */
export interface Managed extends Changing {
  readonly dryRun: boolean;
  readonly generations: readonly Generation[];
  describe(): GatewayDescription;
  warnings(): readonly GatewayWarning[];
  metrics(): Promise<string>;
  readonly evict: Control["evict"];
}

/** The gateway as its management plugins see it. */
export function createControl(gateway: Managed): Control {
  const { file, dryRun } = gateway;
  const mask = (value: unknown): unknown => maskConfig(value, file?.secrets);
  const compiled = (): Generation["compiled"] => gateway.current.compiled;
  return {
    get servers() {
      return compiled().servers;
    },
    configFile: file?.path,
    dryRun,
    version: VERSION,
    get settings() {
      const { name, version, limits } = gateway.current.config;
      return { name, version, limits };
    },
    get generation() {
      return gateway.current.number;
    },
    get authenticators() {
      return authenticatorsOf(gateway.current);
    },
    describe: () => gateway.describe(),
    warnings: () => gateway.warnings(),
    get eventKinds() {
      return compiled().events?.list ?? [];
    },
    renew: (record) => renew(compiled(), record),
    refusal: (principal, policy) => compiled().guard.refusal(principal, policy),
    shows: (item, principal) => compiled().shows(item, principal),
    exists: (item, principal) => compiled().exists(item, principal),
    exposes: (server, tool) => compiled().exposes(server, tool),
    endpointNames: (server, tool, principal) =>
      compiled().endpointServer.namesOf(server, tool, principal),
    timeouts: (call) => compiled().allowance(call),
    metrics: () => gateway.metrics(),
    placeOf: (path) => placeOf(gateway.current.places, path),
    effectiveConfig: () => maskGatewayConfig(writeConfig(gateway.current.config), file?.secrets),
    serverConfig(name) {
      const { servers } = gateway.current.config;
      return Object.hasOwn(servers, name) ? mask(writeServer(servers[name]!)) : undefined;
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

function placeOf(places: Places, path: ConfigPath): string {
  const { place } = places.place({ path, message: "", hint: "" });
  return placeText(place);
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
): ReturnType<Control["reconnect"]> {
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

/** Somebody with the rights of now; see `Control.renew`. */
function renew(
  { open, authenticators }: Pick<Generation["compiled"], "open" | "authenticators">,
  record: KeptPrincipal,
): Principal | undefined {
  const { ref, expiresAt, origin } = record;
  if (expiresAt !== undefined && expiresAt <= Date.now()) return undefined;
  const principal = restorePrincipal(record);
  if (open) return principal;
  if (origin === undefined) return principal.kind === "anonymous" ? undefined : principal;
  const link = authenticators.find(({ name }) => name === origin);
  if (link?.renew) return link.renew(ref);
  // As if it came now: what ends such a credential ends this, too.
  return link && makePrincipal(principal, origin);
}
