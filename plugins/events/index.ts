import { definePlugin } from "propylon";
import { Checks, EventKinds } from "propylon/kit";
import { Store } from "propylon/store";
import { Channel } from "./channel.ts";
import { optionsSchema } from "./options.ts";
import { warningOf } from "./kinds.ts";
import { LogLines } from "./log-lines.ts";
import { LogTail } from "./log-tail.ts";
import { registerLog, registerRoutes } from "./routes.ts";
import { registerSources } from "./sources.ts";

export type {
  CallProgress,
  EventData,
  EventMessage,
  EventTime,
  FinishedCall,
  Kind,
  ServerSnapshot,
  StreamKind,
  TopicKind,
} from "./kinds.ts";

export type { LogRow, LogView } from "./log-lines.ts";

/** What happens in the gateway, as it happens: server-sent events and WebSocket on one path (decision 0011). */
export default definePlugin({
  name: "events",
  config: optionsSchema,
  inject: { store: Store },
  setup(gateway) {
    const { maxEvents, maxSize } = gateway.config;
    const channel = gateway.keep(
      "channel",
      () => new Channel(gateway.services.store),
      (kept) => kept.dispose(),
    );
    const tail = gateway.keep("log", () => new LogTail());
    const lines = new LogLines(gateway.services.store, tail);
    const bounds = { events: maxEvents, bytes: maxSize };
    registerRoutes(gateway, channel);
    registerLog(gateway, lines);
    registerSources(gateway, channel, tail, bounds);
    gateway.add(Checks, { name: "kinds", ask: () => warningOf(gateway.point(EventKinds)) });
    gateway.hook("gateway:drain", () => channel.close("shutdown"));
    gateway.onStart(() => channel.open(bounds));
    gateway.onStart(() => lines.serve());
  },
});
