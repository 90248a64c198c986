import { GatewayError, type GatewayInfo, type Json, type Tool } from "propylon";
import { toolsOf } from "propylon/internal";
import { isObject } from "propylon/kit";
import { textOf, type Part } from "propylon/contract";
import type { SkillOptions } from "../options.ts";
import type { Skill } from "../tasks/task/skills.ts";

/** A skill that is one tool of any server. */
export function toolSkill(
  options: SkillOptions,
  info: Pick<GatewayInfo, "servers" | "exists" | "shows">,
): Skill {
  const { server, name, argument } = options.tool!;
  const item = { server, kind: "tool", name } as const;
  const find = (): Tool | undefined => {
    const found = info.servers.get(server);
    return found && toolsOf(found.catalogue).get(name);
  };
  return {
    options,
    isThere: (principal) => info.exists(item, principal),
    isShown: (principal) => info.shows(item, principal),
    description: () => options.description ?? find()?.description ?? `Calls ${server}/${name}.`,
    target: ({ message: { parts } }) => ({
      server,
      name,
      args: argumentsOf(parts, find(), argument),
      timeout: options.timeout,
    }),
  };
}

/**
 * The arguments that a message makes: its data are arguments by name, its text is one of them.
 *
 * @throws {GatewayError} `invalid` for parts that are neither, or a text that no argument takes
 */
function argumentsOf(
  parts: readonly Part[],
  tool: Tool | undefined,
  argument: string | undefined,
): Json {
  let args: Json = {};
  for (const { data, raw, url } of parts) {
    if (raw !== undefined || url !== undefined) throw noFiles();
    if (data === undefined) continue;
    if (!isObject(data)) throw noObject();
    // Assigned, a member `__proto__` would become the prototype.
    args = { ...args, ...data };
  }
  const text = textOf(parts);
  if (text !== "") args[argument ?? textArgument(tool)] = text;
  return args;
}

/** The argument that a text is for: the only one required, else the only one there is, of type string. */
function textArgument(tool: Tool | undefined): string {
  const { properties = {}, required = [] } = (tool?.inputSchema ?? {}) as {
    properties?: Record<string, { type?: unknown }>;
    required?: string[];
  };
  const texts = Object.keys(properties).filter((name) => properties[name]?.type === "string");
  const needed = texts.filter((name) => required.includes(name));
  const [only, second] = needed.length > 0 ? needed : texts;
  if (only !== undefined && second === undefined) return only;
  throw new GatewayError("invalid", "It is not clear which argument of the tool the text is for.", {
    hint: `Send a data part with the arguments by name${texts.length > 0 ? ` (texts: ${texts.join(", ")})` : ""}, or have tool.argument set.`,
  });
}

function noFiles(): GatewayError {
  return new GatewayError("invalid", "This skill takes text and data, and no files.");
}

function noObject(): GatewayError {
  return new GatewayError("invalid", "The data of the message must be an object of arguments.");
}
