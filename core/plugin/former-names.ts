import type { Logger } from "pino";
import { STAGES, type Stage } from "../call/stages.ts";
import { GatewayError } from "../errors.ts";

/** Members that the context had in 0.1, and what does their work now. */
const REPLACED: Readonly<Record<string, string>> = {
  name: "the name that you gave definePlugin",
  servers: "gateway.control.servers",
  shows: "gateway.control.shows",
  exists: "gateway.control.exists",
  timeouts: "gateway.control.timeouts",
  evict: "gateway.control.evict",
  cwd: "gateway.files.folder",
  text: "gateway.files.read",
  code: "gateway.files.import",
  signal: "gateway.onDispose",
  resourceTemplate: "gateway.resource(name, { uriTemplate, ... })",
  changed: "changed() of what gateway.tool, resource and prompt return",
  updated: "updated() of what gateway.resource returns",
  listener: "gateway.extend({ listeners })",
  endpoint: "gateway.extend({ endpoints })",
  socket: 'gateway.route("GET", path, { ..., websocket: true }, accept)',
  deadline: 'gateway.use("deadline", { limit })',
  warn: "gateway.check",
  readiness: "gateway.check",
};

/**
 * Prototype of every context: whoever uses a member of before, which plain JavaScript can, reads what does its work now.
 * Made once; a context pays nothing for it.
 */
export const FORMER_MEMBERS: object = Object.defineProperties(
  {},
  Object.fromEntries(
    Object.entries(REPLACED).map(([name, now]) => [name, { get: gone(name, now) }]),
  ),
);

function gone(name: string, now: string): () => never {
  return () => {
    throw new GatewayError("invalid", `gateway.${name} was removed: use ${now}.`, {
      hint: "The upgrade page lists everything that has another name.",
    });
  };
}

/** Stages that have another name since 0.1, and the one that went into another. */
const RENAMED_STAGES: ReadonlyMap<string, Stage> = new Map([
  ["authorize", "gate"],
  ["progress", "dispatch"],
]);

/**
 * The stage that is meant: a plugin may still say the name of before, which the log tells.
 *
 * @throws {GatewayError} `invalid` for a stage that never was
 */
export function currentStage(stage: string, log: Logger): Stage {
  const renamed = RENAMED_STAGES.get(stage);
  if (renamed)
    log.warn({ stage }, `stage "${stage}" is "${renamed}" now; the old name goes with 0.3`);
  const current = renamed ?? (stage as Stage);
  if (STAGES.includes(current)) return current;
  throw new GatewayError("invalid", `it uses an unknown stage "${stage}".`, {
    hint: `Stages: ${STAGES.join(", ")}.`,
  });
}
