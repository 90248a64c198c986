import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EndpointContent } from "../../../core/plugin/endpoint-server.ts";
import { FakeServer, postModern, serve, text, type Served } from "./kit.ts";
import { outliving } from "./kept.ts";

/** All of them in `npm run campaign -- names`. */
const HISTORIES = Number(process.env["NAME_HISTORIES"] ?? 15);

/** Names that collide, that look like another server's, and that clients reject. */
const TOOLS = [
  "send",
  "read",
  "one__send",
  "files/read",
  "list_invoices_of_customer_with_line_items_and_taxes_of_the_year",
];
const URIS = ["x://a", "x://b"];
const NAMES = ["one", "two", "one__two", "production-billing"];

type Step = readonly [what: string, which: number, thing: number];
const steps = fc.array(
  fc.tuple(
    fc.constantFrom(
      "add",
      "remove",
      "arrive",
      "fail",
      "gain",
      "lose",
      "rename",
      "reload",
      "restart",
    ),
    fc.nat(NAMES.length - 1),
    fc.nat(TOOLS.length - 1),
  ),
  { minLength: 6, maxLength: 14 },
);
const naming = fc.constantFrom<EndpointContent["config"]["naming"]>(
  "auto",
  "auto",
  "none",
  "server",
);

/** A gateway with servers of which each does what a step says, and what a client was told of them. */
class History {
  readonly #kept = outliving();
  readonly #naming: EndpointContent["config"]["naming"];
  #servers: FakeServer[] = [];
  /** Whose a name was when it was listed. */
  readonly told = new Map<string, string>();
  /** What should not have happened. */
  readonly faults: string[] = [];
  /** What a server has or had, as the gateway may know it. */
  readonly #has = new Map<string, Set<string>>();
  served!: Served;

  constructor(how: EndpointContent["config"]["naming"]) {
    this.#naming = how;
  }

  async start(): Promise<void> {
    const config = { naming: this.#naming };
    this.served = await serve(this.#servers, { store: this.#kept.open(), config });
    this.served.host.current.call = (call) =>
      this.#servers.find(({ name }) => name === call.server)!.request(call);
  }

  async end(): Promise<void> {
    await this.served.close();
    await this.#kept.idle();
  }

  async step([what, which, thing]: Step): Promise<void> {
    const name = NAMES[which]!;
    const server = this.#servers.find((each) => each.name === name);
    if (what === "add" && !server) this.#servers.splice(thing % 3, 0, this.#late(name));
    if (what === "remove") this.#servers = this.#servers.filter((each) => each !== server);
    if (what === "reload") this.#servers = this.#servers.toReversed();
    if (what === "rename" && server) this.#rename(server, NAMES[(which + thing) % NAMES.length]!);
    if (what === "arrive" && server) this.#arrive(server, TOOLS.slice(thing % 3, thing + 1));
    if (what === "gain" && server?.catalogue.hash)
      this.#arrive(server, [...server.catalogue.tools.map((tool) => tool.name), TOOLS[thing]!]);
    if (what === "lose" && server?.catalogue.hash) this.#arrive(server, []);
    if (what === "fail" && server) server.status = { ...server.status, state: "backoff" };
    if (what === "restart") await this.#restart();
    else this.served.endpoint.update(this.served.content(this.#servers));
  }

  #late(name: string): FakeServer {
    const server = new FakeServer(name);
    server.catalogue = { ...server.catalogue, hash: "" };
    server.status = { ...server.status, state: "backoff", reason: "it is late" };
    server.handlers.set("*", () => text(`by ${server.name}`));
    return server;
  }

  #rename(server: FakeServer, name: string): void {
    if (this.#servers.some((each) => each.name === name)) return;
    const renamed = this.#late(name);
    if (server.catalogue.hash)
      this.#arrive(
        renamed,
        server.catalogue.tools.map((tool) => tool.name),
      );
    this.#servers = this.#servers.map((each) => (each === server ? renamed : each));
  }

  #arrive(server: FakeServer, tools: readonly string[]): void {
    const names = [...new Set(tools)];
    server.catalogue = {
      ...server.catalogue,
      tools: names.map((name) => ({ name, inputSchema: { type: "object" } })),
      resources: URIS.slice(0, names.length).map((uri) => ({ uri, name: uri })),
      capabilities: { tools: {}, resources: {} },
      hash: names.join(),
    };
    server.catalogue = { ...server.catalogue, hash: names.join() || "nothing" };
    server.status = { ...server.status, state: "ready" };
    this.#has.set(server.name, new Set([...names, ...URIS.slice(0, names.length)]));
  }

  async #restart(): Promise<void> {
    await this.end();
    this.#servers = this.#servers.map(({ name }) => this.#late(name));
    await this.start();
    await this.#ask("tools/list", {});
  }

