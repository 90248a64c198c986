import { expect, it } from "vitest";
import type { JetStreamManager } from "@nats-io/jetstream";
import { optionsSchema } from "../../../plugins/sidecar/options.ts";
import { settle } from "../../../plugins/sidecar/settings.ts";
import { provision } from "../../../plugins/sidecar/jetstream/streams.ts";
import { startBus } from "./kit.ts";

/**
 * A manager whose every addition comes second: another sidecar's was done between the look and this one, and the server refuses it
 * as nats-server 2.9 does, about once in 1,500 races, with the same settings and all.
 */
function second(manager: JetStreamManager): JetStreamManager {
  const streams = Object.assign(Object.create(manager.streams) as typeof manager.streams, {
    add: async (config: { name: string; subjects: string[] }) => {
      await manager.streams.add(config);
      return manager.streams.add({ ...config, name: `${config.name}_2` });
    },
  });
  return Object.assign(Object.create(manager) as JetStreamManager, { streams });
}

it("takes a stream that another sidecar made between its look and its own addition", async () => {
  const { manager, server } = await startBus();
  const options = optionsSchema.parse({ name: "coder", nats: { url: server.url } });
  await expect(provision(second(manager), settle(options, {}, "."))).resolves.toBe(true);
});

it("says what the server said when it refuses a stream that nobody made", async () => {
  const { manager, server } = await startBus();
  await manager.streams.add({ name: "OTHER", subjects: ["agent.tasks.>"] });
  const options = optionsSchema.parse({ name: "coder", nats: { url: server.url } });
  await expect(provision(manager, settle(options, {}, "."))).rejects.toThrow("overlap");
});
