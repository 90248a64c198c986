import { pino } from "pino";
import { expect, it } from "vitest";
import { GatewayError } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";

async function listening() {
  const lines: string[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void lines.push(line) });
  const { gateway } = await setupGateway({ log, client: false });
  const failures: GatewayError[] = [];
  gateway.hook("reload:failed", (error) => void failures.push(error));
  return { gateway, failures, lines };
}

it("a config that never got as far as apply is told to the hook and the log, with its place and next step", async () => {
  const { gateway, failures, lines } = await listening();
  const error = new GatewayError("reload_failed", "gateway.yaml:2:1 Unknown key.", {
    hint: "Remove it.",
    place: { file: "gateway.yaml", line: 2, column: 1 },
  });
  gateway.reportReloadFailure(error);
  expect(failures).toEqual([error]);
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { msg: error.message, hint: "Remove it.", place: { line: 2 } },
  ]);
  expect(lines[0]).not.toContain("stack");
});

it("what apply refused is told once, however often it is reported and wrapped", async () => {
  const { gateway, failures, lines } = await listening();
  const error = await gateway
    .apply({ ...gateway.config, plugins: { nowhere: {} } })
    .catch((thrown: GatewayError) => thrown);
  gateway.reportReloadFailure(error as GatewayError);
  gateway.reportReloadFailure(new GatewayError("reload_failed", "Wrapped.", { cause: error }));
  expect(failures).toEqual([error]);
  expect(lines).toHaveLength(1);
});
