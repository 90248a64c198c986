import { type GatewayError, isGatewayError } from "propylon";
import { networkFault, sizeFault } from "propylon/kit";
import { serverFault, statusFault } from "propylon/internal";
import { MAX_DEPTH } from "propylon/contract";

/** Errors of a connection that was never made, so that nothing can have been carried out. */
const UNSENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

/** The agent answered, and refused. Its caller is told as of a failed tool. */
export class AgentRefusal extends Error {
  override readonly name = "Refusal";
  /** Whether the task is unknown to the agent. */
  readonly isUnknownTask: boolean;

  constructor(message: string, isUnknownTask = false) {
    super(message);
    this.isUnknownTask = isUnknownTask;
  }
}

/** Makes the errors of one agent. What the agent sent gets into none of them: it may hold secrets. */
export class AgentErrors {
  readonly #server: string;

  constructor(server: string) {
    this.#server = server;
  }

  /** The network failed. */
  network(error: unknown): GatewayError {
    return networkFault(this.#server, error);
  }

  /** The agent refused with an HTTP status. */
  status(status: number): GatewayError {
    if (status !== 503) return statusFault(this.#server, status);
    return serverFault(this.#server, "takes no work now (HTTP 503)", {
      data: { status },
      hint: "Try again later.",
    });
  }

  /** What the agent sent is not what its dialect says. */
  protocol(what: string, cause?: unknown): GatewayError {
    return serverFault(this.#server, what, { cause });
  }

  /** Deeper than can be handled. */
  tooDeep(): GatewayError {
    return this.protocol(`sent JSON that nests deeper than ${MAX_DEPTH} levels`);
  }

  /** More than the limit. */
  tooLarge(limit: number): GatewayError {
    return sizeFault(this.#server, limit);
  }
}

/** Whether an agent may have been lost on the way, so that looking again may find it. */
export function isUpstreamError(error: unknown): boolean {
  return isGatewayError(error) && error.code === "upstream_error";
}

/** Whether a request certainly never reached its agent: it may be sent again without being carried out twice. */
export function isUnsent(error: unknown): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    if (UNSENT.has(String((cause as { code?: unknown }).code))) return true;
  return false;
}
