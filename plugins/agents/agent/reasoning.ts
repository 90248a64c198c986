import type { Driver } from "./agent.ts";
import type { RunLimits } from "../loop/limits.ts";
import { runLoop } from "../loop/loop.ts";
import { Toolbox } from "../loop/toolbox.ts";
import type { ChatMessage, Model } from "../model.ts";
import type { RunOptions, RunResult } from "../service.ts";
import type { AgentTools } from "./agent-tools.ts";

/** What the runs of an agent driven by a model need. */
export interface ModelParts {
  readonly model: Model;
  readonly instructions: string;
  readonly temperature: number | undefined;
  readonly tools: AgentTools;
  readonly limits: RunLimits;
  /** Names of other agents: models know them by those alone. */
  readonly agents: readonly string[];
}

/** An agent driven by a model: asks it and runs its tool calls until it is done. */
export class ModelDriver implements Driver {
  readonly #parts: ModelParts;

  constructor(parts: ModelParts) {
    this.#parts = parts;
  }

  run(
    messages: readonly ChatMessage[],
    options: RunOptions,
    via: readonly string[],
  ): Promise<RunResult> {
    const { model, instructions, temperature, limits, agents } = this.#parts;
    const tools = this.#parts.tools.tools().map(({ server, tool }) => ({
      server,
      tool,
      ...(agents.includes(server) && { name: server }),
    }));
    const extra = options.instructions;
    return runLoop({
      model,
      system: extra === undefined ? instructions : `${instructions}\n\n${extra}`.trim(),
      messages,
      toolbox: new Toolbox(tools, options.tools),
      call: ({ server, name, args, signal, progress }) =>
        this.#parts.tools.call({
          server,
          tool: name,
          args: { ...args },
          signal,
          via,
          meta: options.meta,
          peer: options.peer,
          progress,
        }),
      limits,
      temperature,
      signal: options.signal,
      mayContinue: options.mayContinue && (() => options.mayContinue!()),
      onEvent: options.onEvent && ((event) => options.onEvent!(event)),
      deltas: options.deltas,
    });
  }
}
