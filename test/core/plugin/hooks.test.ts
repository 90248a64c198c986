import pino from "pino";
import { expect, it } from "vitest";
import { createGateway, definePlugin, type GatewayHooks } from "../../../core/index.ts";

it("a hook under its name of 0.1 is heard, by plugins and programs, and the log names the new one", async () => {
  const old = "upstream:catalogue" as keyof GatewayHooks as "server:catalogue";
  const heard: string[] = [];
  const lines: { level: number; msg: string }[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as never) });
  let change!: () => void;
  const changing = definePlugin({
    name: "changing",
    setup(gateway) {
      const say = gateway.tool("say", { description: "", run: () => "hi" });
      gateway.hook(old, (name) => void heard.push(`plugin ${name}`));
      change = () => say.changed();
    },
  });
  const gateway = await createGateway(
    { listeners: { main: { port: 0 } }, plugins: { changing: {} } },
    { plugins: { changing }, log },
  );
  gateway.hook(old, (name) => void heard.push(`program ${name}`));
  // What every object has is no old name.
  gateway.hook("constructor" as keyof GatewayHooks, () => {});
  change();
  await gateway.close();
  expect(heard).toEqual(["plugin changing", "program changing"]);
  const warnings = lines.filter(({ level }) => level === 40).map(({ msg }) => msg);
  const told = 'hook "upstream:catalogue" is "server:catalogue" now; the old name goes with 0.3';
  expect(warnings).toEqual([told, told]);
});
