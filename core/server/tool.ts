import type { Call } from "../call/call.ts";
import type { Logger } from "pino";
import { Actor, noteActor } from "../kit/actor.ts";
import { Answer } from "../call/answer.ts";
import { compileInput, compileOutput, type CompiledSchema } from "./arguments.ts";
import { toResult } from "./content.ts";
import { GatewayError, isGatewayError, wordsOf } from "../kit/errors.ts";
import type { ToolDefinition, ToolReturn } from "../plugin/definitions.ts";
import type { Json, Tool } from "../kit/types.ts";

/** A plugin's tool, compiled: as it is listed, as it checks, as it runs. */
export class LocalTool {
  readonly name: string;
  readonly listed: Tool;
  /** Longest run in milliseconds, if the tool says so. */
  readonly timeout: number | undefined;
  readonly #definition: ToolDefinition;
  readonly #input: CompiledSchema;
  readonly #output: CompiledSchema | undefined;
  readonly #log: Logger;

  /** @throws {GatewayError} `invalid` without a `run`, or when a schema cannot be served, naming the tool */
  constructor(name: string, definition: ToolDefinition, log: Logger) {
    // Plugins in files are run without a look at their types.
    if (typeof definition.run !== "function")
      throw new GatewayError("invalid", `Tool "${name}" has no function "run".`, {
        hint: "Write run(args, call) { ... }; what it returns is the result.",
      });
    this.name = name;
    this.timeout = definition.timeout;
    this.#definition = definition;
    this.#log = log;
    try {
      this.#input = compileInput(definition.input);
      this.#output = definition.output && compileOutput(definition.output);
    } catch (cause) {
      throw new GatewayError(
        "invalid",
        `Tool "${name}" has a schema that cannot be served: ${(cause as Error).message}`,
        { cause, hint: "Write input: z.object({ ... }), or a JSON Schema of type object." },
      );
    }
    this.listed = listTool(name, definition, this.#input, this.#output);
  }

  /** This very tool when the definition is the same object. */
  reuse(definition: ToolDefinition): LocalTool | undefined {
    return definition === this.#definition ? this : undefined;
  }

  /** The arguments as `run` receives them, or the `isError` answer that names the wrong fields (MCP 2025-11-25). */
  check(args: Json | undefined): Json | Answer {
    const checked = this.#input.check(args ?? {});
    return "value" in checked
      ? checked.value
      : Answer.failed(
          `Invalid arguments for tool "${this.name}": ${checked.problems.join("; ")}`,
          "invalid",
        );
  }

  /** Runs the tool. What it throws becomes an `isError` result; only a GatewayError's own words are shown. */
  async run(call: Call): Promise<Answer> {
    noteActor(call, new Actor(call.principal, undefined, call.id));
    try {
      return this.#toAnswer(await this.#definition.run(call.args ?? {}, call));
    } catch (error) {
      if (isGatewayError(error))
        return Answer.failed(wordsOf(error), error.code === "invalid" ? "invalid" : undefined);
      this.#log.error({ err: error, tool: this.name, call: call.id }, "a tool failed");
      return Answer.failed(`Tool "${this.name}" failed.`);
    }
  }

  #toAnswer(returned: ToolReturn): Answer {
    const result = toResult(returned);
    const structured = result["structuredContent"];
    if (this.#output && result["isError"] !== true && result["resultType"] !== "input_required") {
      const data = Array.isArray(returned) ? returned : (structured ?? {});
      const checked = this.#output.check(data as Json);
      if ("problems" in checked) {
        this.#log.error(
          { tool: this.name, problems: checked.problems },
          "a tool's result does not match its output schema",
        );
        return Answer.failed(
          `Tool "${this.name}" returned a result that does not match its output schema: ${checked.problems.join("; ")}`,
        );
      }
    }
    return Answer.result(result);
  }
}

function listTool(
  name: string,
  definition: ToolDefinition,
  input: CompiledSchema,
  output: CompiledSchema | undefined,
): Tool {
  const { title, description, annotations, icons, _meta } = definition;
  return {
    name,
    ...(title !== undefined && { title }),
    description,
    inputSchema: input.json,
    ...(output && { outputSchema: output.json }),
    ...(annotations && { annotations }),
    ...(icons && { icons }),
    ...(_meta && { _meta }),
  };
}
