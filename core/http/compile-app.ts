import type { AppInput, ListenerApp } from "./app.ts";
import { createEdge } from "./guard.ts";
import { readinessOf } from "../plugin/plugin-checks.ts";
import type { Router } from "./routes.ts";

/** Compiles what one listener serves. The router is loaded with the first route or request: MCP alone needs none. */
export function compileApp(input: AppInput): ListenerApp {
  const { routes, sockets, endpoints, page, checks, guard } = input;
  let router: Router | undefined;
  let loading: Promise<Router> | undefined;
  const load = (): Promise<Router> =>
    (loading ??= import("./routes.ts").then(({ createRouter }) => (router = createRouter(input))));
  // A failure shows in the request that meets it.
  if (routes.length > 0) load().catch(() => {});
  return {
    endpoints,
    page,
    fetch: async (request) => (await load()).fetch(request),
    authenticate: createEdge(guard.authenticator),
    direct: (req, path) => router?.direct?.(req, path),
    checks: () => readinessOf(checks),
    sockets: {
      has: ({ plugin, path }) => sockets.get(path)?.plugin === plugin,
      admit: async (req) => (await load()).admit(req),
    },
  };
}
