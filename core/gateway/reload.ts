import { isDeepStrictEqual } from "node:util";
import { blame, buildScopes, comparePlugins, extendConfig, withTimeout } from "./setup.ts";
import { compile } from "./compile.ts";
import type { CheckedConfig } from "../loading/check.ts";
import type { Config } from "../config/config.ts";
import type { GatewayConfig } from "../config/schema.ts";
import { type Credits, droppedBetween } from "../http/authenticator.ts";
import { evictDropped } from "./evict.ts";
import { selectorsOf } from "../loading/selectors.ts";
import { Generation } from "./generation.ts";
import { refuseUnknownNames } from "./unknown-names.ts";
import type { ReloadPlan } from "../plugin/control.ts";
import type { ReloadReport } from "../plugin/hooks.ts";
import type { GatewayParts } from "./parts.ts";
import type { RegisteredCheck } from "../plugin/plugin-checks.ts";
import type { Abortion } from "../call/pipeline.ts";
import { InFlightSet } from "../call/cancellation.ts";
import { disposeScope, startScope, type Scope } from "./scope.ts";
import type { SocketPlan } from "../http/listeners.ts";
import { defaultListener } from "../http/route-table.ts";
import { typedServers } from "./server-types.ts";
import { Unwinding } from "./keep.ts";
import type { ServerPlan } from "./pool.ts";

/** Settings that were read once, when the gateway was made. */
const FIXED = ["name", "version", "publicUrl", "store", "workers", "limits", "log"] as const;

/** A generation that is set up and does not serve yet: nothing of it runs. */
interface Candidate {
  readonly config: Config;
  readonly generation: Generation;
  readonly fresh: readonly Scope[];
  readonly servers: ServerPlan;
  readonly changes: ReloadPlan;
}

/** How to apply a config; everything has a default. */
export interface ApplyOptions {
  /** Changes nothing where the config is in force already. Default: false. */
  readonly unlessSame?: boolean;
  /** Runs last before the swap, when all that can fail has gone well; a rejection is a failure like any other. */
  readonly commit?: () => Promise<void>;
}

/**
 * Applies a config, all or nothing: prepare, open, swap, drain and dispose the old. On a failure everything new is undone, last
 * done first, and the old generation never stopped serving.
 */
export async function applyConfig(
  parts: GatewayParts,
  checked: CheckedConfig,
  { unlessSame = false, commit }: ApplyOptions = {},
): Promise<ReloadReport> {
  const undo = new Unwinding();
  let candidate: Candidate;
  let isApplied: boolean;
  let sockets: SocketPlan | undefined;
  try {
    candidate = await prepare(parts, checked, undo);
    isApplied = !(unlessSame && isSame(candidate, parts.generation));
    if (isApplied) sockets = await open(parts, candidate, undo);
    await commit?.();
  } catch (error) {
    await abort(parts, undo);
    throw error;
  }
  if (isApplied) await swap(parts, candidate, sockets);
  // The same may stand on other lines now.
  else parts.generation.places = candidate.config.places;
  return {
    ...candidate.changes,
    applied: isApplied,
    generation: parts.generation.number,
    at: new Date().toISOString(),
  };
}

/** What applying a config would change: it is prepared, and taken back. Nothing of it runs meanwhile. */
export async function planConfig(parts: GatewayParts, checked: CheckedConfig): Promise<ReloadPlan> {
  const undo = new Unwinding();
  try {
    return (await prepare(parts, checked, undo)).changes;
  } finally {
    await abort(parts, undo);
  }
}

async function abort({ log }: GatewayParts, undo: Unwinding): Promise<void> {
  for (const failure of await undo.run())
    log.error({ err: failure }, "a config that was not applied left something behind");
}

function isSame({ generation, changes }: Candidate, old: Generation): boolean {
  return isDeepStrictEqual(generation.written, old.written) && changes.plugins.changed.length === 0;
}

/** Sets up what is new or changed, and makes of it what will serve. Opens, starts and connects nothing. */
async function prepare(
  parts: GatewayParts,
  checked: CheckedConfig,
  undo: Unwinding,
): Promise<Candidate> {
  const { generation: old, kept, pool, sockets, scopeHost: host, log, guesses } = parts;
  const snapshot = kept.snapshot();
  undo.add(() => kept.restore(snapshot));
  const fresh: Scope[] = [];
  const onCreate = (scope: Scope): void => {
    fresh.push(scope);
    undo.add(() => disposeScope(scope));
  };
  const scopes = await buildScopes({ checked, current: old.scopes, host, onCreate });
  const written = checked.config.values;
  const extended = extendConfig(checked.config, scopes);
  const config = extended.values;
  const plan = pool.plan(typedServers(extended, scopes));
  undo.add(() => plan.abort());
  const running = new InFlightSet<Abortion>();
  const { servers } = plan;
  const { places } = extended;
  const compiled = compile({ config: extended, scopes, servers, running, log, guesses });
  const number = old.number === 0 ? (parts.seat?.generation ?? 1) : old.number + 1;
  const selecting = checked.plugins.filter(({ plugin }) => "selects" in plugin);
  const selectors = selecting.length === 0 ? [] : selectorsOf(selecting);
  const made = { number, written, config, places, scopes, selectors, compiled, running };
  const generation = new Generation(made);
  if (selectors.length > 0) refuseUnknownNames(generation);
  return {
    config: extended,
    generation,
    fresh,
    servers: plan,
    changes: {
      plugins: comparePlugins(old.scopes, scopes),
      servers: plan.changes,
      restartRequired: [
        ...sockets.restartRequired(config),
        ...(old.number > 0 ? fixedSettings(old.written, written) : []),
        ...replacedPlugins(parts, written),
      ],
    },
  };
}

