import {
  GatewayError,
  toGatewayError,
  type CallInput,
  type Json,
  type GatewayInfo,
  type PluginContext,
  type Progress,
  type RouteEvent,
} from "propylon";
import { Cancellation, traceOf } from "propylon/kit";
import { amendError, CallStream, clientGone, prefersEvents } from "propylon/internal";
import type { GatingService } from "propylon/plugins/gating";
import type { RateLimitsService } from "propylon/plugins/ratelimit";
import type { TaskService, TaskTable } from "propylon/plugins/tasks";
import { forwardedHeaders } from "./headers.ts";
import { type Completion, renderJob, toCompletion } from "./job.ts";
import { FORMATS, type Format, type OpenapiOptions } from "../options.ts";
import { limitHeaders } from "./limits.ts";
import { failureOf, renderResult, respond, respondFailure, httpStatusOf } from "./reply.ts";
import type { Target } from "./target.ts";
import { effectiveTimeout, limitOf, requestedTimeout, type TimedCall } from "./timeout.ts";
import { HttpPeer } from "./timing.ts";

/** What an invocation needs of the plugin. */
export interface InvocationHost {
  readonly call: PluginContext["call"];
  readonly timeouts: GatewayInfo["timeouts"];
  readonly options: OpenapiOptions;
  readonly gating: GatingService | undefined;
  readonly limits: RateLimitsService | undefined;
  readonly tasks: TaskService | undefined;
  /** Calls that are answered later; absent without the plugin tasks. */
  readonly jobs: TaskTable | undefined;
}

/** A call that is not timed stores nothing at its peer, so one serves all. */
export const NOBODY = new HttpPeer();

/** One request that calls a tool, and the three ways to answer it: at once, as events, or later. */
export class Invocation {
  readonly #host: InvocationHost;
  readonly #event: RouteEvent;
  readonly #target: Target;
  readonly #format: Format;
  readonly #input: CallInput;
  readonly #headers: Record<string, string> = {};

  /**
   * @param waited milliseconds that the request has waited for its server already
   * @throws {GatewayError} `invalid` for an unknown format; what {@link effectiveTimeout} throws
   */
  constructor(host: InvocationHost, event: RouteEvent, target: Target, args: Json, waited = 0) {
    const { headers } = event.req;
    const rule = host.options.forwardHeaders[target.server.name];
    this.#host = host;
    this.#event = event;
    this.#target = target;
    this.#format = formatOf(headers.get("x-result-format"), host.options.format);
    const input = {
      server: target.server.name,
      name: target.tool.name,
      method: "tools/call" as const,
      source: "http" as const,
      args,
      principal: event.context.principal,
      timeout: requestedTimeout(headers.get("x-tool-timeout"), event.url.search),
      meta: metaOf(headers, forwardedHeaders(rule, headers)),
      peer: host.options.serverTiming ? new HttpPeer() : NOBODY,
    };
    const effective = effectiveTimeout(host.gating, input);
    if (effective !== undefined) this.#headers["x-tool-timeout-effective"] = effective;
    this.#input = waited > 0 ? { ...input, timeout: leftOf(host, input, waited) } : input;
  }

  /** Runs the call in the way that the request prefers. */
  run(): Promise<Response> | Response {
    const { headers } = this.#event.req;
    const { jobs } = this.#host;
    if (jobs && jobs.limits.maxTasks > 0 && prefersAsync(headers.get("prefer")))
      return this.#later(jobs);
    if (prefersEvents(headers.get("accept"))) return this.#stream();
    return this.#atOnce();
  }

  async #atOnce(): Promise<Response> {
    const { req, context } = this.#event;
    const cancellation = cancelWhenGone(this.#event);
    try {
      const answer = await this.#host.call({ ...this.#input, cancellation });
      const failure = failureOf(answer);
      const left = limitHeaders(this.#host.limits, this.#target, context.principal);
      const headers = { ...this.#timed(), ...left };
      const accept = req.headers.get("accept");
      if (failure)
        return respondFailure(failure, httpStatusOf(failure, this.#host.options), accept, headers);
      return respond(200, renderResult(answer.result!, this.#format), headers);
    } catch (error) {
      throw amendError(toGatewayError(error), { headers: this.#timed() });
    }
  }

  #stream(): Response {
    const abort = new AbortController();
    const stream = new CallStream(() => abort.abort(clientGone()));
    void this.#complete(abort.signal, (report) => stream.progress(report)).then(
      ({ status, body }) => stream.end(status < 400 ? "result" : "error", body),
    );
    for (const [name, value] of Object.entries(this.#headers))
      stream.response.headers.set(name, value);
    return stream.response;
  }

  async #later(jobs: TaskTable): Promise<Response> {
    const { server, tool } = this.#target;
    const abort = new AbortController();
    const job = await jobs.begin({
      server: server.name,
      name: tool.name,
      principal: this.#event.context.principal,
      format: this.#format,
      cancel: (reason) => abort.abort(reason),
    });
    const progress = (report: Progress): void => job.report(report);
    void this.#host
      .call({ ...this.#input, signal: abort.signal, progress })
      .catch(toGatewayError)
      .then((outcome) => job.finish(outcome));
    return respond(202, renderJob(job, this.#host.options), {
      ...this.#headers,
      location: `/_jobs/${job.id}`,
      "preference-applied": "respond-async",
      "retry-after": "1",
    });
  }

  /** The end of the call as JSON text, whatever it is. */
  async #complete(signal: AbortSignal, progress: (report: Progress) => void): Promise<Completion> {
    try {
      const answer = await this.#host.call({ ...this.#input, signal, progress });
      const failure = failureOf(answer);
      if (failure) return toCompletion(failure);
      return { status: 200, body: renderResult(answer.result!, this.#format) };
    } catch (error) {
      return toCompletion(toGatewayError(error));
    }
  }

  #timed(): Readonly<Record<string, string>> {
    const { peer } = this.#input;
    if (!this.#host.options.serverTiming || !(peer instanceof HttpPeer)) return this.#headers;
    return { ...this.#headers, "server-timing": peer.timing() };
  }
}

/** What was spent on the way to the server is no longer left for it. */
function leftOf({ gating, timeouts }: InvocationHost, call: TimedCall, waited: number): number {
  return Math.max(1, Math.round(limitOf(gating, timeouts, call) - waited));
}

function metaOf(headers: Headers, forwarded: Json | undefined): Json | undefined {
  const trace = traceOf(headers);
  return trace && forwarded ? { ...trace, ...forwarded } : (trace ?? forwarded);
}

/** @throws {GatewayError} `invalid` for an unknown name */
function formatOf(header: string | null, fallback: Format): Format {
  if (header === null) return fallback;
  const format = FORMATS.find((name) => name === header.trim().toLowerCase());
  if (format) return format;
  throw new GatewayError("invalid", `X-Result-Format must be one of ${FORMATS.join(", ")}.`, {
    data: { path: "X-Result-Format" },
  });
}

/** RFC 7240. */
function prefersAsync(header: string | null): boolean {
  return header !== null && /(?:^|,)\s*respond-async\s*(?:[;,]|$)/i.test(header);
}

/** Ends a call when its client goes away before it has its answer. */
function cancelWhenGone({ req }: RouteEvent): Cancellation {
  const cancellation = new Cancellation();
  const res = req.runtime?.node?.res;
  if (res?.destroyed) cancellation.abort(clientGone());
  else res?.once("close", () => res.writableFinished || cancellation.abort(clientGone()));
  return cancellation;
}
