import type { Json } from "propylon";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Era } from "../../core/kit/types.ts";
import { connect } from "./relay/connect.ts";
import { FEATURES } from "./relay/features.ts";
import { callRaw } from "./relay/raw.ts";
import { ERAS, HOPS, startScene, type Scene } from "./relay/scene.ts";

/**
 * The relay matrix: every feature over every way to a server for every kind of client, with real clients and real server
 * processes. No cell is empty: what the modern era has no message for it has another way for (`input_required` for questions,
 * `subscriptions/listen` for notifications, `_meta` for the log level), and the gateway translates.
 */
describe.each(HOPS.map((hop) => [hop.era, hop.httpClient ?? hop.transport, hop] as const))(
  "a %s server over %s",
  (_era, _transport, hop) => {
    let scene: Scene;
    beforeAll(async () => void (scene = await startScene(hop)));
    afterAll(() => scene.close());

    describe.each(ERAS)("and a %s client", (era) => {
      it.each(Object.entries(FEATURES))("relays %s", async (_name, check) => {
        expect.hasAssertions();
        const client = await connect(era, scene.url, "ada");
        onTestFinished(() => client.close());
        await check(client);
      });

      it.each([
        ["a string", "token-é"],
        ["a number", 7],
        ["a string of digits", "7"],
      ])("P102: gives back a progress token that is %s", async (_type, token) => {
        expect(await tokens(era, scene.url, token)).toEqual([token, token]);
      });

      it("P101, P117: reports no progress to a client that gave no token", async () => {
        expect(await tokens(era, scene.url, undefined)).toEqual([]);
      });
    });
  },
);

/** The progress tokens that come with a call of two steps. */
async function tokens(era: Era, url: string, token: unknown): Promise<readonly unknown[]> {
  const messages = await callRaw(era, url, "relay_work", { nonce: "raw", steps: 2 }, token);
  expect(messages.at(-1)).toMatchObject({ id: 1, result: { content: [{ text: "raw" }] } });
  return messages
    .filter(({ method }) => method === "notifications/progress")
    .map(({ params }) => (params as Json)["progressToken"]);
}
