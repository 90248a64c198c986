import { expect, it, onTestFinished } from "vitest";
import { until } from "../../kit/until.ts";
import { outliving } from "./kept.ts";
import { FakeServer, openSession, post, serve, text } from "./kit.ts";

const [FIRST, SECOND, THIRD] = ["x://a", "x://b", "x://c"];

/** A gateway whose session watches one resource, and whose store can be held up. */
async function start(shared: boolean) {
  const kept = outliving({ durable: true, shared });
  const server = new FakeServer("s", {
    capabilities: { tools: {}, resources: { subscribe: true } },
    resources: [FIRST, SECOND, THIRD].map((uri) => ({ uri, name: uri })),
  }).tool("echo", () => text("a"));
  const served = await serve([server], { store: kept.open() });
  onTestFinished(() => served.close());
  const headers = await openSession(served.url);
  const subscribe = (uri: string) =>
    post(
      served.url,
      { jsonrpc: "2.0", id: 1, method: "resources/subscribe", params: { uri } },
      headers,
    ).catch(() => undefined);
  await subscribe(FIRST);
  const [key] = await kept.keys();
  // What ends is kept with its end in front.
  const record = async () =>
    JSON.parse((await kept.read(key!)).replace(/^[^{]*/, "")) as {
      subscriptions: readonly string[];
    };
  expect((await record()).subscriptions).toEqual([FIRST]);
  /** Begins a write that the store holds up, and one behind it. */
  const holdUp = async (): Promise<() => void> => {
    let release!: () => void;
    kept.hold = new Promise((resolve) => (release = resolve));
    for (const uri of [SECOND, THIRD]) {
      void subscribe(uri);
      await until(() => server.subscribed.includes(`+${uri}`));
    }
    return release;
  };
  return { kept, served, key: key!, record, holdUp };
}

it.each([false, true])(
  "fleet 2: a write that waits while the gateway ends keeps what its client watches, shared: %s",
  async (shared) => {
    const { kept, served, record, holdUp } = await start(shared);
    const release = await holdUp();
    const before = kept.asked.length;
    await served.close();
    release();
    // The second write begins once the first is done.
    await until(() => kept.asked.length > before);
    await expect.poll(record).toMatchObject({ subscriptions: [FIRST, SECOND, THIRD] });
  },
);

it("fleet 2: a gateway that ends overwrites nothing that another one wrote meanwhile", async () => {
  const { kept, served, key, record, holdUp } = await start(true);
  const release = await holdUp();
  await served.close();
  const there = await kept.read(key);
  await kept.write(key, there.replace(`["${FIRST}"]`, `["${FIRST}","x://other"]`));
  release();
  // Both writes find that they are late: each puts, and reads what is there.
  await until(() => kept.asked.filter((each) => each.startsWith("put")).length >= 4);
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  expect((await record()).subscriptions).toContain("x://other");
});