  async #ask(method: string, params: Record<string, unknown>) {
    const response = await postModern(this.served.url, 1, method, params);
    return (await response.json()) as {
      result?: { tools?: { name: string }[]; resources?: { uri: string }[] };
      error?: { code: number; data?: { code?: string; servers?: string[] } };
    };
  }

  /** Lists, and calls everything that was ever told: what answers is whose the name was. */
  async check(): Promise<void> {
    const tools = (await this.#ask("tools/list", {})).result?.tools ?? [];
    const resources = (await this.#ask("resources/list", {})).result?.resources ?? [];
    for (const { name } of tools) await this.#use("tools/call", { name }, name);
    for (const { uri } of resources) await this.#use("resources/read", { uri }, uri);
    for (const name of this.told.keys())
      if (name.includes("://")) await this.#use("resources/read", { uri: name }, name);
      else await this.#use("tools/call", { name }, name);
  }

  async #use(method: string, params: Record<string, unknown>, name: string): Promise<void> {
    let ran: string | undefined;
    let own: string | undefined;
    this.served.host.current.call = (call) => {
      [ran, own] = [call.server, call.name];
      return Promise.resolve(text("done"));
    };
    const { error } = await this.#ask(method, params);
    const owner = this.told.get(name);
    if (owner === undefined && ran !== undefined) this.told.set(name, `${ran} ${own}`);
    else if (ran !== undefined && !owner!.startsWith(`${ran} `))
      this.faults.push(`${name} was ${owner}, and is ${ran} ${own}`);
    else if (ran === undefined && !this.#isToldOf(owner!, error?.data))
      this.faults.push(`${name} of ${owner} is refused: ${JSON.stringify(error)}`);
  }

  /** What is of a server that is late says so. */
  #isToldOf(owner: string, data: { code?: string; servers?: string[] } | undefined): boolean {
    const [server, own] = owner.split(/ (.*)/) as [string, string];
    const late = this.#servers.find(({ name, catalogue }) => name === server && !catalogue.hash);
    if (!late || !this.#has.get(server)?.has(own)) return true;
    return data?.code === "unavailable" && data.servers?.includes(server) === true;
  }
}

describe("names", () => {
  it(
    `line 5: in ${HISTORIES} histories of servers that come, go, are late, fail, are renamed, no name means another server`,
    async () => {
      let told = 0;
      await fc.assert(
        fc.asyncProperty(steps, naming, async (history, how) => {
          const run = new History(how);
          await run.start();
          try {
            const first: Step[] = [
              ["add", 0, 0],
              ["add", 1, 1],
              ["arrive", history[0]![1] % 2, 4],
            ];
            for (const step of [...first, ...history]) {
              await run.step(step);
              await run.check();
              expect(run.faults).toEqual([]);
            }
          } finally {
            told += run.told.size;
            await run.end();
          }
        }),
        { numRuns: HISTORIES },
      );
      expect(told).toBeGreaterThan(HISTORIES);
    },
    HISTORIES * 3_000,
  );
});
