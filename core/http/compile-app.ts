import type { AppInput } from "./routes.ts";
import { compileDirect } from "./direct.ts";
import { createEdge } from "./edge.ts";
import type { ListenerApp } from "./app.ts";
import { readinessOf } from "../plugin/plugin-checks.ts";
import { createDoor } from "./upgrades.ts";

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
    authenticate: createEdge(input.guard.authenticator),
    direct: compileDirect(input.routes, input),
    checks: () => readinessOf(input.checks),
    sockets: createDoor(input.sockets, input.guard),
  };
}
