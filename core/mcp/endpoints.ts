import type { GatewayWarning } from "../plugin/description.ts";
import type { CompiledEndpoint } from "./compile-endpoints.ts";
import { Endpoint } from "./endpoint.ts";
import type { EndpointHost } from "./host.ts";
import type { NodeHandler } from "../http/app.ts";
import type { Principal } from "../call/types.ts";

/** One living MCP endpoint and where it is. */
interface Face {
  readonly endpoint: Endpoint;
  readonly listener: string;
  readonly path: string;
}

/** The gateway's MCP endpoints. They live through reloads, so that no session and no stream is lost. */
export class Endpoints {
  readonly #host: EndpointHost;
  #faces = new Map<string, Face>();

  constructor(host: EndpointHost) {
    this.#host = host;
  }

  /** Shows the new content, opens endpoints that are new and closes those that are gone. */
  update(endpoints: ReadonlyMap<string, CompiledEndpoint>): void {
    const old = this.#faces;
    this.#faces = new Map();
    for (const [name, { listener, path, content }] of endpoints) {
      const endpoint = old.get(name)?.endpoint ?? new Endpoint(name, this.#host);
      endpoint.update(content);
      this.#faces.set(name, { endpoint, listener, path });
    }
    for (const [name, { endpoint }] of old) if (!this.#faces.has(name)) endpoint.close("shutdown");
  }

  /** Builds every endpoint's lists anew and tells clients what differs. */
  relist(): void {
    for (const { endpoint } of this.#faces.values()) endpoint.relist();
  }

  /** What endpoints leave out of their lists, and why. */
  get problems(): readonly GatewayWarning[] {
    return [...this.#faces].flatMap(([name, { endpoint }]) =>
      endpoint.problems.map((problem) => ({
        code: "left_out" as const,
        message: `Endpoint "${name}": ${problem}`,
        path: ["endpoints", name],
        hint: "Rename what is yours; else set prefix or tools.exclude of the server, or naming of the endpoint.",
      })),
    );
  }

  /** Handlers of the endpoints on one listener, by path. */
  handlersOf(listener: string): ReadonlyMap<string, NodeHandler> {
    const here = [...this.#faces.values()].filter((face) => face.listener === listener);
    return new Map(here.map(({ path, endpoint }) => [path, endpoint.handle]));
  }

  /** Ends the sessions that matching principals opened; tells how many that were. */
  revoke(match: (principal: Principal) => boolean): number {
    let count = 0;
    for (const { endpoint } of this.#faces.values()) count += endpoint.revoke(match);
    return count;
  }

  /** Ends every session and stream. */
  close(): void {
    for (const { endpoint } of this.#faces.values()) endpoint.close("shutdown");
    this.#faces.clear();
  }
}
