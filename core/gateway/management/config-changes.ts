import type { ConfigDraft, ConfigEdit } from "../../config/edit.ts";
import { GatewayError, toGatewayError } from "../../kit/errors.ts";
import type { ConfigSource } from "../check/config-source.ts";
import type { ReloadReport } from "../../plugin/hooks.ts";
import type { ReloadPlan } from "../../plugin/management-service.ts";
import { attempt, change, type Changing, fileOf, reloadError, reloadNow } from "../changes.ts";
import type { Seat } from "../seat.ts";

/** Reads the config file again and puts it into force; says so when that already is. */
export async function reload(gateway: Changing): Promise<ReloadReport> {
  const file = fileOf(gateway);
  if (gateway.seat) return refusedAs(gateway.seat.reload());
  return change(gateway, () => reloadNow(gateway, file));
}

/** An error of the primary as one of a reload. */
async function refusedAs(work: Promise<ReloadReport>): Promise<ReloadReport> {
  try {
    return await work;
  } catch (cause) {
    throw reloadError(toGatewayError(cause));
  }
}

/** What {@link reload} would do. */
export function planReload(gateway: Changing): Promise<ReloadPlan> {
  return change(gateway, () => plan(gateway, fileOf(gateway)));
}

/**
 * Edits the config file and puts the result into force. The file is written last, when all that could fail has gone well: one
 * that cannot be activated never gets there, so there is nothing to roll back, whenever the process dies.
 */
export function edit(
  gateway: Changing,
  edits: readonly ConfigEdit[],
  expected?: string,
): Promise<ReloadReport> {
  if (gateway.seat) return editTogether(gateway, gateway.seat, { edits, expected });
  return change(gateway, async () => {
    const file = editable(gateway, expected);
    const { text, write, failure } = watched(await file.draft(edits));
    return attempt(
      gateway,
      async () => gateway.activate(await file.check(text), { unlessSame: true, commit: write }),
      (error) => error === failure(),
    );
  });
}

/** The file is written when all workers could apply it. */
async function editTogether(
  gateway: Changing,
  seat: Seat,
  { edits, expected }: { edits: readonly ConfigEdit[]; expected: string | undefined },
): Promise<ReloadReport> {
  const draft = await change(gateway, () => editable(gateway, expected).draft(edits));
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
export function planEdit(gateway: Changing, edits: readonly ConfigEdit[]): Promise<ReloadPlan> {
  return change(gateway, async () => {
    const file = editable(gateway);
    return plan(gateway, file, (await file.draft(edits)).text);
  });
}

/** @param text in place of what the file holds */
async function plan(gateway: Changing, file: ConfigSource, text?: string): Promise<ReloadPlan> {
  try {
    return await gateway.plan(await file.check(text));
  } catch (cause) {
    throw reloadError(toGatewayError(cause));
  }
}

/** Names the config in force: another with every config that is applied, and after a restart with another text. */
export function versionOf({ current, file }: Changing): string {
  return `${current.number}-${file?.version.slice(0, 16) ?? "none"}`;
}

/** @param expected names the config that the edits were made for; default: any */
function editable(gateway: Changing, expected?: string): ConfigSource {
  if (!gateway.file)
    throw new GatewayError("no_config_mode", "The gateway runs without a config file.", {
      hint: "Start it with propylon start <file>.",
    });
  if (expected === undefined || expected === versionOf(gateway)) return gateway.file;
  throw new GatewayError("exists", "The config was changed by somebody else in between.", {
    hint: "Look at it again and repeat the change.",
    data: { reason: "changed" },
  });
}
