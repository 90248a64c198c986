import { expect, it } from "vitest";
import type { GatewayConfigInput } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import sqlite from "../../../plugins/sqlite/index.ts";
import teamAuth from "../../../plugins/team-auth/index.ts";
import { fileStore } from "./gateway-kit.ts";

const WORDS = "team-auth: the signer of tokens for auth.jwt can be any user.";

async function warningsOf(auth: NonNullable<GatewayConfigInput["auth"]>): Promise<string[]> {
  const { gateway } = await setupGateway({
    plugins: [sqlite, [teamAuth, { secretKeys: ["k".repeat(32)] }]],
    config: { store: fileStore(), auth },
    client: false,
  });
  return gateway.describe().warnings.map(({ message }) => message);
}

it("tells that others name users too, where tokens of auth.jwt count beside", async () => {
  expect(await warningsOf({ apiKey: "the-key-of-this-gateway" })).not.toContain(WORDS);
  const jwt = { secret: "a secret of at least 32 characters" };
  expect(await warningsOf({ jwt })).toContain(WORDS);
});
