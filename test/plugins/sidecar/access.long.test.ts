import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { nkeys } from "@nats-io/transport-node";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Task } from "propylon/contract";
import { freePort } from "../../../core/testing/index.ts";
import { makeAuthority, makeCertificate, type Certificate } from "../../fixtures/certificate.ts";
import { startNats } from "../../fixtures/nats/nats.mjs";
import type { NatsServer } from "../../fixtures/nats/types.ts";
import { makeFolder } from "../../kit/folder.ts";
import { completed, startRuntime, startSidecar, statusOf, until, user } from "./kit.ts";
import { requireProgram } from "../../fixtures/programs.ts";

const PASSWORD = "canary-9b1f";
const WRONG = "canary-0c2e";

/** What a worker may do and no more, as the page of the plugin lists it. */
const WORKER = `permissions: {
  publish: [
    "$JS.API.STREAM.INFO.AGENT_TASKS", "$JS.API.STREAM.INFO.AGENT_RESULTS", "$JS.API.STREAM.INFO.AGENT_DEAD"
    "$JS.API.CONSUMER.INFO.AGENT_TASKS.coder", "$JS.API.CONSUMER.MSG.NEXT.AGENT_TASKS.coder"
    "$JS.API.STREAM.MSG.GET.AGENT_RESULTS", "$JS.API.STREAM.MSG.DELETE.AGENT_RESULTS"
    "$JS.ACK.AGENT_TASKS.coder.>", "agent.tasks.coder", "agent.results.*", "agent.status.*", "agent.dead.coder"
  ]
  subscribe: ["_INBOX.>", "agent.results.*", "agent.status.*"]
}`;

let folder = "";
const file = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = makeFolder();
  const [ca, other] = [makeAuthority({ name: "ca" }), makeAuthority({ name: "other-ca" })];
  await Promise.all([
    save("ca", ca),
    save("other-ca", other),
    save("server", makeCertificate({ name: "server", hosts: ["localhost", "127.0.0.1"] }, ca)),
    save("elsewhere", makeCertificate({ name: "elsewhere", hosts: ["elsewhere.example"] }, ca)),
    save("client", makeCertificate({ name: "client", hosts: ["client"] }, ca)),
    save("stranger", makeCertificate({ name: "stranger", hosts: ["stranger"] }, other)),
  ]);
});

async function save(name: string, { cert, key }: Certificate): Promise<void> {
  await writeFile(file(`${name}.pem`), cert);
  await writeFile(file(`${name}.key`), key);
}

async function serve(config: string): Promise<NatsServer> {
  requireProgram("nats-server");
  const server = await startNats(await freePort(), config);
  onTestFinished(() => server.stop());
  return server;
}

/** A sidecar and all that it ever says. */
async function start(nats: object, options: object = {}) {
  const runtime = await startRuntime();
  const sidecar = await startSidecar({
    name: "coder",
    runtime: { url: runtime.url },
    nats,
    backoff: { initial: "10ms", max: "20ms" },
    ...options,
  });
  return { ...sidecar, runtime };
}

type Started = Awaited<ReturnType<typeof start>>;

/** The result of a task that is handed in. */
async function works({ queue, url }: Started, id = "t"): Promise<Task | undefined> {
  await until(async () => (await statusOf(url)).state === "ready", 20_000);
  await queue.submit(user("a", { taskId: id }));
  return (await queue.result(id, { wait: 10_000 }))?.task;
}

/** What it says of itself as soon as that has these words in it, and no secret. */
async function saying({ url }: Started, words: string): Promise<string> {
  const found = await until(async () => {
    const now = await statusOf(url);
    return now.reason?.includes(words) && now;
  }, 20_000);
  expect(JSON.stringify(found)).not.toMatch(/canary|SUA|eyJ/);
  expect(JSON.stringify(found)).not.toContain(folder);
  return found.state;
}

const users = (...lines: string[]): string => `authorization { users: [ ${lines.join(", ")} ] }`;
const ADMIN = `{ user: admin, password: "${PASSWORD}" }`;
const REFUSED = "NATS refuses the credentials (Authorization Violation).";

