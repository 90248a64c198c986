import fc from "fast-check";
import { type Call, GatewayError } from "propylon";
import { expect, it } from "vitest";
import { createPrincipal } from "../../../core/kit.ts";
import type { Connection } from "../../../plugins/servers/connection/connection.ts";
import {
  OwnConnections,
  type OwnConnectionsOptions,
} from "../../../plugins/servers/upstream/own-connections.ts";
import { until } from "../../kit/until.ts";
import { log, makeCall, makePeer } from "./support/calls.ts";

const SHARED = { handshake: { era: "modern" } } as Connection;

function boundsFor(max: number): OwnConnectionsOptions["bounds"] {
  return { kind: "others", max, maxOfOne: max, isKept: false };
}

function callOf(id: string): Call {
  const principal = createPrincipal({ id, kind: "key", roles: new Set() });
  return makeCall("t", {}, { principal, peer: asked });
}

const asked = { ...makePeer(), era: "legacy" as const, capabilities: { elicitation: {} } };

function setUp(dial?: () => Promise<Connection>, options: Partial<OwnConnectionsOptions> = {}) {
  let dialled = 0;
  let time = 0;
  const timers = new Set<() => void>();
  const closed: Connection[] = [];
  const open = async (): Promise<Connection> => {
    const connection = {
      inFlight: 0,
      wire: {},
      drained: async () => {},
      close: async () => void closed.push(connection as never),
    };
    return connection as unknown as Connection;
  };
  const own = new OwnConnections({
    name: "test",
    log,
    retry: 1_000,
    bounds: boundsFor(16),
    idle: 300_000,
    ping: 0,
    credentials: undefined,
    isEitherEra: true,
    host: { lost() {}, listChanged() {}, event() {}, missed() {} },
    prepare: async () => {},
    listChanged() {},
    dial: () => {
      dialled++;
      return (dial ?? open)();
    },
    clock: {
      now: () => time,
      random: () => 0,
      after: (_ms, callback) => {
        timers.add(callback);
        return () => void timers.delete(callback);
      },
    },
    ...options,
  });
  return {
    own,
    closed,
    dialled: () => dialled,
    pass: (ms: number) => void (time += ms),
    fire: () => {
      const due = [...timers];
      timers.clear();
      for (const timer of due) timer();
    },
  };
}

it("only clients that can be asked need one, and only beside a modern connection", () => {
  const { own } = setUp();
  const suits = (peer: object): boolean =>
    own.suits({ ...callOf("a"), peer: { ...asked, ...peer } }, SHARED);
  expect(suits({})).toBe(true);
  expect(suits({ era: "modern" })).toBe(false);
  expect(suits({ era: undefined })).toBe(false);
  expect(suits({ capabilities: {} })).toBe(false);
});

it("each principal has one, and at 16 the longest idle one makes way", async () => {
  const { own, closed, dialled } = setUp();
  const first = await own.of(callOf("0"), SHARED);
  expect(await own.of(callOf("0"), SHARED)).toBe(first);
  for (let id = 1; id < 16; id++) await own.of(callOf(String(id)), SHARED);
  await own.of(callOf("0"), SHARED);
  const second = own.open[0];
  await own.of(callOf("new"), SHARED);
  await until(() => closed.length === 1);
  expect([dialled(), own.open.length, closed]).toEqual([17, 16, [second]]);
  for (const connection of own.open) (connection as { inFlight: number }).inFlight = 1;
  expect(await own.of(callOf("one more"), SHARED)).toBe(SHARED);
});

it("one without calls is closed, one with calls stays", async () => {
  const { own, closed, pass, fire } = setUp();
  const connection = (await own.of(callOf("a"), SHARED)) as { inFlight: number } & Connection;
  connection.inFlight = 1;
  pass(300_000);
  fire();
  expect(own.open).toEqual([connection]);
  connection.inFlight = 0;
  pass(300_000);
  fire();
  expect(own.open).toEqual([]);
  expect(await until(() => closed.length === 1)).toBe(true);
});

it("a failed attempt leaves the server alone for a while, a refused era for good", async () => {
  const failing = setUp(() => Promise.reject(new GatewayError("upstream_error", "No network.")));
  expect(await failing.own.of(callOf("a"), SHARED)).toBe(SHARED);
  expect(await failing.own.of(callOf("a"), SHARED)).toBe(SHARED);
  expect(failing.dialled()).toBe(1);
  failing.pass(1_001);
  await failing.own.of(callOf("a"), SHARED);
  expect(failing.dialled()).toBe(2);
  const data = { final: true };
  const modern = setUp(() => Promise.reject(new GatewayError("upstream_error", "No.", { data })));
  await modern.own.of(callOf("a"), SHARED);
  expect(modern.own.suits(callOf("a"), SHARED)).toBe(false);
});

/** Where a principal may have several: their requests differ in more than who it is. */
const several = {
  isPersonal: true,
  keyOf: ({ principal, name }: Call) => `${principal.ref} ${name}`,
  of: () => ({}),
  isSecret: true,
  sessionOf: () => undefined,
} as unknown as NonNullable<OwnConnectionsOptions["credentials"]>;

it("whoever has most makes room, also where the others were idle for longer", async () => {
  const step = fc.tuple(
    fc.constantFrom("greedy", "greedy", "greedy", "greedy", "ann", "bob", "eve"),
    fc.nat(11),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
      const maxConnections = 6;
      const { own, pass } = setUp(undefined, {
        bounds: boundsFor(maxConnections),
        credentials: several,
      });
      /** Keys that are open, by who has them. */
      const open = new Map<string, string>();
      const share = (id: string): number => [...open.values()].filter((each) => each === id).length;
      for (const [id, tool] of steps) {
        pass(1);
        const call = { ...callOf(id), name: String(tool) };
        const isNew = own.at(call) === undefined;
        const before = new Map([...open.values()].map((each) => [each, share(each)]));
        await own.of(call, undefined);
        open.set(`${id} ${tool}`, id);
        const gone = [...open].filter(
          ([key, each]) => own.at({ ...callOf(each), name: key.split(" ")[1]! }) === undefined,
        );
        expect(gone).toHaveLength(isNew && open.size > maxConnections ? 1 : 0);
        for (const [key, victim] of gone) {
          open.delete(key);
          const largest = Math.max(...before.values(), (before.get(id) ?? 0) + 1);
          const had = victim === id ? (before.get(id) ?? 0) + 1 : before.get(victim)!;
          expect([victim, had]).toEqual([victim, largest]);
        }
      }
      expect(own.open.length).toBeLessThanOrEqual(maxConnections);
    }),
    { numRuns: 200 },
  );
});

it("nobody's only connection makes way for one who has many, however often that one comes", async () => {
  const { own, pass, dialled } = setUp(undefined, { bounds: boundsFor(16), credentials: several });
  const call = (id: string, tool: number): Call => ({ ...callOf(id), name: String(tool) });
  const people = ["ann", "bob", "eve"];
  for (const id of people) await own.of(call(id, 0), undefined);
  for (let tool = 0; tool < 1_000; tool++) {
    pass(1);
    await own.of(call("greedy", tool), undefined);
  }
  expect(people.map((id) => own.at(call(id, 0)) !== undefined)).toEqual([true, true, true]);
  expect([own.open.length, dialled()]).toEqual([16, 1_003]);
});
