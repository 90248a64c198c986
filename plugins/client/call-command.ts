import { type ErrorCode, GatewayError, type Json, type Progress, type Tool } from "propylon";
import { type ClientFlags, EXIT, nearest } from "propylon/cli";
import { isObject, parseJson, writeJson } from "propylon/kit";
import { DEEPEST, ERROR_STATUS, type RpcError } from "propylon/internal";
import { answeringPeer } from "./answers.ts";
import { askTerminal } from "./terminal-questions.ts";
import { type GatewayClient, withClient } from "./mcp-client.ts";

/** What `call` was called with. */
export interface ToolCallOptions extends ClientFlags {
  readonly tool: string;
  /** One JSON object, or `key=value` words. */
  readonly words: readonly string[];
  /** Answers to what the tool asks, in this order. */
  readonly answer?: readonly string[];
}

/** Calls a tool and prints its answer; progress goes to standard error. Returns the exit code. */
export async function call(options: ToolCallOptions): Promise<number> {
  return withClient(options, async (client) => {
    const { tool: name } = options;
    const listed = client.catalogue.tools.find((known) => known.name === name);
    const args = parseArguments(options.words, listed);
    const peer = answeringPeer(options.answer ?? [], isTerminal() ? askTerminal : undefined);
    const answer = await client.call({
      name,
      args,
      progress: writeProgress,
      ...(peer && { peer }),
    });
    if (answer.error)
      throw callFailed(answer.error, listed ? undefined : unknownTool(client, name));
    const result = answer.result ?? {};
    console.log(options.json ? writeJson(result, 2) : resultText(result));
    return answer.isError ? EXIT.toolError : EXIT.ok;
  });
}

/** Whether a person can be asked: the questions go to standard error. */
function isTerminal(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/**
 * A gateway says in `data.code` which of our failures a JSON-RPC error is; the exit code follows it.
 *
 * @param unlisted what to say of a tool that is not listed, unless the gateway knows why, e.g. that it is switched off
 */
function callFailed({ message, data }: RpcError, unlisted?: GatewayError): GatewayError {
  const { code, hint } = isObject(data) ? data : {};
  const known = typeof code === "string" && Object.hasOwn(ERROR_STATUS, code);
  if (unlisted && (!known || code === "not_found" || code === "invalid")) return unlisted;
  return new GatewayError(
    known ? (code as ErrorCode) : "invalid",
    `The call failed: ${message}`,
    typeof hint === "string" ? { hint } : {},
  );
}

function unknownTool({ catalogue }: GatewayClient, name: string): GatewayError {
  const similar = nearest(
    name,
    catalogue.tools.map((known) => known.name),
  );
  return new GatewayError("not_found", `There is no tool "${name}".`, {
    hint: similar === undefined ? "propylon tools lists them." : `Did you mean "${similar}"?`,
  });
}

/**
 * Arguments of a tool from the command line: one JSON object, or `key=value` words whose values are JSON where the tool's
 * schema wants something other than text.
 */
export function parseArguments(words: readonly string[], tool: Tool | undefined): Json {
  const [first] = words;
  if (words.length === 1 && first!.trimStart().startsWith("{")) return readObject(first!);
  return Object.fromEntries(words.map((word) => readPair(word, tool)));
}

function readObject(text: string): Json {
  try {
    return parseJson(Buffer.from(text), DEEPEST) as Json;
  } catch {
    throw new GatewayError("invalid", "The arguments are not valid JSON.", {
      hint: `Write e.g. '{"message": "hello"}' or message=hello.`,
    });
  }
}

function readPair(word: string, tool: Tool | undefined): readonly [string, unknown] {
  const index = word.indexOf("=");
  if (index < 1)
    throw new GatewayError("invalid", `"${word}" is neither JSON nor key=value.`, {
      hint: `Write e.g. '{"message": "hello"}' or message=hello.`,
    });
  const key = word.slice(0, index);
  const text = word.slice(index + 1);
  const properties = tool?.inputSchema["properties"] as
    | Record<string, { readonly type?: unknown } | undefined>
    | undefined;
  return [key, properties?.[key]?.type === "string" ? text : readValue(text)];
}

function readValue(text: string): unknown {
  try {
    return parseJson(Buffer.from(text), DEEPEST);
  } catch {
    return text;
  }
}

function writeProgress({ progress, total, message }: Progress): void {
  process.stderr.write(
    `${progress}${total === undefined ? "" : `/${total}`}${message === undefined ? "" : ` ${message}`}\n`,
  );
}

function resultText(result: Json): string {
  if (!hasContent(result)) return writeJson(result["structuredContent"] ?? result, 2);
  return (result["content"] as Json[]).map(itemText).join("\n");
}

function hasContent({ content }: Json): boolean {
  return Array.isArray(content) && content.length > 0;
}

/** Text as it is; anything else by what it is, since a terminal shows no pictures. */
function itemText({ type, text, mimeType }: Json): string {
  if (typeof text === "string") return text;
  return `[${[type, mimeType].filter((part) => typeof part === "string").join(" ")}]`;
}