describe("who we are", () => {
  it("is a user with a password, in options or in the address", async () => {
    const { url, port } = await serve(users(ADMIN));
    expect(await works(await start({ url, user: "admin", password: PASSWORD }))).toEqual(
      completed("t"),
    );
    const address = `nats://admin:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`;
    const sidecar = await start({ url: address });
    expect(await works(sidecar, "u")).toEqual(completed("u"));
    expect(JSON.stringify(await statusOf(sidecar.url))).not.toContain("canary");
  });

  it.each([
    ["another password", { user: "admin", password: WRONG }],
    ["nobody", {}],
    ["a token that no one wants", { token: WRONG }],
  ])("is refused as %s", async (_, nats) => {
    const { url } = await serve(users(ADMIN));
    expect(await saying(await start({ url, ...nats }), REFUSED)).toBe("failed");
  });

  it("is a token", async () => {
    const { url, port } = await serve(`authorization { token: "${PASSWORD}" }`);
    expect(await works(await start({ url, token: PASSWORD }))).toEqual(completed("t"));
    expect(await works(await start({ url: `nats://${PASSWORD}@127.0.0.1:${port}` }), "u")).toEqual(
      completed("u"),
    );
    expect(await saying(await start({ url, token: WRONG }), REFUSED)).toBe("failed");
  });

  it("is an nkey", async () => {
    const [known, other] = [nkeys.createUser(), nkeys.createUser()];
    const { url } = await serve(users(`{ nkey: ${known.getPublicKey()} }`));
    await writeFile(file("known.nk"), `${new TextDecoder().decode(known.getSeed())}\n`);
    await writeFile(file("other.nk"), other.getSeed());
    await writeFile(file("none.nk"), "SUAnope");
    expect(await works(await start({ url, nkey: file("known.nk") }))).toEqual(completed("t"));
    expect(await saying(await start({ url, nkey: file("other.nk") }), REFUSED)).toBe("failed");
    expect(
      await saying(
        await start({ url, nkey: file("none.nk") }),
        "does not have the expected content",
      ),
    ).toBe("failed");
    expect(
      await saying(await start({ url, nkey: file("absent.nk") }), "cannot be read (ENOENT)"),
    ).toBe("failed");
  });

  it("is a file of credentials", async () => {
    const operator = operate();
    const { url } = await serve(operator.config);
    await writeFile(file("user.creds"), operator.credentials());
    await writeFile(file("stranger.creds"), operate().credentials());
    await writeFile(file("none.creds"), "hello");
    expect(await works(await start({ url, credentials: file("user.creds") }))).toEqual(
      completed("t"),
    );
    expect(await saying(await start({ url, credentials: file("stranger.creds") }), REFUSED)).toBe(
      "failed",
    );
    expect(
      await saying(
        await start({ url, credentials: file("none.creds") }),
        "does not have the expected content",
      ),
    ).toBe("failed");
  });

  it.each([
    [{ token: "a", credentials: "b" }, "2 kinds of credentials"],
    [{ user: "a" }, "needs a password"],
    [{ tls: { cert: "a.pem" } }, "go together"],
    [{ url: "ws://127.0.0.1:9" }, "looks like nats://host:4222"],
    [{ url: "nats://%zz:a@127.0.0.1" }, "not percent-encoded"],
  ])("is said once and whole: not %j", async (nats, words) => {
    await expect(start({ url: "nats://127.0.0.1:9", ...nats })).rejects.toThrow(words);
  });
});

describe("what changes while it is connected", () => {
  it("waits with the reason when the password is another one, and goes on with the old one back", async () => {
    const server = await serve(users(ADMIN));
    const sidecar = await start({ url: server.url, user: "admin", password: PASSWORD });
    expect(await works(sidecar)).toEqual(completed("t"));
    server.configure(users(`{ user: admin, password: "${WRONG}" }`));
    expect(await saying(sidecar, REFUSED)).toBe("waiting");
    // Not by a signal: one that replaces accounts takes JetStream from them in nats-server 2.9.
    await server.kill("SIGTERM");
    server.configure(users(ADMIN));
    await server.start();
    expect(await works(sidecar, "u")).toEqual(completed("u"));
  });

  it("takes credentials from their file anew", async () => {
    const [before, after] = [operate(), operate()];
    const server = await serve(before.config);
    await writeFile(file("rotated.creds"), before.credentials());
    const sidecar = await start({ url: server.url, credentials: file("rotated.creds") });
    expect(await works(sidecar)).toEqual(completed("t"));
    await server.kill();
    server.configure(after.config);
    await writeFile(file("rotated.creds"), after.credentials());
    await server.start();
    // The account is another one, so the queue is made anew.
    expect(await works(sidecar, "u")).toEqual(completed("u"));
  });

  it("takes certificates from their files anew", async () => {
    const config = (ca: string): string => `tls {
      cert_file: "${file("server.pem")}", key_file: "${file("server.key")}", ca_file: "${file(ca)}", verify: true
    }`;
    const install = async (name: string): Promise<void> => {
      await copyFile(file(`${name}.pem`), file("mine.pem"));
      await copyFile(file(`${name}.key`), file("mine.key"));
    };
    const server = await serve(config("ca.pem"));
    await install("client");
    const tls = { ca: file("ca.pem"), cert: file("mine.pem"), key: file("mine.key") };
    const sidecar = await start({ url: server.url, tls });
    expect(await works(sidecar)).toEqual(completed("t"));
    await server.kill();
    server.configure(config("other-ca.pem"));
    await install("stranger");
    await server.start();
    expect(await works(sidecar, "u")).toEqual(completed("u"));
  });
});

