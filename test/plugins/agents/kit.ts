import { onTestFinished } from "vitest";
import type { GatewayConfigInput } from "../../../core/index.ts";
import { setupGateway, type PluginEntry } from "../../../core/testing/index.ts";
import agents from "../../../plugins/agents/index.ts";
import { startModel } from "../../fixtures/model/model.mjs";
import type { ModelServer, ModelServerOptions } from "../../fixtures/model/types.ts";

/** A gateway with agents and the model server behind them. */
export interface TestTeam extends Awaited<ReturnType<typeof setupGateway>> {
  readonly model: ModelServer;
  /** URL of an agent's endpoint. */
  readonly urlOf: (agent: string) => string;
}

/** What a test of agents runs. */
export interface TeamSetup {
  readonly agents: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Other options of the agents plugin. */
  readonly options?: Readonly<Record<string, unknown>>;
  readonly config?: GatewayConfigInput;
  readonly plugins?: readonly PluginEntry[];
  readonly cwd?: string;
  readonly script?: ModelServerOptions["script"];
}

/** Starts a model server and a gateway whose agents are driven by it. */
export async function setupTeam(setup: TeamSetup): Promise<TestTeam> {
  const model = await startModel(setup.script === undefined ? {} : { script: setup.script });
  onTestFinished(() => model.close());
  const started = await setupGateway({
    plugins: [...(setup.plugins ?? []), [agents, optionsOf(setup, model)]],
    client: false,
    ...(setup.config && { config: setup.config }),
    ...(setup.cwd !== undefined && { cwd: setup.cwd }),
  });
  const urlOf = (agent: string): string =>
    started.gateway.endpoints.find(({ name }) => name === `agent-${agent}`)!.url;
  return { ...started, model, urlOf };
}

/** Options of the agents plugin, with the model server as the only provider. */
export function optionsOf(setup: TeamSetup, model: ModelServer): Record<string, unknown> {
  return {
    providers: { scripted: { type: "openai-compatible", baseUrl: model.url } },
    model: "scripted/scripted",
    agents: setup.agents,
    ...setup.options,
  };
}
