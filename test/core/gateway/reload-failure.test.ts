import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { expect, it } from "vitest";
import type { GatewayError } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { makeFolder } from "../../kit/folder.ts";

async function listening() {
  const file = join(makeFolder(), "gateway.yaml");
  await writeFile(file, "listeners: { main: { port: 0 } }\n");
  const lines: string[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void lines.push(line) });
  const { gateway } = await setupGateway({ file, log, client: false });
  const failures: GatewayError[] = [];
  gateway.hook("reload:failed", (error) => void failures.push(error));
  return { file, gateway, failures, lines };
}

it("M014: a wrong file is told once to the caller, the hook and the log, with its place and next step", async () => {
  const { file, gateway, failures, lines } = await listening();
  await writeFile(file, "listeners: { main: { port: 0 } }\nbogus: 1\n");
  const error = await (await gateway.manage()).reload().catch((thrown: GatewayError) => thrown);
  expect(error).toMatchObject({
    code: "reload_failed",
    place: { line: 2, column: 1 },
    hint: expect.any(String) as string,
    data: { reason: "invalid" },
  });
  expect(failures).toEqual([error]);
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { msg: (error as GatewayError).message, place: { line: 2 } },
  ]);
  expect(lines[0]).not.toContain("stack");
  expect(gateway.info.generation).toBe(1);
});

it("a file that is gone is told as that", async () => {
  const { file, gateway, failures } = await listening();
  await rm(file);
  await expect((await gateway.manage()).reload()).rejects.toMatchObject({
    code: "reload_failed",
    message: expect.stringContaining("gateway.yaml is gone") as string,
  });
  expect(failures).toHaveLength(1);
});

it("what apply refused is told once", async () => {
  const { gateway, failures, lines } = await listening();
  const error = await gateway
    .apply({ ...gateway.written, plugins: { nowhere: {} } })
    .catch((thrown: GatewayError) => thrown);
  expect(failures).toEqual([error]);
  expect(lines).toHaveLength(1);
});
