import { z } from "zod";
import { durationSchema as duration, sizeSchema as size } from "../kit/units.ts";

/** Bounds on what a client can cost. */
export const limitsSchema = z.strictObject({
  body: size()
    .default(4 * 1024 * 1024)
    .describe("Largest request body."),
  depth: z
    .int()
    .min(4)
    .max(512)
    .default(64)
    .describe("Deepest JSON nesting, of what clients and servers send."),
  header: size()
    .default(16 * 1024)
    .describe("Largest request head."),
  headersTimeout: duration().default(5_000).describe("To receive the request head."),
  requestTimeout: duration().default(10_000).describe("To receive the whole request."),
  connections: z.int().min(1).default(10_000).describe("Open sockets per listener."),
  sessions: z
    .int()
    .min(1)
    .default(10_000)
    .describe("Legacy MCP sessions per endpoint; the longest idle makes way."),
  sessionIdle: duration().default(3_600_000).describe("After this long unused a session ends."),
  streamQueue: size()
    .default(1024 * 1024)
    .describe(
      "Unsent bytes of one event stream. Beyond it a standalone stream is closed; a call's stream holds up the server that feeds it, or loses log messages and progress where that cannot be.",
    ),
  unread: size()
    .default(64 * 1024 * 1024)
    .describe(
      "Bytes of answers that one principal may leave unread, on all its connections. Beyond it the longest waiting are cut off; a single answer may be larger.",
    ),
  unreadTotal: size()
    .default(256 * 1024 * 1024)
    .describe(
      "Bytes of answers that all clients together may leave unread. Beyond it those of the client with the most are cut off.",
    ),
  unreadTimeout: duration()
    .default(30_000)
    .describe("An answer is cut off when its client reads nothing for this long."),
});

/** How long the parts of a gateway may take. */
export const timeoutsSchema = z.strictObject({
  default: duration().default(60_000).describe("Longest run of a call by default."),
  setup: duration()
    .default(10_000)
    .describe(
      "For a plugin's setup, and for its start. When the gateway starts, a plugin has six times as long to start, since it may read what was kept.",
    ),
  drain: duration()
    .default(30_000)
    .describe("On reload: how long calls of the old configuration may still run."),
  notice: duration()
    .default(0)
    .describe(
      "At SIGTERM: how long new work is still taken while /readyz says 503, so that balancers find out before anything is refused.",
    ),
  grace: duration()
    .default(30_000)
    .describe("On shutdown: how long calls in flight may still run."),
  store: duration()
    .default(30_000)
    .describe("How long the store may be away before the gateway says that it is not ready."),
});
