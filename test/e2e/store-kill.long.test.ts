import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { startModel } from "../fixtures/model/model.mjs";
import { until } from "../kit/until.ts";
import { GatewayProcess, usePlace, workerOf } from "./gateway-process.ts";
import { PATIENCE } from "../fixtures/ci.ts";

const SERVER = fileURLToPath(new URL("../fixtures/process/scripted-server.mjs", import.meta.url));
const KILLS = Number(process.env["GATEWAY_KILLS"] ?? 2);
/**
 * What history may lose, in milliseconds: two batches and their writing. The campaign, which has the machine to itself, asserts it; beside
 * other tests a disk may take longer for one batch.
 */
const HISTORY_LAG = KILLS > 4 ? 250 : 2_000;
/** Facts of so many lives are looked at behind each kill. */
const LIVES = 3;

const place = usePlace();

/** Tools that are switched off and on in turn. */
const SWITCHES = 8;

type Body = Record<string, unknown>;

/** Something that a client was told. */
interface Fact {
  readonly what: string;
  readonly life: number;
  /** What the gateway says of it now; must be what it said then. */
  readonly look: () => Promise<unknown>;
  readonly told: unknown;
}

/** A client that does everything that is to be remembered, and remembers it too. */
class Witness {
  readonly #url: string;
  life = 0;
  facts: Fact[] = [];
  /** Calls by their id in the arguments, and when their answer came. */
  calls = new Map<string, number>();
  readonly switchedOff = new Map<string, boolean>();
  switching: string | undefined;
  done = 0;

  constructor(url: string) {
    this.#url = url;
  }

  /** Rejects when the gateway is gone. */
  async request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; body: Body; headers: Headers }> {
    const response = await fetch(this.#url + path, {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: text === "" ? {} : (JSON.parse(text) as Body),
      headers: response.headers,
    };
  }

  /** One thing of each kind, again and again, until the gateway is gone. */
  async work(): Promise<void> {
    const kinds = [
      () => this.#task("echo"),
      () => this.#task("ask"),
      () => this.#agent(),
      () => this.#job(),
      () => this.#call(),
    ];
    const loops: Promise<void>[] = kinds.map(async (kind) => {
      for (;;) {
        await kind();
        this.done++;
      }
    });
    loops.push(this.#switches());
    await Promise.allSettled(loops);
  }

  #learn(what: string, told: unknown, look: () => Promise<unknown>): void {
    this.facts.push({ what, told, look, life: this.life });
  }

  async #task(skill: "echo" | "ask"): Promise<void> {
    const taskId = randomUUID();
    const message = {
      messageId: randomUUID(),
      taskId,
      role: "user",
      parts: [{ text: `for ${taskId}` }],
    };
    const told = await this.request("POST", "/a2a", { message, metadata: { skill } });
    if (told.status !== 200) throw new Error(JSON.stringify(told));
    // The same message again starts nothing and meets the task that is there.
    this.#learn(
      `${skill} task`,
      told.body,
      async () => (await this.request("POST", "/a2a", { message, metadata: { skill } })).body,
    );
  }

  async #agent(): Promise<void> {
    const made = await this.request(
      "POST",
      "/api/agents",
      { contract: "work", start: true },
      { "idempotency-key": randomUUID() },
    );
    if (made.status !== 201) throw new Error(JSON.stringify(made));
    const id = String(made.body["agent_id"]);
    const payload = `payload of ${id} `.repeat(200);
    const done = await this.request("POST", `/api/agents/${id}/complete`, {
      summary: `done ${id}`,
      payload,
    });
    if (done.status !== 200) throw new Error(JSON.stringify(done));
    const look = async (): Promise<unknown> => {
      const { body } = await this.request("GET", `/api/agents/${id}`);
      const response = await fetch(`${this.#url}/api/agents/${id}/payload`);
      return [body["status"], body["summary"], (await response.text()) === payload];
    };
    this.#learn("agent", ["completed", `done ${id}`, true], look);
  }

  async #job(): Promise<void> {
    const text = randomUUID();
    const made = await this.request("POST", "/child/echo", { text }, { prefer: "respond-async" });
    if (made.status !== 202) throw new Error(JSON.stringify(made));
    const path = made.headers.get("location")!;
    const ended = await until(async () => {
      const { body } = await this.request("GET", path);
      return (body["job"] as Body)["status"] === "done" && body;
    });
    this.#learn("job", ended, async () => (await this.request("GET", path)).body);
  }

  async #call(): Promise<void> {
    const text = randomUUID();
    const { status } = await this.request("POST", "/child/echo", { text });
    if (status !== 200) throw new Error(String(status));
    this.calls.set(text, Date.now());
  }

  async #switches(): Promise<void> {
    for (let at = 0; ; at = (at + 1) % SWITCHES) {
      const tool = `tool-${at}`;
      const isOff = this.switchedOff.get(tool) ?? false;
      this.switching = tool;
      const verb = isOff ? "enable" : "disable";
      const { status } = await this.request("POST", `/_meta/servers/child/tools/${tool}/${verb}`);
      if (status !== 200) throw new Error(String(status));
      this.switchedOff.set(tool, !isOff);
      this.switching = undefined;
    }
  }

  /** What the gateway of now does not know of what the one of before had said. */
  async missing(killedAt: number): Promise<string[]> {
    const wrong: string[] = [];
    for (const { what, told, look } of this.facts) {
      const now = await look();
      if (!isDeepStrictEqual(now, told))
        wrong.push(`${what}: ${JSON.stringify(now).slice(0, 200)}`);
    }
    const remembered = await this.#history();
    for (const [text, at] of this.calls)
      if (at < killedAt - HISTORY_LAG && !remembered.includes(text))
        wrong.push(`call ${text}, ${killedAt - at} ms old`);
    return [...wrong, ...(await this.#wrongSwitches())];
  }

  async #history(): Promise<string> {
    const response = await fetch(`${this.#url}/_meta/history/export?tool=echo`);
    return response.text();
  }

  /** One switch was under way when the gateway died, and may have been made or not. */
  async #wrongSwitches(): Promise<string[]> {
    const wrong: string[] = [];
    for (const [tool, told] of this.switchedOff) {
      const isOff = (await this.request("POST", `/child/${tool}`, {})).status === 403;
      if (isOff !== told && tool !== this.switching)
        wrong.push(`${tool}: off ${isOff}, told ${told}`);
      this.switchedOff.set(tool, isOff);
    }
    return wrong;
  }

  /** Forgets what was looked at often enough. */
  next(): void {
    this.life++;
    this.facts = this.facts.filter(({ life }) => life > this.life - LIVES);
    this.calls.clear();
  }
}

