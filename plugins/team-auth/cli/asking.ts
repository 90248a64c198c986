import type { CommandDefinition, CommandFlag, CommandInput, Json } from "propylon";
import { type ClientFlags, print, SEND_KEY_FLAG } from "propylon/cli";
import type { AdminRequest } from "./ask.ts";

/** Flags of every command that asks a running gateway. */
export const ASKING: readonly CommandFlag[] = [
  SEND_KEY_FLAG,
  { flag: "--target <url|config>", description: "gateway to administer" },
  { flag: "--timeout <duration>", description: "longest wait for an answer", default: "60s" },
  { flag: "--json", description: "print JSON" },
];

/** Flags of all these commands. */
export interface Flags extends ClientFlags {
  readonly user?: string;
  readonly admin?: boolean;
  readonly library?: string | readonly string[];
  readonly name?: string;
  readonly workspace?: string;
  readonly owner?: string;
  readonly expires?: string;
  readonly alg?: string;
  readonly grace?: string;
  readonly after?: string;
  readonly since?: string;
  readonly limit?: string;
  readonly head?: string;
}

type ToRequest = (words: readonly string[], flags: Flags) => AdminRequest;

interface Asking {
  readonly arguments?: string;
  readonly flags?: readonly CommandFlag[];
}

/** A command that is one request, and prints the answer. */
export function asking(
  description: string,
  to: ToRequest,
  { flags = [], ...more }: Asking = {},
): CommandDefinition {
  return {
    description,
    ...more,
    flags: [...flags, ...ASKING],
    async run({ arguments: words, flags: given }: CommandInput<Flags>) {
      const { ask } = await import("./ask.ts");
      print(await ask(given, to(words, given)), given.json);
    },
  };
}

export const at = (path: string, ...words: readonly (string | undefined)[]): string =>
  [path, ...words.map((word) => encodeURIComponent(word ?? ""))].join("/");
export const post = (path: string, body: Json = {}): AdminRequest => ({
  method: "POST",
  path,
  body,
});
export const given = (values: Json): Json =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
