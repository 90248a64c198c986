import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as modernSdk from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { onTestFinished } from "vitest";
import { Browser } from "../../fixtures/browser.ts";
import { makeFolder } from "../../kit/folder.ts";
import { until } from "../../kit/until.ts";
import { newBrowser, Person, REDIRECT, visit } from "./kit.ts";

/** What a client keeps of a login. */
export interface SavedLogin {
  readonly client_id: string;
  readonly access_token: string;
  readonly refresh_token?: string | undefined;
}

/** How a client is started. */
export interface ClientStart {
  readonly endpoint: string;
  /** URL of its metadata document; without it registers. */
  readonly document?: string | undefined;
  /** A login that it has already, with the scope `look`. */
  readonly before?: SavedLogin;
}

/** A client that somebody else wrote, with its person and a browser. */
export interface OfficialClient {
  /** Where its person was sent to, in order. */
  readonly asked: readonly URL[];
  /** Where the last of them came back to. */
  readonly answer: URL;
  saved(): SavedLogin;
  /** Lets time pass for it, where it looks at the clock by itself. */
  later(ms: number): void;
  /** Text of a tool's result. @throws what it says of an error */
  call(tool: string): Promise<string>;
  /** The same when its login is over: its person logs in anew. */
  callAnew(tool: string): Promise<string>;
}

/** A kind of client. */
export interface ClientKind {
  readonly name: string;
  /** Why it cannot run here. */
  readonly missing?: () => Promise<string | undefined>;
  /** Calls that it can begin at once with a token that is over; default 2. */
  readonly atOnce?: number;
  readonly start: (start: ClientStart) => Promise<OfficialClient>;
}

interface SdkClient {
  callTool(params: { name: string }): Promise<unknown>;
  close(): Promise<void>;
}
interface Attempt {
  readonly client: SdkClient;
  readonly connect: () => Promise<void>;
  readonly finish: (person: Person) => Promise<void>;
}
type MakeAttempt = (endpoint: string, person: Person) => Attempt;

const legacy: MakeAttempt = (endpoint, person) => {
  const transport = new StreamableHTTPClientTransport(new URL(endpoint), { authProvider: person });
  const client = new Client({ name: "legacy", version: "1" });
  return {
    client,
    connect: () => client.connect(transport),
    finish: ({ code }) => transport.finishAuth(code),
  };
};

