import { randomBytes } from "node:crypto";
import type { EndpointHost } from "./host.ts";
import { Pulse } from "./pulse.ts";
import type { StreamSettings } from "./stream.ts";
import { View } from "./view.ts";

/** What all parts of one endpoint share. */
export class EndpointContext {
  readonly name: string;
  readonly host: EndpointHost;
  readonly streams: StreamSettings;
  /** What is shown at the moment; every request reads it once. */
  view = View.EMPTY;
  /** Resolves when servers that connect for the first time have answered, or took too long; `undefined` = nothing to wait for. */
  settling: Promise<void> | undefined = undefined;
  readonly #prefix = randomBytes(6).toString("base64url");
  #count = 0;

  constructor(name: string, host: EndpointHost) {
    this.name = name;
    this.host = host;
    this.streams = {
      pulse: new Pulse(),
      queue: host.limits.streamQueue,
      onOverflow: (bytes) =>
        host.log.warn(
          { endpoint: name, bytes },
          "event stream closed: the client reads too slowly",
        ),
    };
  }

  /** An id for a call, unique within the process. */
  nextCallId(): string {
    return `${this.#prefix}${(this.#count++).toString(36)}`;
  }
}
