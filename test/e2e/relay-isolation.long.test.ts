import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { connect } from "./relay/connect.ts";
import { textOf } from "./relay/features.ts";
import type { RelayClient } from "./relay/person.ts";
import { ERAS, HOPS, startScene, type Hop, type Scene } from "./relay/scene.ts";

/** Ada and Bob, who share one session at the server: what is for one must never reach the other (T5). */
type Pair = readonly [RelayClient, RelayClient];

const PAIRS = ERAS.flatMap((one) => ERAS.map((two) => [one, two] as const));
const WATCHED = ["test://watched-resource", "test://static-text"] as const;

const everywhere = (): boolean => true;
/** Over stdio a log message does not say whose call it belongs to. */
const tellsLogs = ({ transport }: Hop): boolean => transport === "http";
/** Over stdio a question of the legacy era does not say whose call it belongs to (decision 0003). */
const tellsQuestions = ({ transport, era }: Hop): boolean =>
  transport === "http" || era === "modern";

/** What must hold for two clients at once, and over which hops. */
const RULES: readonly {
  readonly title: string;
  readonly where: (hop: Hop) => boolean;
  readonly check: (pair: Pair) => Promise<void>;
}[] = [
  {
    title: "progress is kept apart",
    where: everywhere,
    async check(pair) {
      const nonces = await workAtOnce(pair);
      expect(pair.map(({ heard }) => heard.about("progress"))).toEqual(nonces.map(fiveTimes));
    },
  },
  {
    title: "logs are kept apart",
    where: tellsLogs,
    async check(pair) {
      const nonces = await workAtOnce(pair);
      expect(pair.map(({ heard }) => heard.about("log"))).toEqual(nonces.map(fiveTimes));
    },
  },
  {
    title: "logs that could be anybody's are dropped",
    where: (hop) => !tellsLogs(hop),
    async check(pair) {
      const nonces = await workAtOnce(pair);
      const foreign = pair.map(({ heard }, index) =>
        heard.about("log").filter((nonce) => nonce !== nonces[index]),
      );
      expect(foreign).toEqual([[], []]);
    },
  },
  {
    title: "resource updates are kept apart",
    where: everywhere,
    async check(pair) {
      for (const [index, client] of pair.entries()) await client.listen([WATCHED[index]!]);
      for (const uri of WATCHED) await pair[0].call("relay_touch", { uri });
      for (const [index, { heard }] of pair.entries())
        await heard.until("updated", WATCHED[index]!);
      // Twice is allowed: while the gateway widens its own subscription, the old and the new one overlap.
      const heard = pair.map((client) => [...new Set(client.heard.about("updated"))]);
      expect(heard).toEqual(WATCHED.map((uri) => [uri]));
    },
  },
  {
    title: "the client is asked whose call it is",
    where: tellsQuestions,
    async check(pair) {
      const { asked, outcomes } = await askAtOnce(pair);
      expect(outcomes).toEqual(["ada says / ada fills", "bob says / bob fills"]);
      expect(pair.map(({ heard }) => heard.about("asked"))).toEqual(asked);
    },
  },
  {
    title: "a question is held until only one client can be meant",
    where: (hop) => !tellsQuestions(hop),
    async check([ada, bob]) {
      const [nonce, other] = [randomUUID(), randomUUID()];
      const work = bob.call("relay_work", { nonce: other, steps: 20 });
      const result = await ada.call("relay_ask_twice", { nonce, other });
      expect(textOf(result)).toBe("ada says / ada fills");
      await work;
      expect(bob.heard.about("asked")).toEqual([]);
    },
  },
];

/** Has both clients work at once, each with its own nonce. */
async function workAtOnce(pair: Pair): Promise<readonly string[]> {
  const nonces = pair.map(() => randomUUID());
  const calls = pair.map((client, index) =>
    client.call("relay_work", { nonce: nonces[index], steps: 5 }, { progress: true }),
  );
  await Promise.all(calls);
  return nonces;
}

/** Has the server ask both clients while both calls run; gives what each may be asked, and how each call ended. */
async function askAtOnce(
  pair: Pair,
): Promise<{ asked: readonly string[][]; outcomes: readonly string[] }> {
  const nonces = pair.map(() => randomUUID());
  const calls = pair.map((client, index) => {
    const args = { nonce: nonces[index], other: nonces[1 - index] };
    return client.call("relay_ask_twice", args).then(textOf, String);
  });
  const asked = nonces.map((nonce) => [`sample ${nonce}`, `fill ${nonce}`]);
  return { asked, outcomes: await Promise.all(calls) };
}

function fiveTimes(nonce: string): readonly string[] {
  return Array<string>(5).fill(nonce);
}

let scene: Scene;

async function openPair(eras: (typeof PAIRS)[number]): Promise<Pair> {
  const pair = [
    await connect(eras[0], scene.url, "ada"),
    await connect(eras[1], scene.url, "bob"),
  ] as const;
  onTestFinished(async () => void (await Promise.all(pair.map((client) => client.close()))));
  return pair;
}

describe.each(HOPS.map((hop) => [hop.era, hop.transport, hop] as const))(
  "a %s server over %s",
  (_era, _transport, hop) => {
    beforeAll(async () => void (scene = await startScene(hop)));
    afterAll(() => scene.close());
    const rules = RULES.filter(({ where }) => where(hop));

    describe.each(PAIRS)("and a %s and a %s client at once", (...eras) => {
      it.each(rules.map(({ title, check }) => [title, check] as const))(
        "T5: %s",
        async (_title, check) => {
          expect.hasAssertions();
          await check(await openPair(eras));
        },
      );
    });
  },
);

describe("a legacy server over stdio and two clients that are both asked", () => {
  beforeAll(async () => void (scene = await startScene({ transport: "stdio", era: "legacy" })));
  afterAll(() => scene.close());

  // The gateway waits 10 s for one of the calls to end; with one refused, the other is clear.
  it("T5: nobody is asked for the other", async () => {
    const pair = await openPair(["legacy", "modern"]);
    const { asked, outcomes } = await askAtOnce(pair);
    const foreign = pair.map(({ heard }, index) =>
      heard.about("asked").filter((question) => !asked[index]?.includes(question)),
    );
    expect(foreign).toEqual([[], []]);
    expect(outcomes).toContainEqual(expect.stringContaining("several clients"));
  });
});
