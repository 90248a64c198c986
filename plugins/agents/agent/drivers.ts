import { GatewayError, type PluginContext } from "propylon";
import type { Files } from "propylon/kit";
import type { Driver } from "./agent.ts";
import { CodeDriver } from "./code.ts";
import { isAgentCode, type AgentCode } from "../define.ts";
import type { RunLimits } from "../loop/limits.ts";
import type { Model } from "../model.ts";
import { createModel } from "../models/models.ts";
import type { AgentOptions, AgentsOptions } from "../options.ts";
import { ModelDriver } from "./reasoning.ts";
import { RemoteDriver } from "./remote.ts";
import type { AgentTools } from "./agent-tools.ts";

/** What an agent's definition comes to. */
export interface Driven {
  readonly driver: Driver;
  readonly model: Model | undefined;
  /** What else than its options it was made from: instructions or code. */
  readonly source: string;
}

/** What drivers are made with. */
export interface DriverInput {
  readonly name: string;
  readonly options: AgentOptions;
  readonly config: AgentsOptions;
  readonly tools: AgentTools;
  readonly gateway: PluginContext<unknown, { readonly files: typeof Files }>;
}

/**
 * Makes what drives an agent: its server, its code, or its model.
 * @throws {GatewayError} saying what is missing or wrong in its definition
 */
export function createDriver(input: DriverInput): Promise<Driven> {
  const { server, file } = input.options;
  if (server !== undefined) return Promise.resolve(driveServer(input, server));
  return file === undefined ? driveModel(input) : driveCode(input, file);
}

function driveServer({ name, options, gateway }: DriverInput, server: string): Driven {
  const driver = new RemoteDriver(name, server, options.toolName, gateway);
  return { driver, model: undefined, source: "" };
}

async function driveModel({ name, options, config, tools, gateway }: DriverInput): Promise<Driven> {
  const { instructions = "", agents } = options;
  const text =
    typeof instructions === "string"
      ? instructions
      : await gateway.services.files.read(instructions.file);
  const id = options.model ?? config.model;
  if (id === undefined)
    throw new GatewayError("invalid", `The agent "${name}" has no model.`, {
      hint: `Set agents.${name}.model, or plugins.agents.model for all.`,
    });
  const model = createModel(id, config.providers);
  const limits = limitsOf(options, config);
  const driver = new ModelDriver({
    model,
    instructions: text,
    temperature: options.temperature,
    tools,
    limits,
    agents,
  });
  return { driver, model, source: text };
}

async function driveCode(
  { name, options, config, tools, gateway }: DriverInput,
  file: string,
): Promise<Driven> {
  const { files } = gateway.services;
  const source = await files.read(file);
  const code = codeOf((await files.import(file))["default"], file);
  const own = options.model ?? config.model;
  const model = own === undefined ? undefined : createModel(own, config.providers);
  const modelOf = (id: string | undefined): Model => {
    const found = id === undefined ? model : createModel(id, config.providers);
    if (found) return found;
    throw new GatewayError("invalid", `The agent "${name}" asks a model, but has none.`, {
      hint: `Set agents.${name}.model, or name one: ask(prompt, { model: "openai/gpt-5" }).`,
    });
  };
  const limits = limitsOf(options, config);
  return {
    driver: new CodeDriver({ name, code, tools, limits, model: modelOf }),
    model,
    source,
  };
}

function codeOf(exported: unknown, file: string): AgentCode {
  if (isAgentCode(exported)) return exported;
  throw new GatewayError("invalid", `The file ${file} does not export an agent by default.`, {
    hint: "Write export default defineAgent({ async run({ message }) { ... } }).",
  });
}

/** The agent's own budgets in place of those of all. */
export function limitsOf(
  { limits, capabilities }: AgentOptions,
  config: AgentsOptions,
): RunLimits & { readonly time: number } {
  const { turns, tokens, timeout, toolCalls, outputTokens, parallel, result } = config.limits;
  return {
    turns: limits.turns ?? turns,
    tokens: limits.tokens ?? tokens,
    time: limits.timeout ?? timeout,
    toolCalls: limits.toolCalls ?? toolCalls,
    outputTokens: limits.outputTokens ?? capabilities?.max_output_tokens ?? outputTokens,
    parallel: limits.parallel ?? parallel,
    result: limits.result ?? result,
  };
}