describe("TLS", () => {
  const tlsOf = (name: string, more = ""): string =>
    `tls { cert_file: "${file(`${name}.pem`)}", key_file: "${file(`${name}.key`)}" ${more} }`;

  it("trusts the authority that it is given, and no other", async () => {
    const { url, port } = await serve(tlsOf("server"));
    expect(await works(await start({ url, tls: { ca: file("ca.pem") } }))).toEqual(completed("t"));
    expect(
      await saying(
        await start({ url, tls: { ca: file("other-ca.pem") } }),
        "is not trusted (UNABLE_",
      ),
    ).toBe("failed");
    expect(
      await saying(await start({ url: `tls://localhost:${port}` }), "is not trusted (UNABLE_"),
    ).toBe("failed");
    expect(
      await saying(
        await start({ url, tls: { ca: file("absent.pem") } }),
        "cannot be read (ENOENT)",
      ),
    ).toBe("failed");
  });

  it("wants the server's name in its certificate", async () => {
    const { url } = await serve(tlsOf("elsewhere"));
    const sidecar = await start({ url, tls: { ca: file("ca.pem") } });
    expect(await saying(sidecar, "is not trusted (ERR_TLS_CERT_ALTNAME_INVALID)")).toBe("failed");
  });

  it.each([
    ["by tls://", (port: number) => ({ url: `tls://127.0.0.1:${port}` })],
    [
      "by a certificate",
      (port: number) => ({ url: `nats://127.0.0.1:${port}`, tls: { ca: file("ca.pem") } }),
    ],
  ])("is not left out where it is demanded %s", async (_, of) => {
    const server = await serve(users(ADMIN));
    const nats = { ...of(server.port), user: "admin", password: PASSWORD };
    expect(await saying(await start(nats), "NATS does not offer TLS there")).toBe("failed");
    expect(server.log).not.toContain("canary");
  });

  it("shows our certificate to a server that wants one", async () => {
    const { url } = await serve(tlsOf("server", `, ca_file: "${file("ca.pem")}", verify: true`));
    const ca = file("ca.pem");
    const pair = (name: string, key = name) => ({
      ca,
      cert: file(`${name}.pem`),
      key: file(`${key}.key`),
    });
    expect(await works(await start({ url, tls: pair("client") }))).toEqual(completed("t"));
    const both = await Promise.all([
      start({ url, tls: { ca } }),
      start({ url, tls: pair("stranger") }),
      start({ url, tls: pair("client", "stranger") }),
    ]);
    expect(await saying(both[0], "NATS cannot be reached: timeout.")).toBe("starting");
    expect(await saying(both[1], "NATS cannot be reached: timeout.")).toBe("starting");
    expect(await saying(both[2], "cannot be used (ERR_OSSL_X509_KEY_VALUES_MISMATCH)")).toBe(
      "failed",
    );
  });
});

