import {
  GatewayError,
  STAGES,
  type Middleware,
  type Peer,
  type PluginContext,
  type Stage,
} from "propylon";

/**
 * The client of a plain HTTP call: nobody who could be asked anything. Copies of a call keep it, so it also carries when the
 * call came to each stage.
 */
export class HttpPeer implements Peer {
  readonly key = "";
  readonly capabilities = {};
  readonly #from = performance.now();
  readonly #marks: { readonly name: string; readonly at: number }[] = [];

  /** @throws {GatewayError} `invalid` always */
  ask(method: string): Promise<never> {
    return Promise.reject(
      new GatewayError("invalid", `A client of plain HTTP cannot answer ${method}.`, {
        hint: "Call this tool over MCP.",
      }),
    );
  }

  tell(): void {}

  /** Notes that the call is there now. */
  mark(name: string): void {
    this.#marks.push({ name, at: performance.now() });
  }

  /** A `Server-Timing` value: what lay between one mark and the next, and the whole. */
  timing(): string {
    const end = performance.now();
    const spans = this.#marks.map(({ name, at }, index) =>
      entry(name, (this.#marks[index + 1]?.at ?? end) - at),
    );
    return [...spans, entry("total", end - this.#from)].join(", ");
  }
}

function entry(name: string, ms: number): string {
  return `${name};dur=${ms.toFixed(2)}`;
}

/** Notes when calls of plain HTTP come to each stage, and when their server begins and ends. */
export function timeStages(gateway: Pick<PluginContext, "use">): void {
  for (const stage of STAGES)
    gateway.use(stage, stage === "dispatch" ? timeUpstream : timeStage(stage));
}

function timeStage(stage: Stage): Middleware {
  return (call, next) => {
    if (call.peer instanceof HttpPeer) call.peer.mark(stage);
    return next(call);
  };
}

const timeUpstream: Middleware = async (call, next) => {
  const { peer } = call;
  if (!(peer instanceof HttpPeer)) return next(call);
  peer.mark("upstream");
  try {
    return await next(call);
  } finally {
    peer.mark("reply");
  }
};
