import { afterAll, describe, expect, it } from "vitest";
import { testStore } from "../../../core/testing/index.ts";
import { startNats } from "../../fixtures/nats/nats.mjs";
import type { NatsServer } from "../../fixtures/nats/types.ts";
import { hasProgram, requireProgram } from "../../fixtures/programs.ts";
import { openDriver } from "./kit.ts";

/** Program of a current nats-server, which neither apt nor npm has: the suite runs on it, too. */
const CURRENT = process.env["NATS_SERVER_CURRENT"] ?? "";
/** Of the test against a model. */
const STEPS = Number(process.env["STORE_STEPS"] ?? 800);

/** The suite over a nats-server of its own. */
function testOver(name: string, program?: string): void {
  let server: NatsServer | undefined;
  afterAll(() => server?.stop());
  testStore(name, {
    steps: STEPS,
    open: async () => {
      server ??= await startNats(0, "", program);
      return openDriver(server.url);
    },
  });
}

it("finds a nats-server", () => {
  requireProgram("nats-server");
  expect(hasProgram("nats-server")).toBe(true);
});

describe.skipIf(!hasProgram("nats-server"))("nats-server", () => {
  testOver("nats");
});
describe.skipIf(CURRENT === "")("the nats-server of NATS_SERVER_CURRENT", () => {
  testOver("nats", CURRENT);
});
