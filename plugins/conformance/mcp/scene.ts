import { Unobservable } from "../check.ts";
import type { Json, KitClient } from "./client.ts";

/** What the checks of one era look at. */
export interface McpScene {
  readonly client: KitClient;
  /** A connection of its own for checks that count what they hear; closed by the kit. */
  readonly fresh: () => Promise<KitClient>;
}

/**
 * Name that a tool of the fixture has at this endpoint; gateways put the server's name in front.
 * @throws {Unobservable} when the fixture is not behind the endpoint
 */
export async function fixtureTool(client: KitClient, name: string): Promise<string> {
  offered(client, "tools");
  const found = (await client.list("tools"))
    .map((tool) => String(tool["name"]))
    .find(
      (exposed) =>
        exposed === name ||
        exposed.endsWith(`_${name}`) ||
        exposed.endsWith(`.${name}`) ||
        exposed.endsWith(`-${name}`) ||
        exposed.endsWith(`/${name}`),
    );
  if (found !== undefined) return found;
  throw new Unobservable(
    `There is no ${name}. Put the server of propylon conformance fixture behind this endpoint.`,
  );
}

/** @throws {Unobservable} when the server does not declare a capability */
export function offered(client: KitClient, capability: string): void {
  if (client.capabilities[capability] === undefined)
    throw new Unobservable(`The endpoint does not declare ${capability}.`);
}

/** The first text of a tool result. */
export function firstText(result: Json): string {
  const [first] = (result["content"] ?? []) as readonly { readonly text?: string }[];
  return first?.text ?? "";
}
