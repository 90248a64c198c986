/**
 * A command of the command line `propylon`: what its help says, and what it runs.
 *
 * @example
 * const commands: Record<string, CommandDefinition> = {
 *   sign: { description: "Print a text with a signature.", arguments: "<text>", run: ({ arguments: [text] }) => console.log(text) },
 * };
 */
// eslint-disable-next-line typescript/no-explicit-any -- only the command knows what its flags are read to
export interface CommandDefinition<F = any> {
  /** One sentence, for `propylon --help`. */
  readonly description: string;
  /** Its words as the help shows them: `<file> [folder]`; `[words...]` for any number at the end. Default: none. */
  readonly arguments?: string;
  /**
   * What the words behind `--` are: `rest` of its input, or more `arguments`, as for commands whose arguments are names of others,
   * which may begin with `-`. Default: `rest`.
   */
  readonly dashes?: "rest" | "arguments";
  /** Default: none. */
  readonly flags?: readonly CommandFlag[];
  /** Commands below it, by name. It has no {@link run} then. */
  readonly commands?: Readonly<Record<string, CommandDefinition>>;
  /**
   * Runs it. The process goes on until nothing is left to do, as any program does.
   * @returns the exit code; default 0
   * @throws {GatewayError} told as a sentence with its hint; exit code 3 for `unauthorized` and `forbidden`, 2 for
   * `upstream_error`, `timeout` and `draining`, else 1
   */
  run?(input: CommandInput<F>): number | void | Promise<number | void>;
}

/**
 * A flag of a command.
 *
 * @example const TIMES: CommandFlag = { flag: "--times <count>", description: "how often", default: "1" };
 */
export interface CommandFlag {
  /** As the help shows it: `-p, --port <port>`, `--loud`, `--no-color`. */
  readonly flag: string;
  readonly description: string;
  /** What it is when it is not given. */
  readonly default?: unknown;
  /** Name of the variable that says the same; the flag wins. */
  readonly env?: string;
  /** The values that it can have; default: any. */
  readonly choices?: readonly string[];
  /** May be given again and again: its value is the list of all. */
  readonly repeatable?: boolean;
  /** The command does not run without it. */
  readonly required?: boolean;
  /** Not in the help. */
  readonly hidden?: boolean;
  /** How its text becomes its value; default: it is the text. */
  readonly read?: FlagKind | FlagReader;
}

/**
 * A kind of value that many flags have, checked before the command runs:
 * - `port`: a number from 0 to 65535;
 * - `duration`: a text that `parseDuration` takes;
 * - `url`: a text that is an http or https URL;
 * - `key`: a bearer token; no message shows it;
 * - `variable`: `NAME=value`, or `NAME` for the value in our environment; `[name, value]`.
 */
export type FlagKind = "port" | "duration" | "url" | "key" | "variable";

/**
 * Reads the text of a flag. The message of what it throws is told behind the flag and its text; a GatewayError is told as it is,
 * for a text that must not be shown.
 */
export type FlagReader = (text: string, flag: string) => unknown;

/**
 * What a command was called with.
 *
 * @example const run = ({ flags }: CommandInput<{ readonly loud?: boolean }>): number => (flags.loud ? 1 : 0);
 */
// eslint-disable-next-line typescript/no-explicit-any -- as above
export interface CommandInput<F = any> {
  /** Words for {@link CommandDefinition.arguments}, in their order. */
  readonly arguments: readonly string[];
  /** Values by the name of the flag in camel case: `--max-depth` is `maxDepth`. Flags that were not given are missing. */
  readonly flags: F;
  /** The words behind `--`; `undefined` without it, and where they are arguments. */
  readonly rest: readonly string[] | undefined;
}
