import { basename } from "node:path";
import type { ConfigFile } from "../loading/file.ts";
import type { CheckedConfig } from "../loading/check.ts";
import type { ConfigDraft, ConfigEdit } from "../config/write.ts";
import type { ReloadPlan } from "../plugin/control.ts";
import { GatewayError, toGatewayError } from "../kit/errors.ts";
import type { ReloadReport } from "../plugin/hooks.ts";
import type { GatewayParts } from "./parts.ts";
import type { Seat } from "./seat.ts";
import { applyConfig, planConfig, type ApplyOptions } from "./reload.ts";

/** Puts a config into force; the first one of a gateway is no reload. */
export function activate(
  parts: GatewayParts,
  read: () => Promise<CheckedConfig>,
): Promise<ReloadReport> {
  const work = async (): Promise<ReloadReport> => put(parts, await read());
  return change(parts, () => (parts.generation.number === 0 ? work() : attempt(parts, work)));
}

/** Reads the config file again and puts it into force; says so when that already is. */
export async function reload(parts: GatewayParts): Promise<ReloadReport> {
  const file = fileOf(parts);
  if (parts.seat) return refusedAs(parts.seat.reload());
  return change(parts, () => reloadNow(parts, file));
}

/**
 * The part of one worker when all are to apply a config: it is put into force once `vote` resolves.
 *
 * @param text in place of what the config's file holds
 */
export function applyTogether(
  parts: GatewayParts,
  text: string | undefined,
  vote: () => Promise<void>,
): Promise<ReloadReport> {
  const work = async (): Promise<ReloadReport> =>
    put(parts, await fileOf(parts).check(text), { unlessSame: true, commit: vote });
  // A failure is told by the primary, once for all.
  return change(parts, () => attempt(parts, work, () => true));
}

/** An error of the primary as one of a reload. */
async function refusedAs(work: Promise<ReloadReport>): Promise<ReloadReport> {
  try {
    return await work;
  } catch (cause) {
    throw reloadError(toGatewayError(cause));
  }
}

/** {@link reload}, unless another change has taken in by now what the files hold. Never rejects: failures are told. */
export async function reloadIfChanged(parts: GatewayParts): Promise<void> {
  await change(parts, async () => {
    const file = fileOf(parts);
    const { scopes } = parts.generation;
    if ((await file.isChanged()) || scopes.some(({ sources }) => sources.isChanged()))
      await reloadNow(parts, file);
  }).catch(() => {});
}

/** What {@link reload} would do. */
export function planReload(parts: GatewayParts): Promise<ReloadPlan> {
  return change(parts, () => plan(parts, fileOf(parts)));
}

/**
 * Edits the config file and puts the result into force. The file is written last, when all that could fail has gone well: one
 * that cannot be activated never gets there, so there is nothing to roll back, whenever the process dies.
 */
export function edit(
  parts: GatewayParts,
  edits: readonly ConfigEdit[],
  expected?: string,
): Promise<ReloadReport> {
  if (parts.seat) return editTogether(parts, parts.seat, { edits, expected });
  return change(parts, async () => {
    const file = editable(parts, expected);
    const { text, write, failure } = watched(await file.draft(edits));
    return attempt(
      parts,
      async () => put(parts, await file.check(text), { unlessSame: true, commit: write }),
      (error) => error === failure(),
    );
  });
}

/** The file is written when all workers could apply it. */
async function editTogether(
  parts: GatewayParts,
  seat: Seat,
  { edits, expected }: { edits: readonly ConfigEdit[]; expected: string | undefined },
): Promise<ReloadReport> {
  const draft = await change(parts, () => editable(parts, expected).draft(edits));
  const { text, write, failure } = watched(draft);
  try {
    return await seat.change(text, write);
  } catch (cause) {
    throw failure() ?? reloadError(toGatewayError(cause));
  }
}

/** A draft that tells a failure to write it from all else that may go wrong meanwhile. */
function watched({ text, write }: ConfigDraft) {
  let failure: unknown;
  return {
    text,
    failure: () => failure,
    write: (): Promise<void> =>
      write().catch((error: unknown) => {
        failure = error;
        throw error;
      }),
  };
}

/** What {@link edit} would do; the file stays as it is. */
export function planEdit(parts: GatewayParts, edits: readonly ConfigEdit[]): Promise<ReloadPlan> {
  return change(parts, async () => {
    const file = editable(parts);
    return plan(parts, file, (await file.draft(edits)).text);
  });
}

/** @param text in place of what the file holds */
async function plan(parts: GatewayParts, file: ConfigFile, text?: string): Promise<ReloadPlan> {
  try {
    return await planConfig(parts, await file.check(text));
  } catch (cause) {
    throw reloadError(toGatewayError(cause));
  }
}

/** Names the config in force: another with every config that is applied, and after a restart with another text. */
export function versionOf({ generation, file }: GatewayParts): string {
  return `${generation.number}-${file?.version.slice(0, 16) ?? "none"}`;
}

/** @param expected names the config that the edits were made for; default: any */
function editable(parts: GatewayParts, expected?: string): ConfigFile {
  if (!parts.file)
    throw new GatewayError("no_config_mode", "The gateway runs without a config file.", {
      hint: "Start it with propylon start <file>.",
    });
  if (expected === undefined || expected === versionOf(parts)) return parts.file;
  throw new GatewayError("exists", "The config was changed by somebody else in between.", {
    hint: "Look at it again and repeat the change.",
    data: { reason: "changed" },
  });
}

/** One piece of work on the gateway as a whole at a time, each begun when the one before has ended, however it ended. */
export function inTurn<T>(parts: GatewayParts, work: () => Promise<T>): Promise<T> {
  const result = parts.turn.then(work);
  parts.turn = result.catch(() => {});
  return result;
}

/** One change at a time, whoever asks for it; none once the gateway is closed. */
function change<T>(parts: GatewayParts, work: () => Promise<T>): Promise<T> {
  return inTurn(parts, () => {
    if (parts.draining) throw new GatewayError("draining", "The gateway is closed.");
    return work();
  });
}

function fileOf({ file }: GatewayParts): ConfigFile {
  if (file) return file;
  throw new GatewayError("no_config", "The gateway was not started from a config file.", {
    hint: "Start it with propylon start <file>.",
  });
}

function reloadNow(parts: GatewayParts, file: ConfigFile): Promise<ReloadReport> {
  return attempt(parts, async () => put(parts, await file.load(), { unlessSame: true }));
}

async function put(
  parts: GatewayParts,
  checked: CheckedConfig,
  options?: ApplyOptions,
): Promise<ReloadReport> {
  const report = await applyConfig(parts, checked, options);
  parts.file?.adopt(checked.config);
  return report;
}

/** Tells how a reload went, once. */
async function attempt(
  parts: GatewayParts,
  work: () => Promise<ReloadReport>,
  isNoReload: (error: unknown) => boolean = () => false,
): Promise<ReloadReport> {
  let report: ReloadReport;
  try {
    report = await work();
  } catch (cause) {
    if (isNoReload(cause)) throw cause;
    const error = reloadError(toGatewayError(cause));
    tellFailure(parts, error);
    throw error;
  }
  parts.hooks.emit("reload:done", report);
  return report;
}

/** Tells why a config was refused. */
function tellFailure({ log, hooks }: GatewayParts, error: GatewayError): void {
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
