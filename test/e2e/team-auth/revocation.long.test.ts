import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../../core/testing/index.ts";
import { startPostgres } from "../../fixtures/postgres/postgres.mjs";
import type { PostgresServer } from "../../fixtures/postgres/types.ts";
import { freshSchema, hasPostgres, requirePostgres } from "../../plugins/postgres/kit.ts";
import { ADMIN } from "../../plugins/team-auth/kit.ts";
import { ask, GatewayProcess } from "./processes.ts";

const CHANGES = Number(process.env["REVOCATIONS"] ?? 20);
const GATEWAYS = (process.env["REVOCATION_GATEWAYS"] ?? "2").split(",").map(Number);
const CALLS_PER_SECOND = Number(process.env["REVOCATION_CALLS"] ?? 100);
/** Times count on a machine that does nothing else; what must never happen counts everywhere. */
const IS_TIMED = process.env["REVOCATION_TIMED"] === "1";
/** Longest wait for a gateway that is stopped, in milliseconds: its lease, and some. */
const STOPPED_MS = IS_TIMED ? 2_500 : 6_000;
const P99_MS = IS_TIMED ? 100 : Infinity;
/** Share of calls that may meet a gateway that was too slow to renew its lease. */
const MAX_UNAVAILABLE = IS_TIMED ? 0.01 : 0.5;
const TEAMS = 12;
/** Changes at the same time, each of another team. */
const WRITERS = 3;
const WORKSPACES = ["ws-0", "ws-1", "ws-2"];

let server: PostgresServer | undefined;
beforeAll(async () => {
  if (hasPostgres) server = await startPostgres(await freePort());
});
afterAll(() => server?.stop());

/** What a team was from one moment on, by the clock of the test. */
interface State {
  readonly jwt: string;
  readonly active: boolean;
  readonly workspaces: readonly string[];
  /** When the change was sent. */
  readonly began: number;
  /** When it was answered; it counts everywhere from then on. */
  answered: number;
}

class TeamModel {
  readonly id: string;
  readonly tokens: string[];
  readonly states: State[];

  constructor(id: string, jwt: string) {
    this.id = id;
    this.tokens = [jwt];
    this.states = [{ jwt, active: true, workspaces: [], began: 0, answered: 0 }];
  }

  get now(): State {
    return this.states.at(-1)!;
  }

  /** Every answer that a call may have got that began and ended then. */
  allowed(jwt: string, began: number, ended: number): Set<string> {
    const last = this.states.findLastIndex(({ answered }) => answered <= began);
    const states = this.states.slice(last).filter((state) => state.began <= ended);
    return new Set(states.map((state) => answerOf(state, jwt)));
  }
}

function answerOf({ jwt: current, active, workspaces }: State, jwt: string): string {
  if (!active) return "401 Token has been deactivated.";
  if (jwt !== current) return "401 Invalid MCP token.";
  return JSON.stringify(workspaces.map((id) => id.replace("ws", "lib")).toSorted());
}

const pick = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)]!;

async function populate(gateway: GatewayProcess): Promise<TeamModel[]> {
  for (const id of WORKSPACES)
    await gateway.change("libraries", "create", ADMIN, {
      uid: id.replace("ws", "lib"),
      workspaceId: id,
    });
  const teams: TeamModel[] = [];
  for (let at = 0; at < TEAMS; at++) {
    const id = crypto.randomUUID();
    const { value } = await gateway.change("teams", "create", ADMIN, {
      id,
      name: id,
    });
    teams.push(new TeamModel(id, (value as { jwt: string }).jwt));
  }
  return teams;
}

/** Makes one random change; returns how long the answer took at its gateway, in milliseconds. */
async function change(team: TeamModel, gateway: GatewayProcess): Promise<number> {
  const { jwt, active, workspaces } = team.now;
  const began = performance.now();
  const state = { jwt, active, workspaces, began, answered: Infinity };
  const kind = active ? pick(["detach", "detach", "rotate", "delete"]) : "reactivate";
  if (kind === "rotate") {
    // Its token is not known before it is answered, so nobody can call with it.
    const rotated: State = { ...state, jwt: "not known yet" };
    team.states.push(rotated);
    const { value, took } = await gateway.change("teams", "rotate", ADMIN, team.id);
    team.tokens.push((value as { jwt: string }).jwt);
    rotated.answered = performance.now();
    team.states.push({ ...rotated, jwt: (value as { jwt: string }).jwt });
    return took;
  }
  const next: State =
    kind === "detach"
      ? { ...state, workspaces: WORKSPACES.filter(() => Math.random() < 0.5) }
      : { ...state, active: kind === "reactivate" };
  team.states.push(next);
  const { took } =
    kind === "detach"
      ? await gateway.change("teams", "setWorkspaces", ADMIN, team.id, next.workspaces)
      : await gateway.change("teams", kind === "delete" ? "deactivate" : kind, ADMIN, team.id);
  next.answered = performance.now();
  return took;
}

