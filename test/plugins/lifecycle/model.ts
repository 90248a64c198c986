import { createPrincipal } from "../../../core/kit.ts";
import fc from "fast-check";
import { pino } from "pino";
import { expect } from "vitest";
import type { ManagedAgent } from "../../../plugins/lifecycle/record/agent.ts";
import { Lifecycle } from "../../../plugins/lifecycle/lifecycle.ts";
import { optionsSchema } from "../../../plugins/lifecycle/options.ts";
import { endingOf } from "../../../plugins/lifecycle/run/report.ts";
import { MemoryStorage } from "../../../plugins/payloads/storage.ts";
import { Store } from "../../../plugins/payloads/store.ts";
import { ScriptedAgents, type Reply } from "./kit.ts";

const OWNER = createPrincipal({ id: "somebody", kind: "key", roles: new Set(["caller"]) });
const PLACES = 2;
const LIMIT = 8;

/** The plugin's heart with real payloads; what the model of an agent answers is decided by the test. */
export class Rig {
  readonly lifecycle = new Lifecycle();
  readonly store = new Store(new MemoryStorage());
  readonly agents: ManagedAgent[] = [];
  readonly #replies = new Map<string, (reply: Reply) => void>();
  readonly scripted = new ScriptedAgents(
    ["worker"],
    ({ id }) => new Promise((resolve) => this.#replies.set(id, resolve)),
  );

  constructor(completeAfterStop: "ignore" | "accept") {
    this.store.configure({
      maxSize: LIMIT,
      maxTotalSize: 1_000_000,
      maxPayloads: 1_000_000,
      urlOf: (id) => id,
    });
    const options = optionsSchema.parse({
      concurrency: PLACES,
      maxReminders: 0,
      completeAfterStop,
    });
    const log = pino({ level: "silent" });
    this.lifecycle.adopt({
      options,
      agents: this.scripted,
      takers: ["worker"],
      payloads: this.store,
      log,
    });
  }

  create(starts: boolean): ManagedAgent {
    const request = { contract: "work", name: "worker", owner: OWNER, start: starts };
    const agent = this.lifecycle.create(request);
    this.agents.push(agent);
    return agent;
  }

  /** The model answers the request in flight, if there is one. */
  reply(agent: ManagedAgent, text: string): boolean {
    const give = this.#replies.get(agent.id);
    this.#replies.delete(agent.id);
    give?.({ text });
    return give !== undefined;
  }

  /** Everything that follows from what was done has happened. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** What an agent should be like. */
interface Expected {
  status: "ready" | "running" | "stopped" | "completed";
  /** Its request to the model is in flight, whatever its state. */
  isInFlight: boolean;
  /** The request was cut: too many of agents that ended were in flight. */
  isCut: boolean;
  payload: number | undefined;
  ending: string | undefined;
}

export class Model {
  readonly expected: Expected[] = [];
  readonly queue: Expected[] = [];
  /** In the order in which they began. */
  readonly #begun: Expected[] = [];

  fill(): void {
    while (this.queue.length > 0 && this.#running.length < PLACES) {
      const next = Object.assign(this.queue.shift()!, { status: "running", isInFlight: true });
      this.#begun.push(next);
      const left = this.#begun.filter((each) => isOver(each) && each.isInFlight && !each.isCut);
      for (const each of left.slice(0, Math.max(0, left.length - PLACES))) each.isCut = true;
    }
  }

  get #running(): readonly Expected[] {
    return this.expected.filter(({ status }) => status === "running");
  }

  end(agent: Expected, status: "stopped" | "completed"): void {
    agent.status = status;
    agent.ending = undefined;
    const at = this.queue.indexOf(agent);
    if (at >= 0) this.queue.splice(at, 1);
  }
}

export type Command = fc.AsyncCommand<Model, Rig>;

function compare(model: Model, rig: Rig): void {
  for (const [index, expected] of model.expected.entries()) {
    const agent = rig.agents[index]!;
    expect(agent.status).toBe(expected.status);
    expect(rig.store.info(agent.id)?.size).toBe(expected.payload);
    // A final state keeps its time, whatever comes later.
    const ending = JSON.stringify(endingOf(agent, false));
    if (agent.isOver) expect(ending).toBe((expected.ending ??= ending));
  }
  const count = (status: string): number =>
    model.expected.filter((each) => each.status === status).length;
  expect(rig.lifecycle.counts).toEqual({ ready: count("ready"), running: count("running") });
  // One request each: none was asked twice, and none that ended before its turn was asked at all.
  expect(new Set(rig.scripted.asked.map(({ id }) => id)).size).toBe(rig.scripted.asked.length);
}

/** A command about one agent. */
function about(
  name: string,
  pick: number,
  run: (expected: Expected, agent: ManagedAgent, model: Model, rig: Rig) => Promise<void> | void,
): Command {
  return {
    check: ({ expected }) => expected.length > 0,
    async run(model, rig) {
      const index = pick % model.expected.length;
      await run(model.expected[index]!, rig.agents[index]!, model, rig);
      await rig.settle();
      model.fill();
      compare(model, rig);
    },
    toString: () => `${name}(${pick})`,
  };
}

const isOver = ({ status }: Expected): boolean => status === "stopped" || status === "completed";

/** Anything that can be done to agents, each compared with what should come of it. */
export function commands(accept: boolean): fc.Arbitrary<Iterable<Command>> {
  const pick = fc.nat(7);
  const takes = (expected: Expected): boolean =>
    !isOver(expected) || (accept && expected.status === "stopped");
  const create = fc.boolean().map<Command>((starts) => ({
    check: () => true,
    async run(model, rig) {
      rig.create(starts);
      const expected: Expected = {
        status: "ready",
        isInFlight: false,
        isCut: false,
        payload: undefined,
        ending: undefined,
      };
      model.expected.push(expected);
      if (starts) model.queue.push(expected);
      model.fill();
      await rig.settle();
      compare(model, rig);
    },
    toString: () => `create(${starts})`,
  }));
  const begin = pick.map((at) =>
    about("start", at, async (expected, agent, model, rig) => {
      const starts = expected.status === "ready" && !model.queue.includes(expected);
      expect(await rig.lifecycle.start(agent)).toBe(starts);
      if (starts) model.queue.push(expected);
    }),
  );
  const complete = fc
    .tuple(pick, fc.option(fc.nat(LIMIT + 2), { nil: undefined }))
    .map(([at, bytes]) =>
      about(`complete ${bytes}`, at, async (expected, agent, model, rig) => {
        const payload = bytes === undefined ? undefined : "x".repeat(bytes);
        const work = rig.lifecycle.complete(agent, "summary", payload);
        if (takes(expected) && bytes !== undefined && bytes > LIMIT) {
          await expect(work).rejects.toMatchObject({ code: "too_large" });
          return;
        }
        expect(await work).toBe(takes(expected));
        if (!takes(expected)) return;
        model.end(expected, "completed");
        expected.payload = bytes ?? expected.payload;
      }),
    );
  const stop = pick.map((at) =>
    about("stop", at, async (expected, agent, model, rig) => {
      const counts = await rig.lifecycle.end(agent, { status: "stopped", reason: "requested" });
      expect(counts).toBe(!isOver(expected));
      if (counts) model.end(expected, "stopped");
    }),
  );
  const append = pick.map((at) =>
    about("append", at, async (expected, agent, _model, rig) => {
      const size = (expected.payload ?? 0) + 3;
      const work = rig.lifecycle.append(agent, "abc");
      if (isOver(expected)) expect(await work).toBeUndefined();
      else if (size > LIMIT) await expect(work).rejects.toMatchObject({ code: "too_large" });
      else expect(await work).toMatchObject({ size: (expected.payload = size) });
    }),
  );
  const verdicts = fc.constantFrom("", "[CONTRACT COMPLETE]", "[CONTRACT FAILED]");
  const reply = fc.tuple(pick, verdicts).map(([at, text]) =>
    about(`reply ${text}`, at, (expected, agent, model, rig) => {
      expect(rig.reply(agent, text)).toBe(expected.isInFlight);
      if (expected.isInFlight && !isOver(expected))
        model.end(expected, text === "[CONTRACT COMPLETE]" ? "completed" : "stopped");
      else if (
        expected.isInFlight &&
        !expected.isCut &&
        text === "[CONTRACT COMPLETE]" &&
        takes(expected)
      )
        // Late words count like a late call where those do.
        model.end(expected, "completed");
      expected.isInFlight = false;
    }),
  );
  return fc.commands([create, begin, complete, stop, append, reply], {
    maxCommands: 40,
    size: "max",
  });
}
