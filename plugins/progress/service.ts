import { defineService, type Call } from "propylon";
import type { AgentEvent } from "propylon/plugins/agents";

/** Turns what an agent does into progress reports of one call, in the seed's words (P106-P110). */
export interface AgentReporter {
  /** Whether text is wanted while the model writes it (P122). */
  readonly deltas: boolean;
  /** Best effort: never throws (P120). */
  report(event: AgentEvent): void;
}

/** Progress of native agents. */
export interface ProgressService {
  /** `undefined` when the caller asked for no progress: then nothing is made (P101). */
  reporterFor(call: Call, agent: string): AgentReporter | undefined;
}

/** Service token of the progress plugin. */
export const AgentProgress = defineService<ProgressService>("progress");
