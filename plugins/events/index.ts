import { definePlugin, toGatewayError, type Server, type Socket } from "propylon";
import { Channel } from "./channel.ts";
import type { Audience } from "./event.ts";
import type { ServerSnapshot } from "./kinds.ts";
import { formerOptions, optionsSchema } from "./options.ts";
import { registerSources } from "./sources.ts";
import { SseOutlet } from "./sse.ts";
import { Stream } from "./stream.ts";
import { subscriptionFrom, subscriptionOf, type Subscription } from "./subscription.ts";
import { SocketOutlet } from "./websocket.ts";

export type {
  CallProgress,
  EventData,
  EventMessage,
  EventTime,
  Kind,
  ServerSnapshot,
  StreamKind,
  TopicKind,
} from "./kinds.ts";

const PATH = "/_meta/events";
const POLICY = { access: "viewer", mutates: false, management: true } as const;

/** What happens in the gateway, as it happens: server-sent events and WebSocket on one path (decision 0011). */
export default definePlugin({
  name: "events",
  config: optionsSchema,
  formerOptions,
  setup(gateway) {
    const { maxQueue, maxStreams, heartbeatInterval, maxEvents, maxSize } = gateway.config;
    const channel = gateway.keep(
      "channel",
      () => new Channel(),
      (kept) => kept.close("removed"),
    );
    registerSources(gateway, channel, { events: maxEvents, bytes: maxSize });
    gateway.hook("gateway:drain", () => channel.close("shutdown"));

    const greet = (stream: Stream): void =>
      channel.greet(stream, snapshot(gateway.control.servers, stream.subscription.audience));

    const openStream = (subscription: Subscription): Response => {
      const outlet = new SseOutlet(() => channel.leave(stream));
      const stream = new Stream(outlet, subscription, maxQueue);
      channel.join(stream, heartbeatInterval, maxStreams);
      greet(stream);
      return outlet.response();
    };

    const accept = (socket: Socket): void => {
      const subscribe = (text?: string): Subscription =>
        text === undefined
          ? subscriptionOf(socket.url, socket.principal)
          : subscriptionFrom(text, socket.principal);
      const stream = new Stream(new SocketOutlet(socket), subscribe(), maxQueue);
      channel.join(stream, heartbeatInterval, maxStreams);
      socket.onClose(() => channel.leave(stream));
      socket.onMessage((text) =>
        orClose(socket, () => {
          channel.resubscribe(stream, subscribe(text));
          greet(stream);
        }),
      );
      greet(stream);
    };

    gateway.route("GET", PATH, POLICY, ({ url, req, context }) => {
      const last = req.headers.get("last-event-id");
      return openStream(subscriptionOf(url, context.principal, last));
    });
    gateway.route("GET", PATH, { ...POLICY, websocket: true }, (socket) =>
      orClose(socket, () => accept(socket)),
    );
  },
});

/** What is wrong with a message or a URL ends the connection, and says so in the reason. */
function orClose(socket: Socket, work: () => void): void {
  try {
    work();
  } catch (thrown) {
    const { code, message } = toGatewayError(thrown);
    // RFC 6455 section 7.4.1: policy violation, or try again later.
    socket.close(code === "rate_limited" ? 1013 : 1008, cutTo(message, MAX_REASON));
  }
}

/** RFC 6455 section 5.5: 125 bytes of a control frame, two of them for the code. */
const MAX_REASON = 123;

function cutTo(text: string, bytes: number): string {
  return Buffer.from(text)
    .subarray(0, bytes)
    .toString()
    .replace(/\uFFFD$/, "");
}

function snapshot(
  servers: ReadonlyMap<string, Server>,
  audience: Audience,
): readonly ServerSnapshot[] {
  return [...servers.values()].map(({ name, status, catalogue }) => ({
    name,
    state: status.state,
    since: status.since,
    tools: catalogue.tools.length,
    ...(audience === "operator" && { reason: status.reason }),
  }));
}
