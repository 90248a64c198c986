import { GatewayError } from "propylon";
import { FIRST_PROBLEM, parseJson } from "propylon/kit";
import { z } from "zod";

/** An agent as its registry describes it. */
export interface RegistryAgent {
  /** The last segment of the name. */
  readonly server_id: string;
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  /** As written: it may be relative. */
  readonly icon: string | null;
  /** Of its MCP endpoint. */
  readonly url: string;
}

/** Longest texts, in characters; a description beyond is cut, anything else leaves the entry out. */
const MAX = { name: 255, title: 200, description: 2_000, url: 2_048 } as const;
const MAX_DEPTH = 32;

const text = (max: number): z.ZodType<string | null> =>
  z
    .string()
    .max(max)
    .transform((value) => value.trim() || null)
    .nullish()
    .transform((value) => value ?? null);

const entrySchema = z.object({
  server: z.object({
    name: z.string().min(1).max(MAX.name),
    title: text(MAX.title),
    description: z
      .string()
      .transform((value) => value.slice(0, MAX.description))
      .nullish(),
    icons: z.array(z.unknown()).max(100_000).nullish(),
    remotes: z.array(z.unknown()).max(100_000),
  }),
});
const documentSchema = z.object({ servers: z.array(z.unknown()).max(100_000) });
const iconSchema = z.object({ src: z.string().max(MAX.url) });
const remoteSchema = z.object({
  type: z.literal("streamable-http"),
  url: z.url({ protocol: /^https?$/ }).max(MAX.url),
});

/** The agents of a registry's document. */
export interface RegistryReading {
  readonly agents: readonly RegistryAgent[];
  /** Entries that cannot be used: no endpoint, an id that another one has, or beyond the limit. */
  readonly leftOut: number;
}

/**
 * Reads the body of `/.well-known/mcp/server.json`. One entry that cannot be used does not spoil the others.
 *
 * @throws {GatewayError} `upstream_error` for anything that is not such a document
 */
export function readRegistry(body: Buffer, maxAgents: number): RegistryReading {
  const { servers } = parseDocument(body);
  const agents = new Map<string, RegistryAgent>();
  for (const entry of servers) {
    if (agents.size === maxAgents) break;
    const agent = toAgent(entry);
    // The first of two: which one that is does not depend on anything else.
    if (agent && !agents.has(agent.server_id)) agents.set(agent.server_id, agent);
  }
  return { agents: [...agents.values()], leftOut: servers.length - agents.size };
}

function parseDocument(body: Buffer): z.output<typeof documentSchema> {
  try {
    return documentSchema.parse(parseJson(body, MAX_DEPTH), FIRST_PROBLEM);
  } catch (cause) {
    throw new GatewayError(
      "upstream_error",
      "The registry does not answer with a list of agents.",
      {
        cause,
        hint: "Give the URL in front of /.well-known/mcp/server.json.",
      },
    );
  }
}

function toAgent(entry: unknown): RegistryAgent | undefined {
  const { data } = entrySchema.safeParse(entry, FIRST_PROBLEM);
  if (!data) return undefined;
  const { name, title, description, icons, remotes } = data.server;
  const url = remotes
    .map((remote) => remoteSchema.safeParse(remote, FIRST_PROBLEM).data?.url)
    .find(Boolean);
  const id = name.slice(name.lastIndexOf("/") + 1);
  if (url === undefined || id === "" || hasCredentials(url)) return undefined;
  const icon = iconSchema.safeParse(icons?.[0], FIRST_PROBLEM).data?.src ?? null;
  return { server_id: id, name, title, description: description ?? null, icon, url };
}

function hasCredentials(url: string): boolean {
  const { username, password } = new URL(url);
  return username !== "" || password !== "";
}
