import { Counter } from "prom-client";
import { definePlugin } from "propylon";
import { Metrics } from "propylon/kit";
import { z } from "zod";

/** A plugin in one file: an option, a tool that is an HTTP operation as well, and a metric. */
export default definePlugin({
  name: "hello",
  config: z.strictObject({
    words: z.int().min(1).default(10_000).describe("Most words of one text."),
  }),
  inject: { metrics: Metrics },
  setup(gateway) {
    const { words: most } = gateway.config;
    const texts = new Counter({
      name: "hello_texts_total",
      help: "Texts whose words were counted.",
      registers: [gateway.services.metrics],
    });

    gateway.tool("count_words", {
      description: "Counts the words of a text.",
      input: z.object({ text: z.string().describe("The text.") }),
      output: z.object({ words: z.int(), truncated: z.boolean() }),
      annotations: { readOnlyHint: true },
      run({ text }) {
        texts.inc();
        const words = text.split(/\s+/).filter((word) => word !== "").length;
        return { words: Math.min(words, most), truncated: words > most };
      },
    });
  },
});
