import { GatewayError } from "propylon";
import { createSealer, type Fernet } from "propylon/kit";
import { z } from "zod";

/** Longest key of a host, in characters. */
const MAX_KEY = 4_096;

/** A key as it can stand in a header. */
export const hostKeySchema = z
  .string()
  .trim()
  .min(1)
  .max(MAX_KEY)
  .regex(/^[\x21-\x7e]+$/, "must be printable ASCII without blanks");

/** The keys that hosts want to be shown, sealed as the tokens of teams are. */
export class HostKeys {
  readonly #secretKeys: readonly string[] | undefined;
  #sealer: Fernet | undefined;

  constructor(secretKeys: readonly string[] | undefined) {
    this.#secretKeys = secretKeys;
  }

  /** @throws {GatewayError} `invalid` without a key to seal it with */
  seal(key: string): string {
    return this.#fernet().seal(key);
  }

  /**
   * The headers for a URL of a host. The key goes to the origin of its registry and nowhere else: the registry says where the agents
   * are, and may name somebody who collects keys.
   *
   * @throws {GatewayError} `invalid` when no key of the config opens it
   */
  headersFor(
    url: string,
    { registry_url: registry, host_key: sealed }: HostOf,
  ): Record<string, string> {
    if (sealed === null || registry === null) return {};
    if (new URL(url).origin !== new URL(registry).origin) return {};
    const key = this.#fernet().open(sealed);
    if (key !== undefined) return { authorization: `Bearer ${key}` };
    throw new GatewayError("invalid", "The key of the host cannot be opened.", {
      hint: "Enter it again, or set the earlier one among plugins.console.secretKeys.",
    });
  }

  #fernet(): Fernet {
    return (this.#sealer ??= createSealer("console", this.#secretKeys));
  }
}

/** What is kept of the host of an instance. */
interface HostOf {
  readonly registry_url: string | null;
  readonly host_key: string | null;
}
