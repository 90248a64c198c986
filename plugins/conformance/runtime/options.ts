import type { ContractLevel } from "../report.ts";

/** What is said to the runtime. `{word}` stands for a word that is made up for the run. */
export interface Probes {
  /** Something that any agent can answer. */
  readonly message: string;
  /** Something that makes a task fail; without it a message of no parts is tried, then one of data only. */
  readonly failing?: string | undefined;
  /** Something that takes a few seconds, at least three. */
  readonly slow: string;
  readonly remember: string;
  readonly recall: string;
}

/** Probes for an agent with a language model behind it. */
export const PROBES: Probes = {
  message: "Reply with the single word pong.",
  slow: "Count from one to two hundred in words, every number on a line of its own.",
  remember: "Remember this codeword for later: {word}. Reply with the word OK.",
  recall: "Which codeword did I ask you to remember? Reply with the codeword only.",
};

/** How a conversation is made long enough that a runtime has to compact it. */
export interface Filling {
  /** Most messages. */
  readonly rounds: number;
  /** Length of each. */
  readonly characters: number;
}

/** Options of the kit for runtimes of contract v1. Times are milliseconds. */
export interface RuntimeKitOptions {
  readonly level: ContractLevel;
  /** Where the runtime serves. Default: `http://127.0.0.1:$A2A_PORT` of the command. */
  readonly url?: string | undefined;
  /** Program and arguments to start; without it nothing can be signalled, so level 2 cannot be shown. */
  readonly command?: readonly string[] | undefined;
  /** Variables of the command, on top of the few that every child gets and those of the container interface. */
  readonly env?: Readonly<Record<string, string>>;
  /** Sent with every request, e.g. `authorization`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly probes: Probes;
  readonly filling: Filling;
  /** Longest wait for the answer of one task. */
  readonly timeout: number;
  /** `STARTUP_TIMEOUT` of the command. */
  readonly startup: number;
  /** `TERMINATION_GRACE_PERIOD` of the command. */
  readonly grace: number;
  /** Longest wait for a trace to come out of the runtime. Default 8 s: more than the 5 s that exporters collect for. */
  readonly traceWait?: number;
}
