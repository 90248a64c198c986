import { isObject } from "propylon/kit";

/** Names of the tools in a request for a chat completion. Read when an answer asks for them, and few do. */
export function toolNamesIn(request: unknown): readonly string[] {
  const body: unknown = typeof request === "string" ? JSON.parse(request) : undefined;
  const tools: unknown = isObject(body) ? body["tools"] : undefined;
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool: unknown) => {
    const made = isObject(tool) ? tool["function"] : undefined;
    return isObject(made) && typeof made["name"] === "string" ? [made["name"]] : [];
  });
}
