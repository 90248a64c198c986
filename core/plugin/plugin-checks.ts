import type { GatewayWarning, PluginWarning } from "./description.ts";

/**
 * Says what is wrong with a plugin; see {@link Checks}.
 *
 * @example const check: Check = { name: "queue", ask: () => (queue.isConnected ? undefined : "The queue is away.") };
 */
export interface Check {
  /** Names it in `/readyz?verbose`, in a word or two. */
  readonly name: string;
  readonly ask: () => string | PluginWarning | undefined;
}

/** What readiness hears of a check that fails itself. */
const UNSAID = "It cannot be asked.";

/** One fact that readiness depends on. */
export interface Fact {
  readonly name: string;
  readonly ok: boolean;
  /** Why not, as a sentence; told with `?verbose`, to everybody. */
  readonly reason?: string;
}

/** What the checks say to readiness. One that warns has nothing to say there. */
export function readinessOf(checks: readonly Check[]): Fact[] {
  return checks.flatMap((check): Fact[] => {
    const { name } = check;
    const found = attempt(check);
    if (found === undefined) return [{ name, ok: true }];
    return typeof found === "string" ? [{ name, ok: false, reason: found }] : [];
  });
}

/** What the checks warn of. */
export function warningsOf(checks: readonly Check[]): GatewayWarning[] {
  return checks.flatMap((check) => {
    const found = attempt(check);
    return typeof found === "object" ? [{ ...found, code: "plugin" as const }] : [];
  });
}

/** What is said, if it can be: what it threw is told nobody, and a promise comes too late. */
function attempt(check: Check): ReturnType<Check["ask"]> {
  try {
    const found = check.ask();
    const isSaid = typeof found === "object" ? typeof found?.message === "string" : true;
    return isSaid ? found : UNSAID;
  } catch {
    return UNSAID;
  }
}
