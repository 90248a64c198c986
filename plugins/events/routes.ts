import { toGatewayError, type PluginContext, type Server, type Socket } from "propylon";
import { checkInput, EventKinds } from "propylon/kit";
import { withoutTrouble } from "propylon/internal";
import type { Channel } from "./channel.ts";
import type { Audience } from "./event.ts";
import type { ServerSnapshot } from "./kinds.ts";
import { logQuerySchema, type LogLines } from "./log-lines.ts";
import type { EventsOptions } from "./options.ts";
import { SseOutlet } from "./sse.ts";
import { Stream } from "./stream.ts";
import {
  subscriptionFrom,
  subscriptionOf,
  type Subscription,
  type Topics,
} from "./subscription.ts";
import { SocketOutlet } from "./websocket.ts";

const PATH = "/_meta/events";
const POLICY = { access: "viewer", mutates: false, management: true } as const;

/** `GET /_meta/events`, as server-sent events and as a WebSocket. */
export function registerRoutes(
  gateway: Pick<PluginContext<EventsOptions>, "config" | "info" | "point" | "route">,
  channel: Channel,
): void {
  const { maxQueue, maxStreams, heartbeatInterval } = gateway.config;
  const topics = (): Topics => ({
    refusal: (principal, policy) => gateway.info.refusal(principal, policy),
    eventKinds: gateway.point(EventKinds),
  });
  const join = (stream: Stream): void => channel.join(stream, heartbeatInterval, maxStreams);
  const greet = (stream: Stream): void =>
    channel.greet(stream, snapshot(gateway.info.servers, stream.subscription.audience));

  const openStream = (subscription: Subscription): Response => {
    const outlet = new SseOutlet(() => channel.leave(stream));
    const stream = new Stream(outlet, subscription, maxQueue);
    join(stream);
    greet(stream);
    return outlet.response();
  };

  const accept = (socket: Socket): void => {
    const stream = new Stream(new SocketOutlet(socket), subscribe(socket, topics()), maxQueue);
    join(stream);
    socket.onClose(() => channel.leave(stream));
    socket.onMessage((text) =>
      orClose(socket, () => {
        channel.resubscribe(stream, subscribe(socket, topics(), text));
        greet(stream);
      }),
    );
    greet(stream);
  };

  gateway.route("GET", PATH, POLICY, ({ url, req, context }) => {
    const last = req.headers.get("last-event-id");
    return openStream(subscriptionOf(url, context.principal, topics(), last));
  });
  gateway.route("GET", PATH, { ...POLICY, websocket: true }, (socket) =>
    orClose(socket, () => accept(socket)),
  );
}

/** `GET /_meta/logs`: the last lines of the log, for who comes after something happened. */
export function registerLog({ route }: Pick<PluginContext, "route">, log: LogLines): void {
  const policy = { access: "operator", mutates: false, management: true } as const;
  route("GET", "/_meta/logs", policy, ({ url }) =>
    log.read(checkInput(Object.fromEntries(url.searchParams), logQuerySchema)),
  );
}

/** What a client of a WebSocket wants to hear: as its URL says, or a message since. */
function subscribe({ url, principal }: Socket, topics: Topics, text?: string): Subscription {
  return text === undefined
    ? subscriptionOf(url, principal, topics)
    : subscriptionFrom(text, principal, topics);
}

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
  const isOperator = audience === "operator";
  return [...servers.values()].map(({ name, status, catalogue }) => {
    const { state, since, downSince, reason } = isOperator ? status : withoutTrouble(status);
    return {
      name,
      state,
      since,
      ...(downSince !== undefined && { downSince }),
      tools: catalogue.tools.length,
      ...(reason !== undefined && { reason }),
    };
  });
}