describe("what we may do", () => {
  /** A server whose streams are there, and a user of it who may do so much. */
  async function limited(permissions: string) {
    const server = await serve(
      users(ADMIN, `{ user: worker, password: "${PASSWORD}", ${permissions} }`),
    );
    const first = await start({ url: server.url, user: "admin", password: PASSWORD });
    expect(await works(first, "first")).toEqual(completed("first"));
    await first.gateway.close();
    return start({ url: server.url, user: "worker", password: PASSWORD, provision: "verify" });
  }

  it("is no more than the page lists, where it makes its streams itself, too", async () => {
    const creates = `"$JS.API.STREAM.CREATE.*", "$JS.API.CONSUMER.CREATE.AGENT_TASKS.coder.>"`;
    const may = WORKER.replace("publish: [", `publish: [ ${creates}, `);
    const { url } = await serve(users(`{ user: worker, password: "${PASSWORD}", ${may} }`));
    const sidecar = await start({ url, user: "worker", password: PASSWORD });
    expect(await works(sidecar)).toEqual(completed("t"));
  });

  it("is no more than the page lists", async () => {
    expect(await works(await limited(WORKER))).toEqual(completed("t"));
  });

  it.each([
    ["$JS.API.STREAM.INFO.AGENT_TASKS", "publish to $JS.API.STREAM.INFO.AGENT_TASKS"],
    ["$JS.API.CONSUMER.MSG.NEXT.>", "publish to $JS.API.CONSUMER.MSG.NEXT.AGENT_TASKS.coder"],
    ["agent.results.>", "publish to agent.results.~"],
    ["agent.dead.>", "publish to agent.dead.coder"],
  ])("is named when %s is missing, before a task is run", async (subject, words) => {
    const sidecar = await limited(`permissions: { publish: { deny: ["${subject}"] } }`);
    await sidecar.queue.submit(user("a", { taskId: "t" })).catch(() => {});
    expect(await saying(sidecar, `The user of NATS may not ${words}.`)).toBe("failed");
    expect(sidecar.runtime.tasks).toEqual([]);
  });

  it("is named when answers are missing", async () => {
    const sidecar = await limited(`permissions: { subscribe: { deny: ["_INBOX.>"] } }`);
    expect(await saying(sidecar, "The user of NATS may not subscribe to _INBOX.")).toBe("failed");
  });

  it("is named when acks are missing", async () => {
    const sidecar = await limited(`permissions: { publish: { deny: ["$JS.ACK.>"] } }`);
    await until(async () => (await statusOf(sidecar.url)).state === "ready");
    await sidecar.queue.submit(user("a", { taskId: "t" }));
    expect(
      await saying(sidecar, "The user of NATS may not publish to $JS.ACK.AGENT_TASKS.coder."),
    ).toBe("failed");
  });
});

it("says that JetStream is not enabled", async () => {
  const { url } = await serve(`
    accounts { PLAIN { users: [ { user: a, password: "${PASSWORD}" } ] } }
  `);
  const sidecar = await start({ url, user: "a", password: PASSWORD });
  expect(
    await saying(sidecar, "JetStream is not enabled in this nats-server, or not for this account."),
  ).toBe("starting");
});

/** An operator with one account, as nsc makes them: JWTs signed by nkeys, and the account in the server's memory. */
function operate(): { readonly config: string; readonly credentials: () => string } {
  const [operator, account, system] = [
    nkeys.createOperator(),
    nkeys.createAccount(),
    nkeys.createAccount(),
  ];
  const unlimited = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1, subs: -1 };
  const limits = {
    ...unlimited,
    conn: -1,
    leaf: -1,
    imports: -1,
    exports: -1,
    data: -1,
    payload: -1,
    wildcards: true,
  };
  const jwtOf = (key: nkeys.KeyPair, claims: object): string =>
    sign(operator, key.getPublicKey(), { version: 2, ...claims });
  const {
    mem_storage: _memory,
    disk_storage: _disk,
    streams: _streams,
    consumer: _consumer,
    ...plain
  } = limits;
  const accounts = [
    [account, { type: "account", limits }],
    [system, { type: "account", limits: plain }],
  ] as const;
  return {
    config: `operator: ${jwtOf(operator, { type: "operator" })}
      resolver: MEMORY
      system_account: ${system.getPublicKey()}
      resolver_preload: {
        ${accounts.map(([key, claims]) => `${key.getPublicKey()}: ${jwtOf(key, claims)}`).join("\n")}
      }`,
    credentials() {
      const person = nkeys.createUser();
      const claims = {
        type: "user",
        version: 2,
        subs: -1,
        data: -1,
        payload: -1,
        pub: {},
        sub: {},
      };
      const jwt = sign(account, person.getPublicKey(), claims);
      const seed = new TextDecoder().decode(person.getSeed());
      const block = (name: string, text: string): string =>
        `-----BEGIN ${name}-----\n${text}\n------END ${name}------\n`;
      return `${block("NATS USER JWT", jwt)}\n${block("USER NKEY SEED", seed)}`;
    },
  };
}

function sign(by: nkeys.KeyPair, subject: string, nats: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = {
    jti: subject,
    iat: Math.floor(Date.now() / 1_000),
    iss: by.getPublicKey(),
    sub: subject,
    nats,
  };
  const text = `${part({ typ: "JWT", alg: "ed25519-nkey" })}.${part(claims)}`;
  return `${text}.${Buffer.from(by.sign(Buffer.from(text))).toString("base64url")}`;
}
