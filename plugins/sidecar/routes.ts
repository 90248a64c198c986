import { durationSchema, GatewayError, type PluginContext, type Principal } from "propylon";
import { admits, checkInput, pathParameter, readJson, traceOf } from "propylon/kit";
import { CONTRACT_VERSIONS, sendMessageRequestSchema, type Task } from "propylon/contract";
import { z } from "zod";
import type { TaskName } from "./message/owner.ts";
import type { Sidecar } from "./sidecar.ts";

/** Longest wait for a result in one request, in milliseconds; proxies give up on longer ones. */
const MOST_WAIT = 300_000;

const LOOK = { mutates: false, management: true } as const;

const querySchema = z.strictObject({
  wait: durationSchema()
    .optional()
    .transform((ms = 0) => Math.min(ms, MOST_WAIT)),
  owner: z.string().max(1_000).optional(),
});

/** How the sidecar is, its drain, and a door to the queue for those without a NATS client. */
export function registerRoutes(gateway: PluginContext, sidecar: Sidecar): void {
  const { worker, queue } = sidecar;
  gateway.route("GET", "/sidecar", { access: "viewer", mutates: false }, () => statusOf(sidecar));
  gateway.route("GET", "/_meta/sidecar", { ...LOOK, access: "viewer" }, async () => ({
    ok: true,
    ...statusOf(sidecar),
    // A queue that does not answer is told by the status.
    tasks: await sidecar.transport.lag().catch(() => ({ waiting: null, running: null })),
  }));
  gateway.route("GET", "/_meta/sidecar/failed", { ...LOOK, access: "operator" }, () => ({
    ok: true,
    failed: sidecar.failed.all,
  }));
  gateway.route("GET", "/sidecar/ready", { access: "public", mutates: false }, () => {
    const isReady = worker.state === "ready" || !sidecar.settings.work;
    return Response.json(
      { ready: isReady, state: worker.state },
      { status: isReady ? 200 : 503, headers: { "cache-control": "no-store" } },
    );
  });
  gateway.route("POST", "/sidecar/drain", { access: "operator", mutates: true }, async () => {
    await worker.end(sidecar.settings.timeout);
    return statusOf(sidecar);
  });
  // A call like any other, not a change of the gateway: read-only mode lets it through.
  gateway.route("POST", "/sidecar/tasks", { access: "caller", mutates: false }, async (event) => {
    const request = await readJson(event, sendMessageRequestSchema);
    const headers = (traceOf(event.req.headers) ?? {}) as Record<string, string>;
    const owner = event.context.principal.ref;
    const { id } = await queue.submit(request, { headers, owner });
    return Response.json(
      { id },
      { status: 202, headers: { location: `/sidecar/tasks/${encodeURIComponent(id)}` } },
    );
  });
  gateway.route(
    "GET",
    "/sidecar/tasks/:id",
    { access: "caller", mutates: false },
    async (event) => {
      const { wait, owner } = checkInput(Object.fromEntries(event.url.searchParams), querySchema);
      const id = pathParameter(event, "id");
      const { signal } = event.req;
      const task = await resultFor(sidecar, event.context.principal, { id, owner }, wait, signal);
      return task ?? Response.json({ id, pending: true }, { status: 202 });
    },
  );
}

/**
 * The result of a task for somebody: of their own, which is the only one of that id for them. Operators name another owner, and see
 * what came without one.
 */
export async function resultFor(
  { queue }: Sidecar,
  principal: Principal,
  { id, owner }: TaskName,
  wait: number,
  signal: AbortSignal,
): Promise<Task | undefined> {
  const { ref } = principal;
  const isOperator = admits(principal, "operator");
  if (owner !== undefined && owner !== ref && !isOperator)
    throw new GatewayError("forbidden", 'Tasks of others are for the role "operator".', {
      hint: "Leave owner out: a task of your own needs none.",
    });
  const owners = owner === undefined && isOperator ? [ref, undefined] : [owner ?? ref];
  const names = owners.map((each) => ({ id, owner: each }));
  return (await queue.first(names, { wait, signal }))?.task;
}

function statusOf({ worker, transport, runtime, settings, child }: Sidecar): object {
  const { kind, isConnected, reason, server } = transport.status;
  return {
    name: settings.name,
    state: worker.state,
    reason: worker.reason ?? null,
    contractVersions: CONTRACT_VERSIONS,
    concurrency: settings.concurrency,
    running: worker.tasks,
    queue: {
      kind,
      connected: isConnected,
      ...(reason !== undefined && { reason }),
      ...(server !== undefined && { server }),
    },
    runtime: {
      url: runtime.url,
      healthy: runtime.isHealthy,
      ...(!runtime.isHealthy && { reason: runtime.reason }),
      ...(child?.pid !== undefined && { pid: child.pid }),
      contractVersion: runtime.manifest?.contractVersion ?? null,
      card: runtime.card ? { name: runtime.card.name, version: runtime.card.version } : null,
      streaming: runtime.card?.capabilities.streaming === true,
    },
  };
}
