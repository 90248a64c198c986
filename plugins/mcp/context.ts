import { randomBytes } from "node:crypto";
import type { EndpointHost } from "propylon/kit";
import { EarlyCalls } from "./early.ts";
import { Journals } from "./journal.ts";
import { KeepAlive } from "./keep-alive.ts";
import type { StreamSettings } from "./stream.ts";
import { FirstConnect } from "./first-connect.ts";
import { Views } from "./views.ts";

/** What all parts of one endpoint share. */
export class EndpointContext {
  readonly name: string;
  readonly host: EndpointHost;
  readonly streams: StreamSettings;
  /** What is shown at the moment, and to whom; every request reads it once. */
  views = Views.EMPTY;
  /** Whether the endpoint is gone; a request may still be on its way to it. */
  closed = false;
  readonly firstConnect = new FirstConnect();
  readonly early = new EarlyCalls(this);
  readonly #prefix = randomBytes(6).toString("base64url");
  #count = 0;

  constructor(name: string, host: EndpointHost) {
    this.name = name;
    this.host = host;
    this.streams = {
      pulse: new KeepAlive(),
      journals: new Journals(),
      queue: host.limits.streamQueue,
      onOverflow: (bytes) =>
        host.log.warn(
          { endpoint: name, bytes },
          "event stream closed: the client reads too slowly",
        ),
    };
  }

  /** What a request for a list waits for; `undefined` = nothing. */
  get settling(): Promise<void> | undefined {
    return this.firstConnect.promise;
  }

  /** An id for a call, unique within the process. */
  nextCallId(): string {
    return `${this.#prefix}${(this.#count++).toString(36)}`;
  }
}