it(
  `a gateway knows what it said, over ${KILLS} kill -9 under load`,
  { timeout: PATIENCE * (60_000 + KILLS * 20_000) },
  async () => {
    const model = await startModel({ script: () => ({ text: "Working.", delay: 60_000 }) });
    onTestFinished(() => model.close());
    await writeFile(
      join(place.folder, "ask.mjs"),
      'export default { run: (task) => task.ask("Which one?") };\n',
    );
    const gateway = await GatewayProcess.create(place, (port) => configOf(port, model.url));
    const witness = new Witness(gateway.url);
    for (let kill = 0; kill < KILLS; kill++) {
      await gateway.begin("/health");
      const before = witness.done;
      const working = witness.work();
      await until(() => witness.done - before > 60 + ((kill * 17) % 40), 30_000);
      const killedAt = Date.now();
      await gateway.kill();
      await working;
      await gateway.begin("/health");
      expect(await witness.missing(killedAt)).toEqual([]);
      await gateway.kill();
      witness.next();
    }
    process.stdout.write(`${witness.done} things said over ${KILLS} kills\n`);
  },
);

function configOf(port: number, model: string): object {
  return {
    store: "sqlite:./data/gateway.db",
    listeners: { main: { port } },
    management: { mutations: true },
    servers: { child: { command: process.execPath, args: [SERVER, "--tools", String(SWITCHES)] } },
    plugins: {
      agents: workerOf(model),
      a2a: {
        listener: "main",
        path: "/a2a",
        skills: [
          { id: "echo", tool: { server: "child", name: "echo", argument: "text" } },
          { id: "ask", function: "./ask.mjs" },
        ],
      },
      lifecycle: { concurrency: 1_000, maxWaiting: 1_000 },
      payloads: {},
      openapi: {},
      admin: {},
      gating: {},
      history: { maxEntries: 100_000, arguments: "full" },
    },
  };
}
