import { Filters, Checks } from "propylon/kit";
import { expect, it } from "vitest";
import { definePlugin, type PluginContext } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";

type Registering = (gateway: PluginContext) => unknown;

const LATE: Readonly<Record<string, Registering>> = {
  route: (gateway) =>
    gateway.route("GET", "/late", { access: "public", mutates: false }, () => new Response()),
  socket: (gateway) =>
    gateway.route("GET", "/late", { access: "public", mutates: false, websocket: true }, () => {}),
  hook: (gateway) => gateway.hook("gateway:ready", () => {}),
  middleware: (gateway) => gateway.use("gate", (call, next) => next(call)),
  filter: (gateway) => gateway.add(Filters, { shows: () => true }),
  check: (gateway) => gateway.add(Checks, { name: "late", ask: () => undefined }),
  onStart: (gateway) => gateway.onStart(() => {}),
};

it.each(Object.entries(LATE))(
  "a %s that is registered in onStart is refused, since it would never be used",
  async (_, register) => {
    const plugin = definePlugin({
      name: "late",
      setup: (gateway) => gateway.onStart(() => void register(gateway)),
    });
    await expect(setupGateway({ plugins: [plugin], client: false })).rejects.toMatchObject({
      code: "invalid",
      message: 'Plugin "late" could not be started: It registers something after its setup.',
      hint: "Register in setup, and await there what has to come first.",
    });
  },
);
