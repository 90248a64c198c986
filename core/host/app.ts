import type { Logger } from "pino";
import type { Authenticator } from "../auth.ts";
import { createEdge } from "./edge.ts";
import type { ListenerApp, NodeHandler } from "../node/app.ts";
import type { RegisteredRoute } from "./scope.ts";

/** What the app of one listener is made from. */
export interface AppInput {
  readonly routes: readonly RegisteredRoute[];
  readonly endpoints: ReadonlyMap<string, NodeHandler>;
  readonly authenticator: Authenticator;
  /** Largest body of a route that sets no own limit, in bytes. */
  readonly bodyLimit: number;
  readonly log: Logger;
}

/** Compiles what one listener serves. The router is loaded with the first route or request: MCP alone needs none. */
export function compileApp(input: AppInput): ListenerApp {
  let loading: Promise<ListenerApp["fetch"]> | undefined;
  const load = (): Promise<ListenerApp["fetch"]> =>
    (loading ??= import("./routes.ts").then(({ createRouter }) => createRouter(input)));
  // A failure shows in the request that meets it.
  if (input.routes.length > 0) load().catch(() => {});
  return {
    endpoints: input.endpoints,
    fetch: async (request) => (await load())(request),
    authenticate: createEdge(input.authenticator),
  };
}
