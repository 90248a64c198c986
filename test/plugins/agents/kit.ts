import { onTestFinished } from "vitest";
import { definePlugin, type GatewayConfigInput } from "../../../core/index.ts";
import { connectClient, setupGateway, type PluginEntry } from "../../../core/testing/index.ts";
import agents, {
  Agents,
  type AgentInfo,
  type AgentsService,
} from "../../../plugins/agents/index.ts";
import { startModel } from "../../fixtures/model/model.mjs";
import type { ModelServer, ModelServerOptions } from "../../fixtures/model/types.ts";

/** A gateway with agents and the model server behind them. */
export interface TestTeam extends Awaited<ReturnType<typeof setupGateway>> {
  readonly model: ModelServer;
  /** URL of an agent's endpoint. */
  readonly urlOf: (agent: string) => string;
  /** The service of the agents plugin, as it is now. */
  readonly service: () => AgentsService;
  readonly list: () => readonly AgentInfo[];
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
  const held: { agents?: AgentsService } = {};
  const holder = definePlugin({
    name: "holder",
    inject: { agents: Agents },
    setup: ({ services }) => void (held.agents = services.agents),
  });
  const service = (): AgentsService => held.agents!;
  const started = await setupGateway({
    plugins: [...(setup.plugins ?? []), holder, [agents, optionsOf(setup, model)]],
    client: false,
    ...(setup.config && { config: setup.config }),
    ...(setup.cwd !== undefined && { cwd: setup.cwd }),
  });
  const urlOf = (agent: string): string =>
    started.gateway.endpoints.find(({ name }) => name === `agent-${agent}`)!.url;
  return { ...started, model, urlOf, service, list: () => service().list() };
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

type Client = Awaited<ReturnType<typeof connectClient>>;

/** A client that leaves with the test. */
export async function connect(url: string): Promise<Client> {
  const client = await connectClient(url);
  onTestFinished(() => client.close());
  return client;
}

/** Calls a tool; what it said and whether it failed. */
export async function ask(
  client: Client,
  tool: string,
  args: Record<string, unknown>,
): Promise<{ readonly text: string; readonly isError: boolean }> {
  const { content, isError } = await client.callTool({ name: tool, arguments: args });
  const texts = (content as { text?: string }[]).map(({ text = "" }) => text);
  return { text: texts.join("\n"), isError: isError === true };
}
