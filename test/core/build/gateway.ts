/** A gateway with something of everything that a build has to carry. */
export const GATEWAY: Readonly<Record<string, string>> = {
  "gateway.yaml": `
name: com.example/built
listeners: { main: { port: "\${PORT}" } }
auth: { apiKey: "\${GATEWAY_KEY}" }
management: { mutations: true }
servers:
  child: { command: node, args: ["\${SERVER}"] }
plugins:
  openapi: {}
  metrics: {}
  events: {}
  a2a: { listener: main, skills: [{ id: shout, name: Shout, description: Shouts., function: ./skills/shout.ts }] }
  ./plugins/echo.ts: { greeting: "\${GREETING:-hello}" }
  gateway-plugin-clock: {}
`,
  ".env": "GREETING=zanzibar-of-the-env-file\n",
  "plugins/echo.ts": `
import { Counter } from "prom-client";
import { definePlugin } from "propylon";
import { Files, Metrics } from "propylon/kit";
import { z } from "zod";
import { Side, exclaim } from "../lib/words.ts";

export default definePlugin({
  name: "echo",
  config: z.strictObject({ greeting: z.string() }),
  inject: { files: Files, metrics: Metrics },
  async setup(gateway) {
    const { files, metrics } = gateway.services;
    const ending = (await files.read("./words/ending.txt")).trim();
    const calls = new Counter({ name: "echo_calls_total", help: "Calls.", registers: [metrics] });
    gateway.tool("echo", {
      description: "Says it back.",
      input: z.object({ text: z.string() }),
      run({ text }) {
        calls.inc();
        return \`\${gateway.config.greeting} \${exclaim(text)} \${Side.right} \${ending}\`;
      },
    });
  },
});
`,
  // What Node itself cannot run: an enum.
  "lib/words.ts": `
export enum Side { left, right }
export const exclaim = (text: string): string => \`\${text}!\`;
`,
  "words/ending.txt": "the end\n",
  "skills/shout.ts": `
import { defineSkill } from "propylon/plugins/a2a";
export default defineSkill({ run: ({ text }) => text.toUpperCase() });
`,
  "node_modules/gateway-plugin-clock/package.json": `{
  "name": "gateway-plugin-clock", "version": "1.0.0", "type": "module", "exports": "./index.js",
  "peerDependencies": { "propylon": "*" }
}`,
  "node_modules/gateway-plugin-clock/index.js": `
import { definePlugin } from "propylon";
export default definePlugin({
  name: "clock",
  setup(gateway) {
    gateway.route("GET", "/clock", { access: "public", mutates: false }, () => ({ zone: "UTC" }));
  },
});
`,
};
