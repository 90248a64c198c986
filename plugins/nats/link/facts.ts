/**
 * What a consumer says of a message that it sends.
 *
 * @example const { attempt }: DeliveryFacts = factsOf(message.reply);
 */
export interface DeliveryFacts {
  /** Counts deliveries, from 1. */
  readonly attempt: number;
  /** Place in the stream. */
  readonly sequence: number;
  /** Milliseconds since 1970. */
  readonly storedAt: number;
  /** Messages that are still to come. */
  readonly pending: number;
}

/**
 * Reads `$JS.ACK.<stream>.<consumer>.<attempt>.<sequence>.<sequence of the consumer>.<time>.<pending>`, which newer servers write
 * with domain and account in front, and something random behind.
 *
 * @example factsOf("$JS.ACK.TASKS.coder.1.17.17.1790000000000000000.0").sequence; // 17
 */
export function factsOf(reply: string): DeliveryFacts {
  const tokens = reply.split(".");
  const [attempt, sequence, , nanoseconds, pending] = tokens.slice(tokens.length === 9 ? 4 : 6);
  return {
    attempt: Number(attempt),
    sequence: Number(sequence),
    storedAt: Number(BigInt(nanoseconds ?? "0") / 1_000_000n),
    pending: Number(pending),
  };
}

/**
 * Headers by their names. Of one that came more than once, the first counts. Headers that the client cannot read are left out:
 * anybody may write them.
 *
 * @example const headers = readHeaders(() => message.headers);
 */
export function readHeaders(
  read: () => { keys(): string[]; get(name: string): string } | undefined,
): Readonly<Record<string, string>> {
  try {
    const headers = read();
    if (!headers) return {};
    return Object.fromEntries(headers.keys().map((name) => [name, headers.get(name)]));
  } catch {
    return {};
  }
}
