import { createServer } from "node:http";
import { Counter } from "prom-client";
import { z } from "zod";
import { definePlugin, defineService } from "../../../core/index.ts";
import { Metrics } from "../../../core/kit.ts";
import { testPlugin } from "../../../core/testing/index.ts";

const Words = defineService<{ greeting: string }>("words");
const words = definePlugin({ name: "words", provides: Words, setup: () => ({ greeting: "Hi" }) });

/** Uses every door of the plugin contract. */
const everything = definePlugin({
  name: "everything-once",
  config: z.strictObject({ interval: z.number().default(1_000) }),
  inject: { metrics: Metrics, words: Words },
  setup(gateway) {
    const seen = gateway.keep("seen", () => new Set<string>());
    const calls = new Counter({
      name: "everything_once_calls",
      help: "Calls.",
      registers: [gateway.services.metrics],
    });
    gateway.tool("greet", {
      description: "Greets.",
      input: z.object({ name: z.string() }),
      run: ({ name }) => `${gateway.services.words.greeting}, ${name}!`,
    });
    gateway.resource("seen", { uri: "seen://all", read: () => ({ text: [...seen].join() }) });
    gateway.prompt("greeting", {
      get: () => [{ role: "user", content: { type: "text", text: "Greet." } }],
    });
    gateway.route("GET", "/seen", { access: "principal", mutates: false }, () => [...seen]);
    gateway.use("observe", (call, next) => {
      calls.inc();
      return next(call);
    });
    gateway.hook("server:state", (name) => void seen.add(name));
    gateway.onStart(async () => {
      const timer = setInterval(() => {}, gateway.config.interval);
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      return () => {
        clearInterval(timer);
        return new Promise<void>((resolve) => server.close(() => resolve()));
      };
    });
  },
});

testPlugin(everything, { with: [words], changed: { interval: 2_000 } });
testPlugin(words);