/** Opens the listeners, starts the plugins of a candidate, and its servers when their plugin has started. */
async function open(
  { listening, sockets }: GatewayParts,
  { config, generation, fresh, servers }: Candidate,
  undo: Unwinding,
): Promise<SocketPlan | undefined> {
  const opened = listening ? await sockets.plan(generation.config) : undefined;
  undo.add(() => opened?.abort());
  for (const scope of generation.scopes) {
    if (fresh.includes(scope)) await start(scope, config);
    servers.start(scope);
  }
  return opened;
}

async function start(scope: Scope, config: Config): Promise<void> {
  try {
    await withTimeout(startScope(scope), config.values.timeouts.setup, "start");
  } catch (error) {
    throw blame(scope.name, "could not be started", error, { key: scope.key, config });
  }
}

/** Everything up to the first `await` happens at once: no request meets half a generation. */
async function swap(
  parts: GatewayParts,
  { generation, servers }: Candidate,
  sockets: SocketPlan | undefined,
): Promise<void> {
  const old = parts.generation;
  const { drain } = generation.config.timeouts;
  const earlier = [...parts.retiring];
  parts.generation = generation;
  const closing = sockets?.commit() ?? [];
  parts.hooks.swap(generation.compiled.hooks);
  generation.compiled.endpointServer.update(generation.compiled.endpoints);
  serveGeneration(parts);
  parts.outgoing.set(old, old.whenIdle(drain));
  const revoked =
    old.number === 0 ? undefined : droppedBetween(creditsOf(old), creditsOf(generation));
  if (revoked) evictDropped(parts, revoked);
  // A middleware may still hold a call that an old generation will send to a replaced server.
  const arrived = Promise.all(parts.outgoing.values());
  void track(parts, servers.commit(drain, arrived));
  for (const listener of closing) {
    parts.leaving.add(listener);
    void track(parts, listener.close(drain)).finally(() => parts.leaving.delete(listener));
  }
  const keys = new Set(generation.scopes.map(({ key }) => key));
  const dropped = parts.kept.take(parts.kept.plugins.filter((key) => !keys.has(key)));
  const leaving = old.scopes.filter((scope) => !generation.scopes.includes(scope));
  const retired = track(parts, retire(parts, old, { earlier, leaving, dropped }));
  // A call may apply a config itself, so one that is still in flight must not be waited for.
  if (old.inFlight === 0 && earlier.length === 0) await retired;
}

/** Remembers what goes on behind a reload, so that a shutdown waits for it. Never rejects. */
function track({ retiring, log }: GatewayParts, work: Promise<void>): Promise<void> {
  const tracked = work
    .catch((error: unknown) =>
      log.error({ err: error }, "something of the old configuration could not be closed"),
    )
    .finally(() => retiring.delete(tracked));
  retiring.add(tracked);
  return tracked;
}

function creditsOf({ config, compiled }: Generation): Credits {
  return { auth: config.auth, links: compiled.authenticators };
}

/** What leaves with an old generation. */
interface Leaving {
  /** Retirements under way: their calls may use the same scopes. Their drain times run beside this one's. */
  readonly earlier: readonly Promise<void>[];
  readonly leaving: readonly Scope[];
  readonly dropped: Unwinding;
}

/** Waits for the calls of an old generation, then undoes what the new one did not take over, last first. */
async function retire(
  { log, outgoing }: Pick<GatewayParts, "log" | "outgoing">,
  old: Generation,
  { earlier, leaving, dropped }: Leaving,
): Promise<void> {
  if (!(await outgoing.get(old))) {
    log.warn(
      { calls: old.inFlight },
      "the drain time is over: calls of the old configuration are aborted",
    );
    old.abort();
  }
  outgoing.delete(old);
  await Promise.all(earlier);
  for (const scope of leaving.toReversed()) await disposeScope(scope);
  for (const error of await dropped.run())
    log.error({ err: error }, "a kept value could not be disposed");
}

/** Settings that differ and that only a restart applies. */
function fixedSettings(before: GatewayConfig, after: GatewayConfig): string[] {
  return FIXED.filter((key) => !isDeepStrictEqual(before[key], after[key]));
}

/** Plugins of a config that run as they were before their package was installed anew. */
function replacedPlugins(
  { file }: Pick<GatewayParts, "file">,
  { plugins }: GatewayConfig,
): string[] {
  const used = (file?.replaced ?? []).filter((key) => (plugins[key] ?? false) !== false);
  return used.map((key) => `plugins.${key}`);
}

/** Points every open listener at the current generation. */
export function serveGeneration(parts: GatewayParts): void {
  const { generation, sockets, hooks, leases, log, seat } = parts;
  const { compiled, config } = generation;
  const checks = generation.scopes.flatMap((scope) => scope.checks);
  sockets.swap((name) => ({
    name: config.name,
    routes: compiled.routes.get(name) ?? [],
    endpoints: compiled.endpointServer.handlersOf(name),
    sockets: compiled.sockets.get(name) ?? new Map(),
    page: name === defaultListener(config) ? compiled.page : undefined,
    checks: [...checks, ...storeChecks(parts), ...(seat ? [seat.check] : [])],
    guard: compiled.guard,
    bodyLimit: config.limits.body,
    maxDepth: config.limits.depth,
    leases,
    log,
    onMutation: (mutation) => hooks.emit("mutation", mutation),
  }));
}

/** Whether the store has been away for too long; a gateway whose store is its own memory says nothing of it. */
function storeChecks({ store, generation }: GatewayParts): readonly RegisteredCheck[] {
  const { connection } = store;
  if (!connection.driver.durable) return [];
  const ask = (): string | undefined =>
    connection.awayFor > generation.config.timeouts.store
      ? "The store does not answer."
      : undefined;
  return [{ name: "store", ask }];
}
