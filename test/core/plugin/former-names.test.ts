import pino from "pino";
import { expect, it } from "vitest";
import { createGateway, definePlugin, type Stage } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";

const start = (setup: (gateway: Record<string, never>) => unknown) =>
  setupGateway({
    plugins: [definePlugin({ name: "old", setup: (gateway) => void setup(gateway as never) })],
    client: false,
  });

it.each([
  ["name", "definePlugin"],
  ["servers", "gateway.control.servers"],
  ["shows", "gateway.control.shows"],
  ["exists", "gateway.control.exists"],
  ["timeouts", "gateway.control.timeouts"],
  ["evict", "gateway.control.evict"],
  ["cwd", "gateway.files.folder"],
  ["text", "gateway.files.read"],
  ["code", "gateway.files.import"],
  ["signal", "gateway.onDispose"],
  ["resourceTemplate", "gateway.resource("],
  ["changed", "changed() of what gateway.tool"],
  ["updated", "updated() of what gateway.resource"],
  ["listener", "gateway.extend({ listeners })"],
  ["endpoint", "gateway.extend({ endpoints })"],
  ["socket", "websocket: true"],
  ["deadline", 'gateway.use("deadline"'],
  ["warn", "gateway.check"],
  ["readiness", "gateway.check"],
])("a plugin that uses gateway.%s reads what does its work now", async (member, now) => {
  const message = start((gateway) => gateway[member]).then(
    () => "",
    (error: Error) => error.message,
  );
  expect(await message).toContain(
    `Plugin "old" could not be set up: gateway.${member} was removed: use `,
  );
  expect(await message).toContain(now);
});

it.each(["resource", "prompt"] as const)(
  "gateway.%s with all in one object says that the name comes first",
  async (member) => {
    const register = (gateway: Record<string, (definition: object) => void>): void =>
      gateway[member]!({ name: "n", uri: "x://y" });
    await expect(start(register as never)).rejects.toThrow(
      `gateway.${member} takes a name and then a definition.`,
    );
  },
);

it("a stage under its name of 0.1 is joined, and the log names the new one", async () => {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const seen: string[] = [];
  const old = definePlugin({
    name: "old",
    setup(gateway) {
      gateway.tool("say", { description: "", run: () => "hi" });
      for (const stage of ["authorize", "progress"])
        gateway.use(stage as Stage, (call, next) => {
          seen.push(stage);
          return next(call);
        });
    },
  });
  const gateway = await createGateway(
    { listeners: { main: { port: 0 } }, plugins: { old: {} } },
    { plugins: { old }, log },
  );
  await gateway.call({ server: "old", name: "say" });
  await gateway.close();
  expect(seen).toEqual(["authorize", "progress"]);
  const told = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  expect(told).toContain('stage "authorize" is "gate" now; the old name goes with 0.3');
  expect(told).toContain('stage "progress" is "dispatch" now; the old name goes with 0.3');
});
