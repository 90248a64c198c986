import { type CallInput, GatewayError, type PluginContext, type RouteEvent } from "propylon";
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
import { answerSchema, CallQuestions } from "./call-questions.ts";
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

const callSchema = z
  .strictObject({
    server: z.string().min(1),
    tool: z.string().min(1).optional(),
    /** URI of a resource to read. */
    resource: z.string().min(1).optional(),
    prompt: z.string().min(1).optional(),
    arguments: boundedRecord(z.string(), z.unknown(), 10_000).default({}),
    timeout: z.number().int().min(1).max(86_400_000).optional(),
    /** Whether who reads the events of the call answers what its tool asks. */
    interactive: z.boolean().default(false),
  })
  .refine(({ tool, resource, prompt }) => [tool, resource, prompt].filter(Boolean).length === 1, {
    message: "Name one tool, resource or prompt.",
    path: ["tool"],
  });

/** A call in `GET /_meta/calls`. */
export type RunningCallView = Awaited<ReturnType<typeof listCalls>>["calls"][number];
/** Body of `POST /_meta/calls`. */
export type ManualCall = z.input<typeof callSchema>;

/** Calls while they run: which there are, the end of one, and a call by hand. Operators see all of them, others their own. */
export function callRoutes(gateway: AdminContext): void {
  const look = { access: "caller", mutates: false, management: true } as const;
  const questions = gateway.keep("questions", () => new CallQuestions());
  const running = new CallsInFlight(gateway.services, questions);
  gateway.onStart(() => running.serve());
  gateway.route("GET", "/_meta/calls", look, (event) => listCalls(running, event));
  gateway.route("DELETE", "/_meta/calls/:id", { ...look, mutates: true }, (event) =>
    cancelCall(running, event),
  );
  // What a tool does does not change the gateway.
  gateway.route("POST", "/_meta/calls", look, (event) => makeCall(gateway, questions, event));
  gateway.route("POST", "/_meta/questions/:id", look, (event) => answerQuestion(running, event));
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

async function makeCall(
  gateway: PluginContext,
  questions: CallQuestions,
  event: RouteEvent,
): Promise<unknown> {
  const body = await readJson(event, callSchema);
  const cancellation = new Cancellation();
  const { principal } = event.context;
  const input = { ...targetOf(body), principal, source: "http" as const, cancellation };
  const leave = (): void => cancellation.abort(clientGone());
  if (prefersEvents(event.req.headers.get("accept")))
    return streamAnswer(leave, async (progress, tell) => {
      if (!body.interactive) return gateway.call({ ...input, progress });
      const peer = questions.begin(principal.ref, tell);
      return gateway.call({ ...input, progress, peer }).finally(() => peer.end());
    });
  event.req.signal.addEventListener("abort", leave, { once: true });
  return { ok: true, result: resultOf(await gateway.call(input)) };
}

/** What a call by hand is of: a tool, a resource or a prompt. */
function targetOf(body: z.output<typeof callSchema>): CallInput {
  const { server, tool, resource, prompt, arguments: args, timeout } = body;
  if (resource !== undefined)
    return { server, method: "resources/read", name: resource, params: { uri: resource }, timeout };
  if (prompt !== undefined) return { server, method: "prompts/get", name: prompt, args, timeout };
  return { server, name: tool!, args, timeout };
}

/** @throws {GatewayError} `not_found` for what nobody asked the caller, `invalid` with `data.problems` for an answer that does not fit */
async function answerQuestion(running: CallsInFlight, event: RouteEvent): Promise<object> {
  const id = pathParameter(event, "id");
  const answer = await readJson(event, answerSchema);
  const verdict = await running.answer(viewerOf(event), id, answer);
  if (!verdict)
    throw new GatewayError("not_found", "Nobody waits for an answer to this question.", {
      hint: "The call may have ended, or the question was answered before.",
    });
  const { problems } = verdict;
  if (problems.length === 0) return { ok: true, id };
  const words = problems.map(({ path, message }) => `${path || "the answer"}: ${message}`);
  throw new GatewayError("invalid", `The answer does not fit the question. ${words.join(" ")}`, {
    data: { path: problems[0]!.path, problems },
    hint: "Correct the fields that are named.",
  });
}