interface Figures {
  calls: number;
  stale: string[];
  unavailable: number;
  readonly took: number[];
}

async function call(team: TeamModel, gateway: GatewayProcess, figures: Figures): Promise<void> {
  const jwt = Math.random() < 0.8 ? team.now.jwt : pick(team.tokens);
  if (jwt === "not known yet") return;
  const began = performance.now();
  const answer = await ask(gateway.url, jwt);
  const allowed = team.allowed(jwt, began, performance.now());
  figures.calls++;
  // 408: it was stopped before it had read the request.
  if (/^(?:408|503)/.test(answer)) figures.unavailable++;
  else if (!allowed.has(answer)) figures.stale.push(`${answer}, not ${[...allowed].join(" or ")}`);
}

async function keepCalling(
  teams: TeamModel[],
  gateways: GatewayProcess[],
  figures: Figures,
  isOver: () => boolean,
): Promise<void> {
  const running = new Set<Promise<void>>();
  for (let next = performance.now(); !isOver(); next += 1_000 / CALLS_PER_SECOND) {
    await sleep(Math.max(0, next - performance.now()));
    const made = call(pick(teams), pick(gateways), figures).finally(() => running.delete(made));
    running.add(made);
  }
  await Promise.all(running);
}

async function run(
  gateways: GatewayProcess[],
  writers: GatewayProcess[],
  changes: number,
  meanwhile: (figures: Figures) => Promise<void> = async () => {},
): Promise<Figures> {
  const teams = await populate(gateways[0]!);
  const figures: Figures = { calls: 0, stale: [], unavailable: 0, took: [] };
  let isOver = false;
  let left = changes;
  const write = async (mine: TeamModel[]): Promise<void> => {
    while (left-- > 0) figures.took.push(await change(pick(mine), pick(writers)));
  };
  const calling = keepCalling(teams, gateways, figures, () => isOver);
  const shares = Array.from({ length: WRITERS }, (_each, share) =>
    teams.filter((_team, at) => at % WRITERS === share),
  );
  await Promise.all([...shares.map(write), meanwhile(figures)]);
  isOver = true;
  await calling;
  return figures;
}

function percentile({ took }: Figures, share: number): number {
  return took.toSorted((left, right) => left - right)[Math.floor((took.length - 1) * share)]!;
}

function told(figures: Figures): string {
  const { took } = figures;
  const at = (share: number): string => percentile(figures, share).toFixed(0);
  return (
    `${took.length} changes: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, at most ${at(1)} ms; ` +
    `${figures.calls} calls, ${figures.stale.length} stale, ${figures.unavailable} refused with 503`
  );
}

describe("what is answered is in force", () => {
  it.each(GATEWAYS)(
    "T110, T116, T183: at each of %i processes, for every call that begins after the answer",
    { timeout: 600_000 },
    async (count) => {
      requirePostgres();
      const schema = freshSchema();
      const gateways: GatewayProcess[] = [];
      for (let at = 0; at < count; at++)
        gateways.push(await GatewayProcess.start(server!.url, schema));
      const figures = await run(gateways, gateways, CHANGES);
      process.stdout.write(`${count} gateways: ${told(figures)}\n`);
      expect(figures.stale).toEqual([]);
      expect(percentile(figures, 0.99)).toBeLessThanOrEqual(P99_MS);
      expect(figures.unavailable).toBeLessThan(figures.calls * MAX_UNAVAILABLE);
    },
  );

  it(
    "T183: also while one of them is stopped, and when it goes on",
    { timeout: 600_000 },
    async () => {
      requirePostgres();
      const schema = freshSchema();
      const gateways: GatewayProcess[] = [];
      for (let at = 0; at < 3; at++) gateways.push(await GatewayProcess.start(server!.url, schema));
      const [stopped, ...writers] = gateways as [GatewayProcess, ...GatewayProcess[]];
      let during: readonly number[] = [];
      const figures = await run(gateways, writers, CHANGES * 2, async ({ took }) => {
        await sleep(500);
        const before = took.length;
        stopped.signal("SIGSTOP");
        await sleep(5_000);
        stopped.signal("SIGCONT");
        during = took.slice(before);
      });
      const longest = Math.max(...during);
      process.stdout.write(
        `one stopped: ${told(figures)}; ${longest.toFixed(0)} ms while it was\n`,
      );
      expect(figures.stale).toEqual([]);
      expect(during.length).toBeGreaterThan(0);
      expect(longest).toBeLessThan(STOPPED_MS);
    },
  );
});
