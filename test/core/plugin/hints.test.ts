import { createServer } from "node:http";
import { once } from "node:events";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { createGateway, definePlugin, GatewayError } from "../../../core/index.ts";
import { toEnvelope, toRpcError } from "../../../core/internal.ts";
import { toProblem } from "../../../core/kit/errors.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { whenState } from "../../contract/kit.ts";

const HINT = "Is it installed and on the PATH of the gateway?";

it("a next step is in every form an error takes", () => {
  const error = new GatewayError("not_found", "Nothing.", { hint: HINT });
  expect(toEnvelope(error).error).toEqual({ code: "not_found", message: "Nothing.", hint: HINT });
  expect(toProblem(error)).toMatchObject({ detail: "Nothing.", hint: HINT });
  expect(toRpcError(error).data).toEqual({ code: "not_found", hint: HINT });
  expect(toRpcError(new GatewayError("not_found", "Nothing.")).data).toEqual({ code: "not_found" });
});

it("what to do about a server that cannot start is in its status, for operators; a call learns the state", async () => {
  const { gateway, client } = await setupGateway({
    config: { servers: { gone: { command: "no-such-program-anywhere" } } },
  });
  const server = gateway.servers.get("gone")!;
  await whenState(server, "backoff");
  expect(server.status.reason).toContain(`"no-such-program-anywhere" was not found. ${HINT}`);
  await expect(gateway.call({ server: "gone", name: "x" })).rejects.toThrow(
    'Server "gone" is not available (backoff).',
  );
  await client.close();
});

it("a client sees the next step of what a gate refused", async () => {
  const plugin = definePlugin({
    name: "p",
    setup(gateway) {
      gateway.tool("t", { description: "", run: () => "" });
      gateway.use("gate", () =>
        Promise.reject(new GatewayError("disabled", "Off.", { hint: "Switch it on." })),
      );
    },
  });
  const { client } = await setupGateway({ plugins: [plugin] });
  await expect(client.callTool({ name: "t" })).rejects.toMatchObject({
    data: { code: "disabled", hint: "Switch it on." },
  });
});

it("a port in use is one sentence to whoever listens, and no stack in the log", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const { port } = other.address() as { port: number };
  const lines: string[] = [];
  const log = pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });
  const gateway = await createGateway({ listeners: { main: { port } } }, { log });
  onTestFinished(() => gateway.close());
  await expect(gateway.listen()).rejects.toMatchObject({
    code: "io_error",
    message: expect.stringContaining(String(port)),
  });
  expect(lines.join("")).not.toMatch(/stack|EADDRINUSE/);
});
