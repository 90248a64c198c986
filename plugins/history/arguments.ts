import { copyJson, plainSize, type CopyRules } from "./copy.ts";
import { hideSecrets } from "./result.ts";

/** Arguments as they are kept: as text, which costs the garbage collector least. */
export interface KeptArguments {
  /** JSON. */
  readonly text: string;
  /** Memory they take, as estimated. */
  readonly bytes: number;
  /** Whether something is missing because it is a secret. */
  readonly redacted: boolean;
  /** Whether something is missing because it was too much. */
  readonly truncated: boolean;
}

/** What is known once arguments were looked through. */
export interface Looked {
  readonly kept: KeptArguments;
  /** The secrets in them, to be found again where a tool repeats them. */
  readonly secrets: readonly string[];
  /** Whether there may be more of those. */
  readonly unsearched: boolean;
}

/** Looks through arguments and makes them fit for keeping. */
export function keepArguments(args: object, rules: CopyRules): Looked {
  const size = plainSize(args, rules);
  if (size !== undefined) {
    const kept = { text: JSON.stringify(args), bytes: size, redacted: false, truncated: false };
    return { kept, secrets: [], unsearched: false };
  }
  const { value, bytes, redacted, truncated, secrets, unsearched } = copyJson(args, rules);
  const text = secrets.length === 0 ? JSON.stringify(value) : withoutRepeats(value, secrets);
  return { kept: { text, bytes, redacted, truncated }, secrets, unsearched };
}

/** A secret may stand a second time under a harmless name. */
function withoutRepeats(value: unknown, secrets: readonly string[]): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "string" ? hideSecrets(inner, secrets) : inner,
  );
}
