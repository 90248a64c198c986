import { admits, GatewayError, type PluginContext, type RouteEvent } from "propylon";
import {
  Cancellation,
  checkInput,
  clientGone,
  pathParameter,
  prefersEvents,
  readJson,
  type RunningCall,
  resultOf,
  streamAnswer,
} from "propylon/kit";
import { z } from "zod";

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
  arguments: z.record(z.string(), z.unknown()).default({}),
  timeout: z.number().int().min(1).max(86_400_000).optional(),
});

/** Calls while they run: which there are, the end of one, and a call by hand. Operators see all of them, others their own. */
export function callRoutes(gateway: PluginContext): void {
  const look = { access: "caller", mutates: false, management: true } as const;
  gateway.route("GET", "/_meta/calls", look, (event) => listCalls(gateway, event));
  gateway.route("DELETE", "/_meta/calls/:id", { ...look, mutates: true }, (event) =>
    cancelCall(gateway, event),
  );
  // What a tool does is no change of the gateway.
  gateway.route("POST", "/_meta/calls", look, (event) => makeCall(gateway, event));
}

function listCalls({ control }: PluginContext, event: RouteEvent): object {
  const { limit, after, server } = checkInput(
    Object.fromEntries(event.url.searchParams),
    pageSchema,
  );
  const { ref } = event.context.principal;
  const all = visible(control.calls(), event).filter(
    (call) => server === undefined || call.server === server,
  );
  const rest = after === undefined ? all : all.filter(isBehind(after));
  const page = rest.slice(0, limit);
  return {
    ok: true,
    total: all.length,
    calls: page.map(({ principal, started: _started, ...call }) => ({
      ...call,
      principal: principal.ref,
      mine: principal.ref === ref,
    })),
    next: rest.length > page.length ? placeOf(page.at(-1)!) : null,
  };
}

/** Calls come and go between two pages: the place of one that has gone is still a place. */
function placeOf({ started, id }: RunningCall): string {
  return `${started}_${id}`;
}

function isBehind(place: string): (call: RunningCall) => boolean {
  const at = place.indexOf("_");
  const [from, last] = [Number(place.slice(0, at)), place.slice(at + 1)];
  return ({ started, id }) => started > from || (started === from && id > last);
}

function visible(calls: readonly RunningCall[], { context }: RouteEvent): readonly RunningCall[] {
  if (admits(context.principal, "operator")) return calls;
  return calls.filter(({ principal }) => principal.ref === context.principal.ref);
}

/** @throws {GatewayError} `not_found` for a call that has ended, and for somebody else's */
function cancelCall({ control }: PluginContext, event: RouteEvent): object {
  const id = pathParameter(event, "id");
  const call = visible(control.calls(), event).find((each) => each.id === id);
  if (call) event.context.target = { server: call.server, tool: call.name };
  const isOwn = call?.principal.ref === event.context.principal.ref;
  const reason = isOwn
    ? "The call was cancelled by its caller."
    : "An operator cancelled the call.";
  if (call && control.cancel(id, reason)) return { ok: true, id };
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
