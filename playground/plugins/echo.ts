import { definePlugin } from "propylon";
import { z } from "zod";

/** A plugin in one file: a tool, a route and a middleware. Edit it while the gateway runs; it is reloaded. */
export default definePlugin({
  name: "echo",
  config: z.strictObject({
    greeting: z.string().default("hello").describe("Said before every echo."),
  }),
  setup(gateway) {
    const { greeting } = gateway.config;
    let calls = 0;

    gateway.tool("greet", {
      description: "Greets a person by name.",
      input: z.object({ name: z.string().describe("Who to greet.") }),
      run: ({ name }) => `${greeting}, ${name}`,
    });

    gateway.route("GET", "/echo", { access: "public", mutates: false }, () => ({
      greeting,
      calls,
    }));

    gateway.use("observe", (call, next) => {
      calls++;
      return next(call);
    });
  },
});
