import { createPrincipal } from "propylon/kit";
import { expect, it, vi } from "vitest";
import { KeptStore } from "../../fixtures/kept-store.ts";
import { deferred } from "../../kit/deferred.ts";
import { until } from "../../kit/until.ts";
import { ALICE, Replica } from "./kit.ts";

const BOB = createPrincipal({ id: "bob", kind: "key", roles: new Set(["caller"]) });
const TOO_MANY = expect.stringContaining("Too many agents") as string;
const AGENTS = "lifecycle/agents";

/** A replica that is gone, with an agent that ran and one that waited, and one that is there. */
async function loseOne() {
  const kept = new KeptStore({ shared: true });
  const [dead, alive] = [await Replica.start(kept), await Replica.start(kept)];
  const running = await dead.begin("runs");
  await until(() => dead.ran.length === 1);
  const waiting = await dead.begin("waits");
  await alive.lifecycle.takeOver();
  await kept.loseGateway();
  const stored = async (id: string) => (await kept.driver.get(AGENTS, id))!.value;
  await until(async () => (await stored(running.id)).includes('"isRunning":true'));
  return { kept, alive, running, waiting, stored };
}

/** Lets the test do something in place of writes of agents, or behind them. */
function atPuts(kept: KeptStore, step: (write: () => Promise<number>, count: number) => unknown) {
  const { driver } = kept;
  const put = driver.put.bind(driver);
  let count = 0;
  const undo = () => void (driver.put = put);
  driver.put = (async (name: string, ...args: [string, string]) =>
    name === AGENTS
      ? step(() => put(name, ...args) as Promise<number>, ++count)
      : put(name, ...args)) as typeof put;
  return undo;
}

it("an agent that is asked for during a takeover is taken in once, and keeps its end", async () => {
  const { kept, alive, running, stored } = await loseOne();
  const { driver } = kept;
  const list = driver.list.bind(driver);
  const [listed, gate] = [deferred(), deferred()];
  driver.list = async (...args: Parameters<typeof list>) => {
    const page = await list(...args);
    if (args[0] === AGENTS) {
      listed.resolve();
      await gate.promise;
    }
    return page;
  };
  const over = alive.lifecycle.takeOver();
  await listed.promise;
  expect(await alive.ask(running.id)).toMatchObject({ status: { stop_reason: "restarted" } });
  gate.resolve();
  await over;
  expect(await stored(running.id)).toContain("restarted");
  expect(alive.lifecycle.ends).toEqual({ completed: 0, stopped: 1 });
});

it("two that ask for an agent at a time have the same one", async () => {
  const { alive, running, waiting } = await loseOne();
  const told = await Promise.all(
    [running, running, waiting, waiting].map(({ id }) => alive.ask(id)),
  );
  expect(told.map((each) => each?.contract)).toEqual(["runs", "runs", "waits", "waits"]);
  expect(alive.lifecycle.ends.stopped).toBe(1);
  await until(() => alive.ran.length === 1);
});

it("a takeover waits for a store that is away, and loses nothing", async () => {
  const { kept, alive, running, waiting } = await loseOne();
  atPuts(kept, (write, count) => (count === 1 ? Promise.reject(new Error("away")) : write()));
  await alive.lifecycle.takeOver();
  expect(alive.lifecycle.list(ALICE).map(({ id }) => id)).toEqual([running.id, waiting.id]);
  await until(() => alive.ran.length === 1);
  expect(alive.ran).toEqual([waiting.id]);
});

it("an agent that was claimed with a write whose answer is lost is taken over all the same", async () => {
  const { kept, alive, running, waiting } = await loseOne();
  atPuts(kept, async (write, count) => {
    const rev = await write();
    if (count <= 2) throw new Error("lost");
    return rev;
  });
  await alive.lifecycle.takeOver();
  expect(alive.lifecycle.list(ALICE).map(({ id }) => id)).toEqual([running.id, waiting.id]);
});

