import fc from "fast-check";
import { digestOf } from "propylon/kit";
import { expect, it } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import payloads, { type PayloadInfo } from "../../../plugins/payloads/index.ts";
import { newestOf } from "../../../plugins/payloads/store.ts";
import { holder } from "./kit.ts";

const ROLES = { alice: "caller", bob: "caller", ops: "operator", watch: "viewer" } as const;
const tokenOf = (name: string): string => `${name}-0123456789abcdef0123456789abcdef`;

interface List {
  readonly count: number;
  readonly bytes: number;
  readonly payloads: readonly (PayloadInfo & { readonly id: string; readonly url: string })[];
}

/** Payloads of two callers, and who may look. */
async function start() {
  const { plugin, store } = holder();
  const keys = Object.entries(ROLES).map(
    ([name, role]) => [name, { role, hash: `sha256:${digestOf(tokenOf(name))}` }] as const,
  );
  const { url } = await setupGateway({
    plugins: [payloads, plugin],
    config: { auth: { keys: Object.fromEntries(keys) } },
    client: false,
  });
  const ask = (who?: keyof typeof ROLES): Promise<Response> =>
    fetch(`${url}/_meta/payloads`, {
      headers: who ? { authorization: `Bearer ${tokenOf(who)}` } : {},
    });
  const list = async (who: keyof typeof ROLES): Promise<List> =>
    (await (await ask(who)).json()) as List;
  return { url, store: store(), ask, list };
}

it("everybody lists their own payloads, and those who run the gateway all of them", async () => {
  const { url, store, ask, list } = await start();
  const own = await store.put("a/1", "the work of alice", { owner: "key:alice" });
  const others = await store.put("b1", "of bob", { owner: "key:bob", ttl: 60_000 });
  const mine = { ...own, id: "a/1", expiresAt: null, url: `${url}/api/agents/a%2F1/payload` };
  expect(await list("alice")).toEqual({
    ok: true,
    count: 1,
    bytes: own.stored,
    payloads: [mine],
  });
  expect(await list("bob")).toMatchObject({ count: 1, payloads: [{ id: "b1", ...others }] });
  const all = await list("ops");
  expect(all).toMatchObject({ count: 2, bytes: own.stored + others.stored });
  expect(all.payloads.map(({ id }) => id).toSorted()).toEqual(["a/1", "b1"]);
  expect((await ask("watch")).status).toBe(403);
  expect((await ask()).status).toBe(401);
});

it("lists a hundred at most, without those whose time is over", async () => {
  const { store, list } = await start();
  await store.put("over", "x", { owner: "key:alice", ttl: 1 });
  await expect.poll(() => store.info("over")).toBe(undefined);
  for (let at = 0; at < 101; at++) await store.put(`p${at}`, "x", { owner: "key:alice" });
  const ids = (await list("alice")).payloads.map(({ id }) => id);
  expect(ids).toHaveLength(100);
  expect(ids[0]).toBe("p100");
  expect(ids).not.toContain("over");
});

it("finds the newest of any, in whatever order they stand", () => {
  const times = fc.array(fc.integer({ min: 0, max: 50 }).map((at) => new Date(at).toISOString()));
  fc.assert(
    fc.property(times, fc.integer({ min: 1, max: 20 }), (all, most) => {
      const entries = all.map(
        (createdAt, at) => [String(at), { createdAt } as PayloadInfo] as const,
      );
      const found = newestOf(entries, most).map(({ createdAt }) => createdAt);
      expect(found).toEqual(all.toSorted().toReversed().slice(0, most));
    }),
  );
});
