import { GatewayError, type PluginContext, type RouteEvent } from "propylon";
import {
  admits,
  boundedRecord,
  Cancellation,
  checkInput,
  pathParameter,
  readJson,
} from "propylon/kit";
import { clientGone, prefersEvents, resultOf, streamAnswer } from "propylon/internal";
import { z } from "zod";
import type { AdminContext } from "./administration.ts";
import { CallsInFlight, type Viewer } from "./calls-in-flight.ts";

const MAX_PAGE = 1_000;

const pageSchema = z.strictObject({
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(100),
  /** `next` of the page before. */
  after: z
    .string()
    .regex(/^\d{1,15}(?:\.\d{1,20})?_[\w-]{1,100}$/, "must be what next was")
    .optional(),
  server: z.string().min(1).max(200).optional(),
});

const callSchema = z.strictObject({
  server: z.string().min(1),
  tool: z.string().min(1),
  arguments: boundedRecord(z.string(), z.unknown(), 10_000).default({}),
  timeout: z.number().int().min(1).max(86_400_000).optional(),
});

/** A call in `GET /_meta/calls`. */
export type RunningCallView = Awaited<ReturnType<typeof listCalls>>["calls"][number];
/** Body of `POST /_meta/calls`. */
export type ManualCall = z.input<typeof callSchema>;

/** Calls while they run: which there are, the end of one, and a call by hand. Operators see all of them, others their own. */
export function callRoutes(gateway: AdminContext): void {
  const look = { access: "caller", mutates: false, management: true } as const;
  const running = new CallsInFlight(gateway.services);
  gateway.onStart(() => running.serve());
  gateway.route("GET", "/_meta/calls", look, (event) => listCalls(running, event));
  gateway.route("DELETE", "/_meta/calls/:id", { ...look, mutates: true }, (event) =>
    cancelCall(running, event),
  );
  // What a tool does does not change the gateway.
  gateway.route("POST", "/_meta/calls", look, (event) => makeCall(gateway, event));
}

async function listCalls(running: CallsInFlight, event: RouteEvent) {
  const query = checkInput(Object.fromEntries(event.url.searchParams), pageSchema);
  const viewer = viewerOf(event);
  const { calls, next, ...about } = await running.list(viewer, query);
  return {
    ok: true,
    ...about,
    calls: calls.map(({ place: _place, ...call }) => ({
      ...call,
      mine: call.principal === viewer.ref,
    })),
    next,
  };
}

function viewerOf({ context }: RouteEvent): Viewer {
  const { principal } = context;
  return { ref: principal.ref, isOperator: admits(principal, "operator") };
}

/** @throws {GatewayError} `not_found` for a call that has ended, and for somebody else's */
async function cancelCall(running: CallsInFlight, event: RouteEvent): Promise<object> {
  const id = pathParameter(event, "id");
  const found = await running.cancel(viewerOf(event), id);
  if (found) event.context.target = { server: found.server, tool: found.tool };
  if (found?.isCancelled) return { ok: true, id };
  throw new GatewayError("not_found", "No such call is running.", {
    hint: "It may have ended; GET /_meta/calls lists those that run.",
  });
}

async function makeCall(gateway: PluginContext, event: RouteEvent): Promise<unknown> {
  const { server, tool, arguments: args, timeout } = await readJson(event, callSchema);
  const cancellation = new Cancellation();
  const { principal } = event.context;
  const source = "http" as const;
  const input = { server, name: tool, args, timeout, principal, source, cancellation };
  const leave = (): void => cancellation.abort(clientGone());
  if (prefersEvents(event.req.headers.get("accept")))
    return streamAnswer(leave, (progress) => gateway.call({ ...input, progress }));
  event.req.signal.addEventListener("abort", leave, { once: true });
  return { ok: true, result: resultOf(await gateway.call(input)) };
}
