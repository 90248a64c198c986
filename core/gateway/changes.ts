import { basename } from "node:path";
import type { Logger } from "pino";
import type { ConfigSource, ConfigWatch, WatchTimes } from "./check/config-source.ts";
import type { CheckedConfig } from "./check/check.ts";
import type { ReloadPlan } from "../plugin/management-service.ts";
import { GatewayError, toGatewayError } from "../kit/errors.ts";
import type { ReloadReport } from "../plugin/hooks.ts";
import type { GatewayStore } from "../store/gateway-store.ts";
import type { HookEmitter } from "./emitter.ts";
import type { Generation } from "./generation.ts";
import { collectMetrics } from "./metrics.ts";
import type { Seat } from "./seat.ts";

/** How to put a config into force; everything has a default. */
export interface ChangeOptions {
  /** Changes nothing where the config is in force already. Default: false. */
  readonly unlessSame?: boolean;
  /** Runs last before the swap, when all that can fail has gone well; a rejection is a failure like any other. */
  readonly commit?: () => Promise<void>;
}

/** A gateway whose config is changed. */
export interface Changing {
  readonly log: Logger;
  readonly hooks: HookEmitter;
  readonly file: ConfigSource | undefined;
  readonly seat: Seat | undefined;
  readonly current: Generation;
  readonly isDraining: boolean;
  /** Does one piece of work on the gateway as a whole at a time. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  /** Puts a config into force. */
  activate(checked: CheckedConfig, options?: ChangeOptions): Promise<ReloadReport>;
  /** What putting a config into force would change. */
  plan(checked: CheckedConfig): Promise<ReloadPlan>;
}

/** Puts a config into force; the first one of a gateway is not a reload. */
export function changeConfig(
  gateway: Changing,
  read: () => Promise<CheckedConfig>,
): Promise<ReloadReport> {
  const work = async (): Promise<ReloadReport> => gateway.activate(await read());
  return change(gateway, () => (gateway.current.number === 0 ? work() : attempt(gateway, work)));
}

/**
 * The part of one worker when all are to apply a config: it is put into force once `vote` resolves.
 *
 * @param text in place of what the config's file holds
 */
function applyTogether(
  gateway: Changing,
  text: string | undefined,
  vote: () => Promise<void>,
): Promise<ReloadReport> {
  const work = async (): Promise<ReloadReport> =>
    gateway.activate(await fileOf(gateway).check(text), { unlessSame: true, commit: vote });
  // A failure is told by the primary, once for all.
  return change(gateway, () => attempt(gateway, work, () => true));
}

/** {@link reloadNow}, unless another change has taken in by now what the files hold. Never rejects: failures are told. */
async function reloadIfChanged(gateway: Changing): Promise<void> {
  await change(gateway, async () => {
    const file = fileOf(gateway);
    const { scopes } = gateway.current;
    if ((await file.isChanged()) || scopes.some(({ sources }) => sources.isChanged()))
      await reloadNow(gateway, file);
  }).catch(() => {});
}

/**
 * Reloads whenever the config file, its `.env` or a local plugin changes, until the gateway drains.
 *
 * @throws {GatewayError} `no_config` when the gateway was not made from a file
 */
export async function watchConfig(gateway: Changing, times: WatchTimes): Promise<ConfigWatch> {
  const { file, hooks } = gateway;
  if (!file) throw new GatewayError("no_config", "There is no config file to watch.");
  const onChange = (): Promise<void> => reloadIfChanged(gateway);
  const files = (): readonly string[] => [
    ...file.files,
    ...gateway.current.scopes.flatMap(({ sources }) => sources.files),
  ];
  const watcher = await file.watch({ ...times, files, onChange });
  const listener = (): void => void watcher.close();
  hooks.add({ owner: "application", hook: "gateway:drain", listener });
  // What was saved between the load and the start of the watch.
  await onChange();
  return watcher;
}

/** Lets a gateway do with the other workers of its machine what they do as one. */
export function takePart(gateway: Changing & { readonly store: GatewayStore }): void {
  const { seat, hooks, store } = gateway;
  if (!seat) return;
  seat.takePart({
    apply: (text, vote) => applyTogether(gateway, text, vote),
    refuse: (cause) => hooks.emit("reload:failed", reloadError(cause)),
  });
  seat.tellReplica(store.connection.replica, (gone) => void store.forget(gone));
  seat.tellMetrics(() => collectMetrics(gateway.current.scopes));
}

/** Makes one change at a time, for all who ask. A closed gateway refuses it. */
export function change<T>(gateway: Changing, work: () => Promise<T>): Promise<T> {
  return gateway.inTurn(() => {
    if (gateway.isDraining) throw new GatewayError("draining", "The gateway is closed.");
    return work();
  });
}

/** @throws {GatewayError} `no_config` without one */
export function fileOf({ file }: Changing): ConfigSource {
  if (file) return file;
  throw new GatewayError("no_config", "The gateway was not started from a config file.", {
    hint: "Start it with propylon start <file>.",
  });
}

/** Reads the config file again and puts it into force; says so when that already is. */
export function reloadNow(gateway: Changing, file: ConfigSource): Promise<ReloadReport> {
  return attempt(gateway, async () => gateway.activate(await file.load(), { unlessSame: true }));
}

/** Tells how a reload went, once. */
export async function attempt(
  gateway: Changing,
  work: () => Promise<ReloadReport>,
  isNoReload: (error: unknown) => boolean = () => false,
): Promise<ReloadReport> {
  let report: ReloadReport;
  try {
    report = await work();
  } catch (cause) {
    if (isNoReload(cause)) throw cause;
    const error = reloadError(toGatewayError(cause));
    tellFailure(gateway, error);
    throw error;
  }
  gateway.hooks.emit("reload:done", report);
  return report;
}

/** Tells why a config was refused. */
function tellFailure({ log, hooks }: Changing, error: GatewayError): void {
  const { place, hint, cause, message } = error;
  const isBug = toGatewayError(cause).code === "internal";
  log.error({ place, hint, ...(isBug && { err: cause }) }, message);
  hooks.emit("reload:failed", error);
}

/** What a failed reload tells: the cause's words, place and hint. */
export function reloadError(cause: GatewayError): GatewayError {
  const words =
    cause.code === "no_config"
      ? `${basename(cause.place?.file ?? "The config")} is gone.`
      : cause.message;
  return new GatewayError(
    "reload_failed",
    `The new config was not applied, the old one still serves. ${words}`,
    {
      cause,
      ...(cause.place && { place: cause.place }),
      ...(cause.hint !== undefined && { hint: cause.hint }),
      data: { ...cause.data, reason: cause.code },
    },
  );
}
