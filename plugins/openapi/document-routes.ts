import { FastResponse } from "srvx";
import type { PluginContext, RouteEvent } from "propylon";
import { isUnmodified } from "propylon/kit";
import { serverOf } from "./call.ts";
import { Documents, type Rendered } from "./documents.ts";
import type { Options } from "./options.ts";
import { PAGE, POLICY } from "./page.ts";
import { findServer, settled } from "./target.ts";

const VIEWER = { access: "viewer", mutates: false } as const;
const PUBLIC = { access: "public", mutates: false } as const;

/** Serves the OpenAPI documents, and the pages that show them. */
export function routeDocuments(
  gateway: Pick<PluginContext, "route" | "control" | "hook">,
  options: Options,
): void {
  const documents = new Documents(gateway, options);
  gateway.route("GET", "/openapi.json", VIEWER, async (event) => {
    const root = options.root === undefined ? undefined : gateway.control.servers.get(options.root);
    await Promise.all((root ? [root] : [...gateway.control.servers.values()]).map(settled));
    const { principal } = event.context;
    return sendDocument(
      event,
      root ? documents.ofServer(root, principal, true) : documents.ofGateway(principal),
    );
  });
  gateway.route("GET", "/:server/openapi.json", VIEWER, async (event) => {
    const { principal } = event.context;
    const server = findServer(gateway.control, serverOf(event), principal);
    await settled(server);
    return sendDocument(event, documents.ofServer(server, principal));
  });
  if (!options.docs) return;
  gateway.route("GET", "/docs", PUBLIC, sendPage);
  gateway.route("GET", "/:server/docs", PUBLIC, sendPage);
}

function sendDocument(event: RouteEvent, { bytes, etag }: Rendered): Response {
  const headers = { etag, "cache-control": "private, no-cache", vary: "authorization" };
  if (isUnmodified(event, etag)) return new FastResponse(null, { status: 304, headers });
  return new FastResponse(bytes, {
    headers: { ...headers, "content-type": "application/json" },
  });
}

function sendPage(): Response {
  return new FastResponse(PAGE, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": POLICY,
      "referrer-policy": "no-referrer",
      "cache-control": "no-cache",
    },
  });
}
