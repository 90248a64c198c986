import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Message, Speaker } from "../speaker.ts";
import { Dice, hostileSaying } from "./grammar.ts";
import { openScene, type Scene, TRANSPORTS, type Transport } from "./scene.ts";
import { PATIENCE } from "../../fixtures/ci.ts";

/** Messages of each transport's server; 100,000 in `npm run campaign -- hostile-server`. */
const MESSAGES = Number(process.env["HOSTILE_MESSAGES"] ?? 300);
/** Another one for each campaign finds more; the usual run is always the same. */
const SEED = Number(process.env["HOSTILE_SEED"] ?? 1);
const PER_CALL = 20;
const WORKERS = 4;
const CLIENTS = [
  "scene",
  "good",
  ...Array.from({ length: WORKERS }, (_, worker) => `attack-${worker}`),
];
const ENVELOPE = new Set(["jsonrpc", "id", "result", "error"]);

let scene: Scene;
let good: Speaker;
let figures: Record<string, number>;
beforeAll(async () => {
  // Every client is a principal of its own, so nothing that names no call may reach anybody.
  const keys = Object.fromEntries(
    CLIENTS.map((name) => [name, { role: "caller", hash: `sha256:${hashOf(keyOf(name))}` }]),
  );
  scene = await openScene({ timeouts: { default: "20s" }, auth: { keys } }, keyOf("scene"));
  good = await Speaker.open(scene.gateway.url, "legacy", undefined, keyOf("good"));
  figures = { results: 0, errors: 0, notifications: 0, good: 0 };
});
afterAll(async () => {
  await good.close();
  const code = await scene.close();
  process.stderr.write(`hostile servers, seed ${SEED}: ${JSON.stringify(figures)}\n`);
  if (code !== 0) throw new Error(`the gateway ended with code ${code}`);
});

/** What marks the texts of one call. Its digest tells it from one that a byte was put into. */
function nonceOf(name: string): string {
  return `nonce-${name}-${hashOf(name).slice(0, 8)}-end`;
}

function isWhole(nonce: string): boolean {
  const [, name = ""] = /^nonce-(.*)-[0-9a-f]{8}-end$/.exec(nonce) ?? [];
  return nonce === nonceOf(name);
}

/** Long enough for a key. */
function keyOf(name: string): string {
  return `hostile-campaign-${name}-0123456789abcdef`;
}

function hashOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

/** What is wrong with what one client got for one call; a nonce is in every text of the server's. */
function faultsOf(messages: readonly Message[], id: number, nonce: string): readonly string[] {
  const answers = messages.filter((message) => !("method" in message));
  const foreign = (JSON.stringify(messages).match(/nonce-[\w-]+?-end/g) ?? []).filter(isWhole);
  const tokens = messages
    .filter(({ method }) => method === "notifications/progress")
    .map(({ params }) => (params as Message)["progressToken"]);
  return [
    ...(answers.length === 1 ? [] : [`${answers.length} answers`]),
    ...answers.filter((answer) => answer["id"] !== id).map(() => "another id"),
    ...answers.flatMap((answer) => Object.keys(answer).filter((key) => !ENVELOPE.has(key))),
    ...foreign.filter((each) => each !== nonce).map((each) => `what belongs to ${each}`),
    ...tokens.filter((token) => token !== nonce).map(() => "another token"),
  ];
}

function count(messages: readonly Message[]): void {
  for (const message of messages) {
    const kind = "method" in message ? "notifications" : "result" in message ? "results" : "errors";
    figures[kind]!++;
  }
}

async function attack(transport: Transport, worker: number, calls: number): Promise<string[]> {
  const dice = new Dice(SEED + worker * 7_919 + TRANSPORTS.indexOf(transport) * 104_729);
  const key = keyOf(`attack-${worker}`);
  const speaker = await Speaker.open(scene.gateway.url, "legacy", undefined, key);
  const faults: string[] = [];
  try {
    for (let call = 1; call <= calls; call++) {
      const nonce = nonceOf(`${transport}-${worker}-${call}`);
      const saying = hostileSaying(dice, transport, nonce, PER_CALL);
      const params = {
        name: `${transport}__say`,
        arguments: saying,
        _meta: { progressToken: nonce },
      };
      const { messages } = await speaker.request("tools/call", params, call);
      count(messages);
      for (const fault of faultsOf(messages, call, nonce)) faults.push(`${nonce}: ${fault}`);
    }
  } finally {
    await speaker.close();
  }
  return faults;
}

/** Calls the good server until the attack is over; every answer must be exact and alone. */
async function use(over: Promise<unknown>): Promise<readonly string[]> {
  let isOver = false;
  void over.finally(() => (isOver = true)).catch(() => undefined);
  const faults: string[] = [];
  for (let call = 0; !isOver; call++) {
    const text = `good ${call}`;
    const { messages } = await good.request("tools/call", {
      name: "good__echo",
      arguments: { text },
    });
    const { result } = messages[0] ?? {};
    if (
      messages.length !== 1 ||
      JSON.stringify(result) !== JSON.stringify({ content: [{ type: "text", text }] })
    )
      // prettier-ignore
      faults.push(`${text}: ${JSON.stringify(messages)}`);
    figures["good"]!++;
  }
  return faults;
}

describe.each(TRANSPORTS)(`${MESSAGES} messages of a hostile server over %s`, (transport) => {
  it(
    `reach nobody they are not for, end nothing, and leave the other server alone (seed ${SEED})`,
    { timeout: PATIENCE * (60_000 + MESSAGES * 20) },
    async () => {
      const calls = Math.ceil(MESSAGES / PER_CALL / WORKERS);
      const attacks = Promise.all(
        Array.from({ length: WORKERS }, (_, worker) => attack(transport, worker, calls)),
      );
      const [faults, others] = await Promise.all([attacks, use(attacks)]);
      expect(faults.flat().slice(0, 20)).toEqual([]);
      expect(others.slice(0, 5)).toEqual([]);
      expect(scene.gateway.child.exitCode).toBeNull();
      // The server itself is still served: the last words of a call are regular.
      const words = ['{"jsonrpc":"2.0","id":%ID%,"result":{"content":[]}}'];
      expect(await scene.say(transport, { words })).toMatchObject([{ result: { content: [] } }]);
    },
  );
});
