import { GatewayError } from "propylon";
import { checkInput } from "propylon/kit";
import type { AgentInfo } from "propylon/plugins/agents";
import { z } from "zod";
import { OFFICIAL, toServer, toStrictServer, updatedAt, type ServerDocument } from "./entry.ts";
import type { RegistryOptions } from "./options.ts";

/** Most entries of one page, and how many when nothing is said. */
const PAGE = { max: 100, usual: 30 } as const;

const querySchema = z.object({
  cursor: z.string().optional(),
  limit: z.coerce.number().pipe(z.int().min(1).max(PAGE.max)).default(PAGE.usual),
  search: z.string().optional(),
  updated_since: z.iso.datetime({ offset: true }).optional(),
  version: z.string().optional(),
});

/** One entry of a list. */
export interface CatalogueEntry {
  readonly server: ServerDocument;
  readonly _meta: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** The agents as the registry shows them: always those of now. */
export class RegistryCatalogue {
  readonly #agents: () => readonly AgentInfo[];
  readonly #toServer: (agent: AgentInfo) => ServerDocument;

  constructor(
    agents: () => readonly AgentInfo[],
    { strictSchema }: Pick<RegistryOptions, "strictSchema">,
  ) {
    this.#agents = agents;
    this.#toServer = strictSchema ? toStrictServer : toServer;
  }

  /** The body of `/.well-known/mcp/server.json`. */
  list(): { readonly servers: readonly CatalogueEntry[] } {
    const servers = this.#agents().map((agent) => ({
      server: this.#toServer(agent),
      _meta: { [OFFICIAL]: { status: "active", updatedAt: updatedAt(agent), isLatest: true } },
    }));
    return { servers };
  }

  /**
   * A page of `/v0.1/servers`, as in the official registry's API v0.1: sorted by name, `cursor` is the last name of the page
   * before.
   * @throws {GatewayError} `invalid` for a query that cannot be used
   */
  page(query: unknown): object {
    const { cursor, limit, search, updated_since: since, version } = checkInput(query, querySchema);
    const words = search?.toLowerCase();
    const found = this.#official().filter(
      ({ server, changed }) =>
        (cursor === undefined || server.name > cursor) &&
        (words === undefined || server.name.toLowerCase().includes(words)) &&
        (since === undefined || Date.parse(changed) > Date.parse(since)) &&
        (version === undefined || version === "latest" || version === server.version),
    );
    const servers = found.slice(0, limit).map(({ entry }) => entry);
    const last = servers.at(-1);
    return {
      servers,
      metadata: {
        count: servers.length,
        ...(found.length > limit && last && { nextCursor: last.server.name }),
      },
    };
  }

  /** The only version of a server there is, in the shape of a list. */
  versions(name: string): object {
    return { servers: [this.version(name, "latest")], metadata: { count: 1 } };
  }

  /** @throws {GatewayError} `not_found` */
  version(name: string, version: string): CatalogueEntry {
    const found = this.#official().find(
      ({ server }) => server.name === name && (version === "latest" || server.version === version),
    );
    if (found) return found.entry;
    throw new GatewayError("not_found", "Server not found", {
      hint: "GET /v0.1/servers lists them.",
    });
  }

  #official(): {
    readonly server: ServerDocument;
    readonly changed: string;
    readonly entry: CatalogueEntry;
  }[] {
    const entries = this.#agents().map((agent) => {
      const server = this.#toServer(agent);
      const changed = updatedAt(agent);
      // Published when it became what it is: there is one version of everything, and no older ones.
      const official = {
        status: "active",
        publishedAt: changed,
        updatedAt: changed,
        isLatest: true,
      };
      return { server, changed, entry: { server, _meta: { [OFFICIAL]: official } } };
    });
    return entries.toSorted((a, b) => (a.server.name < b.server.name ? -1 : 1));
  }
}
