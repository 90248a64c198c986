import type { Tool } from "propylon";
import { type ClientFlags, EXIT } from "propylon/cli";
import { withClient } from "./mcp-client.ts";

/** Lists the tools of a running gateway. Returns the exit code. */
export async function tools(flags: ClientFlags): Promise<number> {
  const found = await withClient(flags, (client) => Promise.resolve(client.catalogue.tools));
  if (flags.json) console.log(JSON.stringify(found, null, 2));
  else for (const tool of found) console.log(line(tool));
  return EXIT.ok;
}

function line({ name, title, description, inputSchema }: Tool): string {
  const [first = ""] = (description ?? title ?? "").split("\n");
  return `${name}(${parameters(inputSchema)})  ${first}`.trimEnd();
}

function parameters({ properties, required }: Tool["inputSchema"]): string {
  const needed = new Set(Array.isArray(required) ? required : []);
  const names = Object.keys(
    typeof properties === "object" && properties !== null ? properties : {},
  );
  return names.map((name) => (needed.has(name) ? name : `${name}?`)).join(", ");
}
