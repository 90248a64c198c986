import type { ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { GatewayError, isGatewayError, toGatewayError } from "propylon";
import { pause, SSE_HEADERS, sseFrame } from "propylon/kit";
import type { RpcId } from "propylon/internal";
import { toldId } from "../message/event-id.ts";
import type { ResumableReply } from "../message/journal.ts";
import { LOST_WITH_REPLICA, NOT_RESUMABLE, OVER, sendOver } from "../message/lost-streams.ts";
import { type Fault, toFault } from "../message/protocol.ts";
import { sendFault } from "../message/reply.ts";
import { faultPieces } from "../message/stream.ts";

/** How much longer a replica that died may be listed, and how often that is looked at, in milliseconds. */
const LISTED_MS = 3_000;
const LOOK_MS = 250;

/** Stands in for the response of a client that reads at another replica: what is written to it is read as text. */
export class RemoteStream extends PassThrough {
  constructor(signal: AbortSignal) {
    super({ signal });
    this.setEncoding("utf8");
    // Its reader learns of it; a client that went away is not a failure.
    this.on("error", () => {});
  }

  writeHead(): this {
    return this;
  }

  flushHeaders(): void {}

  /** What is sent of a reply behind the event with a number: first an empty text, for that it is there. */
  async *follow(reply: ResumableReply, seq: number): AsyncIterable<string> {
    reply.resume(this as unknown as ServerResponse, seq);
    yield "";
    for await (const text of this) yield text as string;
  }
}

/** A stream that another replica keeps. */
export interface RemoteSource {
  /** Of the request that it answers; `undefined` where that is not known. */
  readonly id: RpcId | undefined;
  /** Of the last event that the client has. */
  readonly eventId: string;
  /** @throws {GatewayError} `not_found` where it is not kept any more */
  texts(): AsyncIterable<string>;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
  /** Whether the other replica is. @throws {GatewayError} `unavailable` */
  isThere(): Promise<boolean>;
}

/** Sends a client what another replica keeps for it. A client whose stream breaks comes again; one whose call is lost is told. */
export async function sendRemote(res: ServerResponse, source: RemoteSource): Promise<void> {
  try {
    if (!(await source.isThere())) throw new GatewayError("unavailable", "It is gone.");
    for await (const text of source.texts()) await write(res, text);
    res.end();
  } catch (error) {
    const fault = await faultOf(error, source);
    if (source.signal.aborted) return;
    if (fault === LOST_WITH_REPLICA) endLost(res, source);
    else if (fault === OVER) sendOver(res);
    else if (!res.headersSent) sendFault(res, fault, null);
    else res.destroy();
  }
}

async function write(res: ServerResponse, text: string): Promise<void> {
  if (!res.headersSent) res.writeHead(200, SSE_HEADERS).flushHeaders();
  if (text === "" || res.write(text)) return;
  await new Promise<void>((resolve) => {
    const once = (): void => {
      res.off("drain", once).off("close", once);
      resolve();
    };
    res.on("drain", once).on("close", once);
  });
}

async function faultOf(error: unknown, source: RemoteSource): Promise<Fault> {
  if (isGatewayError(error) && error.code === "not_found") return NOT_RESUMABLE;
  if (isGatewayError(error) && error.code === "method_not_allowed") return OVER;
  try {
    return (await isGone(source)) ? LOST_WITH_REPLICA : toFault(toGatewayError(error));
  } catch (away) {
    return toFault(toGatewayError(away));
  }
}

/** One that died is listed for a moment longer than it is silent. */
async function isGone(source: RemoteSource): Promise<boolean> {
  const { signal } = source;
  for (let waited = 0; waited < LISTED_MS && !signal.aborted; waited += LOOK_MS) {
    if (!(await source.isThere())) return true;
    await pause(LOOK_MS, signal);
  }
  return false;
}

function endLost(res: ServerResponse, { id, eventId }: RemoteSource): void {
  if (id === undefined)
    return res.headersSent ? void res.end() : sendFault(res, NOT_RESUMABLE, null);
  if (!res.headersSent) res.writeHead(200, SSE_HEADERS);
  res.end(sseFrame(faultPieces(LOST_WITH_REPLICA, id).join(""), "message", toldId(eventId)));
}
