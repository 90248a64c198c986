import { FastResponse } from "srvx";
import { GatewayError, type PluginContext, type RouteEvent, type RouteOptions } from "propylon";
import { isUnmodified } from "propylon/kit";
import type { SharedTask, TaskService } from "propylon/plugins/tasks";
import { callTool, serverOf } from "./call/call.ts";
import { callDirectly } from "./call/direct.ts";
import { Documents, type Rendered } from "./document/documents.ts";
import type { InvocationHost } from "./call/invocation.ts";
import { renderJob } from "./call/job.ts";
import type { OpenapiOptions } from "./options.ts";
import { PAGE } from "./page.ts";
import { respond } from "./call/reply.ts";
import { findServer, isServer, settled } from "./call/target.ts";

const CALLER = { access: "caller", mutates: false } as const;
const VIEWER = { access: "viewer", mutates: false } as const;
const PUBLIC = { access: "public", mutates: false } as const;

/** `POST /:server/:tool` and the like, jobs, documents and their pages. */
export function registerRoutes(
  gateway: Pick<PluginContext, "route" | "info" | "hook" | "call">,
  parts: Omit<InvocationHost, "call" | "timeouts">,
): void {
  const { options, limits, tasks } = parts;
  const call = callTool(gateway, parts);
  const direct = callDirectly(gateway, options, limits);
  const { info } = gateway;
  const exists: RouteOptions["exists"] = ({ server }, who) =>
    who !== undefined && isServer(info, server!, who);
  gateway.route("POST", "/:server/:tool", { ...CALLER, direct, exists }, call);
  gateway.route("POST", "/:server/invoke", { ...CALLER, exists }, call);
  if (options.root !== undefined) gateway.route("POST", "/:tool", CALLER, call);
  if (tasks) routeJobs(gateway, tasks, options);
  routeDocuments(gateway, options);
}

function routeJobs(
  gateway: Pick<PluginContext, "route">,
  tasks: TaskService,
  options: OpenapiOptions,
): void {
  gateway.route("GET", "/_jobs/:id", CALLER, async (event) => {
    const job = await findJob(tasks, event);
    return respond(200, renderJob(job, options), job.endedAt ? {} : { "retry-after": "1" });
  });
  gateway.route("DELETE", "/_jobs/:id", CALLER, async (event) => {
    const job = await findJob(tasks, event);
    if (job.endedAt === undefined) await job.cancel();
    else await job.forget?.();
    return respond(200, renderJob(job, options));
  });
}

/** @throws {GatewayError} `not_found`, also for one of somebody else */
async function findJob(tasks: TaskService, { context }: RouteEvent): Promise<SharedTask> {
  const job = await tasks.find(context.params!["id"]!, context.principal);
  if (job) return job;
  throw new GatewayError("not_found", "There is no such job.", {
    hint: "Finished jobs are forgotten after a while; make the call again.",
  });
}

/** The OpenAPI documents, and the pages that show them. */
function routeDocuments(
  gateway: Pick<PluginContext, "route" | "info" | "hook">,
  options: OpenapiOptions,
): void {
  const documents = new Documents(gateway, options);
  gateway.route("GET", "/openapi.json", VIEWER, async (event) => {
    const root = options.root === undefined ? undefined : gateway.info.servers.get(options.root);
    await Promise.all((root ? [root] : [...gateway.info.servers.values()]).map(settled));
    const { principal } = event.context;
    return sendDocument(
      event,
      root ? documents.ofServer(root, principal, true) : documents.ofGateway(principal),
    );
  });
  gateway.route("GET", "/:server/openapi.json", VIEWER, async (event) => {
    const { principal } = event.context;
    const server = findServer(gateway.info, serverOf(event), principal);
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
  const { text, headers } = PAGE;
  return new FastResponse(text, { headers });
}