const modern: MakeAttempt = (endpoint, person) => {
  const transport = new modernSdk.StreamableHTTPClientTransport(new URL(endpoint), {
    authProvider: person as unknown as modernSdk.OAuthClientProvider,
  });
  const client = new modernSdk.Client(
    { name: "modern", version: "1" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  return {
    client,
    connect: () => client.connect(transport),
    // With the whole answer it checks iss too (RFC 9207).
    finish: ({ answer }) => transport.finishAuth(answer!.searchParams),
  };
};

const textOf = (result: unknown): string =>
  (result as { content: [{ text: string }] }).content[0].text;

/** A program that was written with an SDK for TypeScript. */
class SdkProgram implements OfficialClient {
  readonly #make: MakeAttempt;
  readonly #endpoint: string;
  readonly #person: Person;
  #client!: SdkClient;

  constructor(make: MakeAttempt, { endpoint, document, before }: ClientStart) {
    this.#make = make;
    this.#endpoint = endpoint;
    this.#person = new Person(document === undefined ? {} : { document });
    if (!before) return;
    this.#person.client = { client_id: before.client_id };
    this.#person.saved = { token_type: "Bearer", access_token: before.access_token };
  }

  /** The first attempt is refused, the browser comes back with a code, the second gets in. */
  async login(): Promise<void> {
    const first = this.#make(this.#endpoint, this.#person);
    await assert.rejects(first.connect(), /unauthorized/i);
    await first.finish(this.#person);
    const second = this.#make(this.#endpoint, this.#person);
    await second.connect();
    onTestFinished(() => second.client.close());
    this.#client = second.client;
  }

  get asked(): readonly URL[] {
    return this.#person.asked;
  }
  get answer(): URL {
    return this.#person.answer!;
  }
  saved(): SavedLogin {
    const { client, saved } = this.#person;
    return { ...saved!, client_id: client!.client_id };
  }
  /** It waits for a 401. */
  later(): void {}
  async call(tool: string): Promise<string> {
    return textOf(await this.#client.callTool({ name: tool }));
  }
  async callAnew(tool: string): Promise<string> {
    const before = this.asked.length;
    await assert.rejects(this.call(tool), /login is over|unauthorized/i);
    assert.equal(this.asked.length, before);
    this.#person.saved = undefined;
    await this.login();
    return this.call(tool);
  }
}

const startSdk =
  (make: MakeAttempt): ClientKind["start"] =>
  async (start) => {
    const program = new SdkProgram(make, start);
    await program.login();
    return program;
  };

/** What {@link PythonProgram} is told. */
interface Told {
  readonly open?: string;
  readonly ready?: true;
  readonly tokens?: Omit<SavedLogin, "client_id">;
  readonly client?: string;
  readonly number?: number;
  readonly text?: string;
  readonly error?: string;
}

const PYTHON = process.env["PYTHON"] ?? "python3";
const PYTHON_CLIENT = fileURLToPath(new URL("python-client.py", import.meta.url));

/** A process with the SDK for Python. */
class PythonProgram implements OfficialClient {
  readonly asked: URL[] = [];
  answer!: URL;
  readonly #child;
  readonly #browser = newBrowser();
  readonly #calls = new Map<number, (told: Told) => void>();
  #errors = "";
  #ended: Promise<never>;
  #onReady = (): void => {};
  #saved: Partial<SavedLogin>;
  #count = 0;

  constructor({ endpoint, document, before }: ClientStart) {
    this.#saved = { ...before };
    const settings = {
      endpoint,
      redirect: REDIRECT,
      ...(document !== undefined && { document }),
      ...(before && {
        before: {
          access_token: before.access_token,
          scope: "look",
          client: { client_id: before.client_id, redirect_uris: [REDIRECT] },
        },
      }),
    };
    this.#child = spawn(PYTHON, [PYTHON_CLIENT, JSON.stringify(settings)]);
    onTestFinished(() => void this.#child.kill());
    this.#child.stderr.on("data", (chunk: Buffer) => (this.#errors += chunk.toString()));
    createInterface(this.#child.stdout).on("line", (line) => this.#take(JSON.parse(line) as Told));
    this.#ended = once(this.#child, "close").then(() => {
      throw new Error(this.#errors);
    });
    this.#ended.catch(() => undefined);
  }

  /** Resolves when it has a session. */
  ready(): Promise<void> {
    const ready = new Promise<void>((resolve) => (this.#onReady = resolve));
    return Promise.race([ready, this.#ended]);
  }

  saved(): SavedLogin {
    return this.#saved as SavedLogin;
  }
  later(ms: number): void {
    this.#send({ later: ms / 1_000 });
  }
  async call(tool: string): Promise<string> {
    const number = ++this.#count;
    const answer = new Promise<Told>((resolve) => this.#calls.set(number, resolve));
    this.#send({ call: tool, number });
    const told = await Promise.race([answer, this.#ended]);
    if (told.text === undefined) throw new Error(told.error);
    return told.text;
  }
  /** It sends its person to the browser by itself; what has ended with the login is its session. */
  async callAnew(tool: string): Promise<string> {
    await assert.rejects(this.call(tool), /Session terminated/);
    const ready = this.ready();
    this.#send({ anew: true });
    await ready;
    return this.call(tool);
  }

  #take({ open, tokens, client, number, ready, ...told }: Told): void {
    if (ready) this.#onReady();
    if (open !== undefined) void this.#visit(open);
    if (tokens) this.#saved = { ...this.#saved, ...tokens };
    if (client !== undefined) this.#saved = { ...this.#saved, client_id: client };
    if (number !== undefined) this.#calls.get(number)!(told);
  }
  async #visit(url: string): Promise<void> {
    this.asked.push(new URL(url));
    const end = await visit(this.#browser, url);
    if (end instanceof URL) this.answer = end;
    this.#send({ visited: end instanceof URL ? end.href : end.text });
  }
  #send(command: object): void {
    this.#child.stdin.write(`${JSON.stringify(command)}\n`);
  }
}

const MCP_REMOTE = fileURLToPath(
  new URL("../../../node_modules/mcp-remote/dist/proxy.js", import.meta.url),
);

/** `mcp-remote`, for clients that only start programs. */
class McpRemote implements OfficialClient {
  readonly asked: URL[] = [];
  answer!: URL;
  /** How many of {@link asked} came to an end. */
  #logins = 0;
  readonly #start: ClientStart;
  readonly #folder = makeFolder();
  /** Where its files begin. */
  readonly #files: string;
  #client!: Client;
  #transport!: StdioClientTransport;

  constructor(start: ClientStart) {
    this.#start = start;
    const { endpoint, document, before } = start;
    const parts = document === undefined ? endpoint : `${endpoint}|${document}`;
    const name = createHash("md5").update(parts).digest("hex");
    this.#files = join(this.#folder, "mcp-remote-v1", name);
    if (before) this.#save(before);
  }

  async start(): Promise<void> {
    const { endpoint, document } = this.#start;
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [
        MCP_REMOTE,
        endpoint,
        "--transport",
        "http-only",
        ...(document === undefined ? [] : ["--client-metadata-url", document]),
      ],
      // No browser of this machine opens.
      env: { PATH: this.#folder, HOME: this.#folder, MCP_REMOTE_CONFIG_DIR: this.#folder },
      stderr: "pipe",
    });
    const client = new Client({ name: "test", version: "1" });
    let told = "";
    let seen = 0;
    transport.stderr!.on("data", (chunk: Buffer) => {
      told += chunk.toString();
      const urls = told.match(/https?:\/\/\S+\/oauth\/authorize\?\S+(?=\s)/g) ?? [];
      for (const url of urls.slice(seen)) if (this.#transport === transport) void this.#visit(url);
      seen = urls.length;
    });
    this.#transport = transport;
    this.#client = client;
    onTestFinished(() => client.close());
    await client.connect(transport).catch((error: unknown) => {
      throw new Error(told, { cause: error });
    });
  }

  saved(): SavedLogin {
    const { document } = this.#start;
    const read = (name: string): object =>
      JSON.parse(readFileSync(`${this.#files}_${name}`, "utf8")) as object;
    const client = document === undefined ? read("client_info.json") : {};
    return { client_id: document, ...client, ...read("tokens.json") } as SavedLogin;
  }
  /** It waits for a 401, too. */
  later(): void {}
  async call(tool: string): Promise<string> {
    return textOf(await this.#client.callTool({ name: tool }));
  }
  /**
   * It is started anew. A second after its stream was ended it asks for it again, and begins a login; one that a call begins
   * meanwhile overwrites the verifier of that, and neither comes to an end.
   */
  async callAnew(tool: string): Promise<string> {
    process.kill(this.#transport.pid!, "SIGKILL");
    this.asked.splice(this.#logins);
    await this.start();
    return this.call(tool);
  }

  async #visit(url: string): Promise<void> {
    const { origin } = new URL(url);
    const transport = this.#transport;
    this.asked.push(new URL(url));
    const end = await visit(new Browser((next) => isAnswer(next, origin)), url);
    if (!(end instanceof URL)) throw new Error(end.text);
    // It listens a moment after it has said where to go; no person is that fast.
    const reach = (): Promise<boolean> =>
      fetch(end)
        .then(({ ok }) => ok)
        .catch(() => false);
    await until(async () => this.#transport !== transport || (await reach()));
    if (this.#transport !== transport) return;
    this.#logins++;
    this.answer = end;
  }
  #save({ client_id, access_token }: SavedLogin): void {
    const tokens = { access_token, token_type: "Bearer", expires_in: 3_600, scope: "look" };
    const client = { client_id, redirect_uris: [REDIRECT] };
    mkdirSync(join(this.#folder, "mcp-remote-v1"));
    writeFileSync(`${this.#files}_tokens.json`, JSON.stringify(tokens));
    if (this.#start.document === undefined)
      writeFileSync(`${this.#files}_client_info.json`, JSON.stringify(client));
  }
}

/** Whether a URL is that of a program which listens on this machine, and not of the gateway. */
function isAnswer({ origin, pathname, searchParams }: URL, gateway: string): boolean {
  return pathname === "/oauth/callback" && origin !== gateway && searchParams.has("state");
}

/** The clients of the field. */
export const OFFICIAL_CLIENTS: readonly ClientKind[] = [
  { name: "SDK 1.x, 2025-11-25", start: startSdk(legacy) },
  { name: "SDK 2.x, 2026-07-28", start: startSdk(modern) },
  {
    name: "the Python SDK",
    missing: () =>
      promisify(execFile)(PYTHON, ["-c", "import mcp.client.auth"]).then(
        () => undefined,
        () => "the Python package mcp",
      ),
    start: async (start) => {
      const program = new PythonProgram(start);
      await program.ready();
      return program;
    },
  },
  {
    name: "mcp-remote",
    // It sometimes opens its browser although both of its refreshes were answered.
    atOnce: 1,
    start: async (start) => {
      const program = new McpRemote(start);
      await program.start();
      return program;
    },
  },
];
