import { z } from "zod";
import { type ConsoleAccess, ConsoleApi } from "./console-api.ts";

/** Flags of `propylon console register`. */
export interface HostFlags extends ConsoleAccess {
  readonly registry: string;
  readonly name?: string;
  readonly hostKey?: string;
}

const madeSchema = z.object({
  id: z.string(),
  name: z.string(),
  agents: z.array(z.object({ title: z.string() })).max(1_000),
});

/**
 * Registers a host of agents at a running console, and prints its id.
 *
 * @returns the exit code
 * @throws {GatewayError} as the console refused
 */
export async function registerHost({
  registry,
  name,
  hostKey,
  ...access
}: HostFlags): Promise<number> {
  const api = new ConsoleApi(access);
  try {
    const made = await api.ask("POST", "", madeSchema, {
      registry_url: registry,
      ...(name !== undefined && { name }),
      ...(hostKey !== undefined && { host_key: hostKey }),
    });
    const agents = made.agents.map(({ title }) => title).join(", ");
    console.log(`${made.id}  ${made.name}  ${agents}`.trimEnd());
    return 0;
  } finally {
    await api.close();
  }
}
