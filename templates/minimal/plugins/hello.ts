import { Counter } from "prom-client";
import { definePlugin } from "propylon";
import { Metrics } from "propylon/kit";
import { z } from "zod";

/** A plugin in one file: options, a tool, a route and a metric. */
export default definePlugin({
  name: "hello",
  config: z.strictObject({
    greeting: z.string().default("Hello").describe("Said before every name."),
  }),
  inject: { metrics: Metrics },
  setup(gateway) {
    const { greeting } = gateway.config;
    const greetings = new Counter({
      name: "hello_greetings_total",
      help: "Greetings said.",
      registers: [gateway.services.metrics],
    });

    gateway.tool("greet", {
      description: "Greets a person by name.",
      input: z.object({ name: z.string().describe("Who to greet.") }),
      run({ name }) {
        greetings.inc();
        return `${greeting}, ${name}!`;
      },
    });

    gateway.route("GET", "/hello", { access: "public", mutates: false }, () => ({ greeting }));
  },
});
