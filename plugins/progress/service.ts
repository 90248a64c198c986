import { defineService, type Call } from "propylon";

/** Turns what an agent does into progress reports of one call, in the seed's words. */
export interface AgentReporter {
  /** Whether text is wanted while the model writes it. */
  readonly deltas: boolean;
  /** Best effort: never throws. */
  report(event: AgentEvent): void;
}

/** Progress of native agents. */
export interface ProgressService {
  /** `undefined` when the caller asked for no progress: then nothing is made. */
  reporterFor(call: Call, agent: string): AgentReporter | undefined;
}

/** Service token of the progress plugin. */
export const AgentProgress = defineService<ProgressService>("progress");

/** What an agent does while it runs. */
export type AgentEvent =
  /** A turn began: the model is asked, or tools are run. `step` counts from 1. */
  | { readonly type: "step"; readonly step: number; readonly kind: "llm" | "tool" }
  | {
      readonly type: "tool";
      readonly server: string;
      readonly tool: string;
      readonly state: "started" | "completed" | "failed";
      /** What went wrong, for `failed`. */
      readonly message?: string | undefined;
    }
  /** A tool of this run reported progress itself; passed on as it came. */
  | {
      readonly type: "relayed";
      readonly server: string;
      readonly tool: string;
      readonly message: string | undefined;
      /** Values of the report, where it had any; `total == progress` says that a part has ended. */
      readonly progress?: number | undefined;
      readonly total?: number | undefined;
    }
  /** The model wrote text. */
  | { readonly type: "text"; readonly text: string; readonly delta: boolean };
