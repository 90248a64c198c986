import { writeJson } from "propylon/kit";
import { copyJson, isPlain, type CopyRules } from "./copy.ts";
import { hideSecrets } from "./result.ts";

/** Arguments as they are kept. */
export interface KeptArguments {
  /** JSON. */
  readonly text: string;
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
  if (isPlain(args, rules)) {
    const kept = { text: writeJson(args), redacted: false, truncated: false };
    return { kept, secrets: NONE, unsearched: false };
  }
  const { value, redacted, truncated, secrets, unsearched } = copyJson(args, rules);
  const text = secrets.length === 0 ? writeJson(value) : withoutRepeats(value, secrets);
  return { kept: { text, redacted, truncated }, secrets, unsearched };
}

const NONE: readonly string[] = [];

/** A secret may stand a second time under a harmless name. */
function withoutRepeats(value: unknown, secrets: readonly string[]): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "string" ? hideSecrets(inner, secrets) : inner,
  );
}
