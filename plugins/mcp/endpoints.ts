import { isDeepStrictEqual } from "node:util";
import type { Principal } from "propylon";
import type {
  CompiledEndpoint,
  EndpointContent,
  EndpointHost,
  EndpointName,
  EndpointServer,
  GatewayWarning,
  NodeHandler,
} from "propylon/internal";
import { Endpoint } from "./endpoint/endpoint.ts";

/** One living MCP endpoint and where it is. */
interface Served {
  readonly endpoint: Endpoint;
  readonly listener: string;
  readonly path: string;
  readonly content: EndpointContent;
}

/** The gateway's MCP endpoints. They live through reloads, so that no session and no stream is lost. */
export class Endpoints implements EndpointServer {
  readonly #host: EndpointHost;
  #served = new Map<string, Served>();

  constructor(host: EndpointHost) {
    this.#host = host;
  }

  /** Shows the new content, opens endpoints that are new and closes those that are gone. */
  update(endpoints: ReadonlyMap<string, CompiledEndpoint>): void {
    const old = this.#served;
    this.#served = new Map();
    for (const [name, { listener, path, content }] of endpoints) {
      const before = old.get(name);
      const endpoint = before?.endpoint ?? new Endpoint(name, this.#host);
      const shown = before && showsSame(before.content, content) ? before.content : content;
      if (shown !== before?.content) endpoint.update(shown);
      this.#served.set(name, { endpoint, listener, path, content: shown });
    }
    for (const [name, { endpoint }] of old) if (!this.#served.has(name)) endpoint.close();
  }

  /** Rebuilds every endpoint's lists and tells clients what differs. */
  relist(): void {
    for (const { endpoint } of this.#served.values()) endpoint.relist();
  }

  /** What endpoints leave out of their lists, and why. */
  get problems(): readonly GatewayWarning[] {
    return [...this.#served].flatMap(([name, { endpoint }]) =>
      endpoint.problems.map((problem) => ({
        code: "left_out" as const,
        message: `Endpoint "${name}": ${problem}`,
        path: ["endpoints", name],
        hint: "Set prefix or tools.exclude of the server, or naming of the endpoint. Where a plugin of yours brings it, give it another name there.",
      })),
    );
  }

  /** Handlers of the endpoints on one listener, by path. */
  handlersOf(listener: string): ReadonlyMap<string, NodeHandler> {
    const here = [...this.#served.values()].filter((served) => served.listener === listener);
    return new Map(here.map(({ path, endpoint }) => [path, endpoint.handle]));
  }

  /** What a tool of a server is called at each endpoint, for a principal. */
  namesOf(server: string, tool: string, principal: Principal): readonly EndpointName[] {
    return [...this.#served].flatMap(([endpoint, served]) => {
      const name = served.endpoint.nameOf(server, tool, principal);
      return name === undefined ? [] : [{ endpoint, name }];
    });
  }

  /** Ends the sessions that matching principals opened; tells how many that were. */
  revoke(match: (principal: Principal) => boolean): number {
    let count = 0;
    for (const { endpoint } of this.#served.values()) count += endpoint.revoke(match);
    return count;
  }

  /** Ends every session and stream. */
  close(): void {
    for (const { endpoint } of this.#served.values()) endpoint.close();
    this.#served.clear();
  }
}

/** Whether nothing differs, so that a reload need not rebuild the lists; an entry whose tools are others is another server. */
function showsSame(before: EndpointContent, after: EndpointContent): boolean {
  return (
    before.isUnfiltered === true &&
    after.isUnfiltered === true &&
    before.servers.length === after.servers.length &&
    before.servers.every((server, index) => server === after.servers[index]) &&
    isDeepStrictEqual(before.config, after.config)
  );
}
