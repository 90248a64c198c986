import { GatewayError, type PluginContext } from "propylon";
import { FetchFailure } from "propylon/internal";

/** Tells the log once that an issuer does not answer, and once that it does again. */
export class Outages {
  readonly #log: PluginContext["log"];
  readonly #away = new Set<string>();

  constructor(log: PluginContext["log"]) {
    this.#log = log;
  }

  /** @param error its innermost words are told: they hold no token and no address */
  failed(issuer: string, error: unknown): void {
    if (this.#away.has(issuer)) return;
    this.#away.add(issuer);
    this.#log.warn({ issuer, reason: reasonOf(error) }, "tokens of an issuer cannot be checked");
  }

  answered(issuer: string): void {
    if (this.#away.delete(issuer)) this.#log.info({ issuer }, "tokens are checked again");
  }
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  // What the system says may hold addresses; our own words for it stand one above.
  const isOurs = cause instanceof GatewayError || cause instanceof FetchFailure;
  return isOurs ? reasonOf(cause) : message;
}
