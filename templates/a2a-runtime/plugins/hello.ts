import { createHash } from "node:crypto";
import { Counter } from "prom-client";
import { definePlugin } from "propylon";
import { Metrics } from "propylon/kit";
import { z } from "zod";

/** A tool that works without a model: a skill of the runtime, a tool of its agent and of MCP clients, all in one. */
export default definePlugin({
  name: "hello",
  config: z.strictObject({
    algorithm: z.enum(["sha256", "sha512"]).default("sha256").describe("Which checksum."),
  }),
  inject: { metrics: Metrics },
  setup(gateway) {
    const { algorithm } = gateway.config;
    const checksums = new Counter({
      name: "hello_checksums_total",
      help: "Checksums made.",
      registers: [gateway.services.metrics],
    });

    gateway.tool("checksum", {
      description: "Says the checksum of a text.",
      input: z.object({ text: z.string().describe("The text.") }),
      annotations: { readOnlyHint: true },
      run({ text }) {
        checksums.inc();
        return createHash(algorithm).update(text).digest("hex");
      },
    });
  },
});