it.each(["running", "waiting"] as const)(
  "an agent that was %s and is asked for again has its owner, although the first claim told nothing",
  async (state) => {
    const lost = await loseOne();
    const { kept, alive } = lost;
    const { id } = lost[state];
    atPuts(kept, async (write, count) => {
      const rev = await write();
      if (count === 1) throw new Error("lost");
      return rev;
    });
    await expect(alive.ask(id)).rejects.toMatchObject({ code: "unavailable" });
    expect(await alive.ask(id)).toMatchObject({ status: { agent_id: id } });
  },
);

it("a start does without what it cannot claim, and takes that over later", async () => {
  const { kept, running, waiting } = await loseOne();
  const [there] = await kept.driver.list("core/replicas", { prefix: "", limit: 10 });
  await kept.driver.delete("core/replicas", there!.key);
  atPuts(kept, (write, count) => (count <= 2 ? Promise.reject(new Error("away")) : write()));
  const next = await Replica.start(kept);
  expect(next.lifecycle.list(ALICE)).toEqual([]);
  await next.lifecycle.takeOver();
  expect(next.lifecycle.list(ALICE).map(({ id }) => id)).toEqual([running.id, waiting.id]);
});

it("an agent that ran does not run again when the replica that claimed it is gone at once, too", async () => {
  const { kept, alive, running } = await loseOne();
  const claimed = deferred();
  const answerAgain = atPuts(kept, async (write, count) => {
    if (count > 1) return new Promise(() => {});
    const rev = await write();
    claimed.resolve();
    return rev;
  });
  alive.lifecycle.takeOver().catch(() => {});
  await claimed.promise;
  answerAgain();
  await kept.driver.delete("core/replicas", alive.store.replica);
  const third = await Replica.start(kept);
  expect(third.lifecycle.find(running.id, ALICE)).toMatchObject({ status: "stopped" });
  expect(third.ran).not.toContain(running.id);
});
it("an agent that waited at a replica that is gone is stopped by whom its owner asks, and never runs", async () => {
  const { alive, waiting, stored } = await loseOne();
  const told = await alive.ask(waiting.id, "cancel");
  expect(told).toMatchObject({ already: false, ending: { status: "stopped" } });
  expect(told!.ending.already).toBeUndefined();
  expect(await stored(waiting.id)).toContain("requested");
  expect(await alive.ask(waiting.id, "cancel")).toMatchObject({ already: true });
  // There is one place: had the stopped one been waiting for it, it would have it.
  const next = await alive.begin("next");
  await until(() => alive.ran.length > 0);
  expect(alive.ran).toEqual([next.id]);
});

it("stops that a replica does not answer hold up nobody's looks, and one has 150 of them at a time", async () => {
  const kept = new KeptStore({ shared: true });
  const [there, here] = [await Replica.start(kept), await Replica.start(kept)];
  const stopping: string[] = [];
  there.lifecycle.stop = ({ id }) => {
    stopping.push(id);
    return new Promise(() => {});
  };
  const [mine, bobs] = [await there.begin("work"), await there.begin("work", BOB)];
  const refused: unknown[] = [];
  for (let count = 0; count < 152; count++)
    here.ask(mine.id, "cancel").catch((error: unknown) => refused.push(error));
  await until(() => stopping.length === 150 && refused.length === 2);
  expect(refused[0]).toMatchObject({ code: "unavailable", message: TOO_MANY });
  expect(await here.ask(bobs.id, "look", BOB)).toMatchObject({ status: { agent_id: bobs.id } });
  here.ask(bobs.id, "cancel", BOB).catch(() => {});
  await until(() => stopping.at(-1) === bobs.id);
});

it("a look that gets no turn in time is refused with a sentence", async () => {
  const { kept, alive, running } = await loseOne();
  const answers = deferred();
  const { driver } = kept;
  const get = driver.get.bind(driver);
  driver.get = (...args) => answers.promise.then(() => get(...args));
  const looks = Array.from({ length: 16 }, () => alive.ask(running.id));
  const late = vi.spyOn(AbortSignal, "timeout").mockReturnValue(AbortSignal.abort());
  const refused = alive.ask(running.id).catch((error: unknown) => error);
  late.mockRestore();
  expect(await refused).toMatchObject({ code: "unavailable", message: TOO_MANY });
  answers.resolve();
  expect(await Promise.all(looks)).toHaveLength(16);
});
