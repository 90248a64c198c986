import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { configOf, digest, SECRET_KEY, seed } from "../team.mjs";
import { startTokenIssuer } from "../tokens.mjs";

const TOKENS = 100_000;
const TEAMS = 10_000;
const WORKSPACES = 1_000;
const BATCH = 1_000;

/** What a call costs by who makes it, over one with a key of the config; and what many tokens and teams cost. */
export async function auth(bench) {
  const folder = mkdtempSync(join(tmpdir(), "propylon-bench-"));
  try {
    const store = `sqlite:${join(folder, "gateway.db")}`;
    const bearers = await seed(store);
    await calls(bench, store, bearers);
    await signed(bench);
    await logins(bench, `sqlite:${join(folder, "logins.db")}`);
    await size(bench, store);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function calls(bench, store, bearers) {
  const upstream = await bench.upstream();
  const key = "bench-key-of-the-config-0123456789";
  const gateway = await bench.gateway({
    ...configOf(store),
    servers: { upstream: { url: `http://127.0.0.1:${upstream.port}/mcp` } },
    endpoints: { mcp: { path: "/mcp", servers: ["upstream"], naming: "none" } },
    auth: { keys: { bench: { role: "caller", hash: `sha256:${digest(key)}` } } },
  });
  const drive = (bearer) => () =>
    bench.drive(gateway, {
      dialect: "modern",
      call: "echo",
      connections: 16,
      authorization: `Bearer ${bearer}`,
    });
  const cells = { key: drive(key), opaque: drive(bearers.opaque), team: drive(bearers.jwt) };
  const samples = await bench.interleave("relayed call by credential", cells);
  for (const name of ["opaque", "team"]) {
    bench.ratio(`auth_cpu_${name}`, samples[name], samples.key, "cpu");
    more(bench, name, samples);
  }
  await bench.release([upstream, gateway]);
}

/** Microseconds that a call of a holder costs more than one with a key of the config. */
function more(bench, name, samples) {
  bench.figure(
    `auth_us_${name}`,
    samples[name].map(({ cpu }, round) => cpu - samples.key[round].cpu),
  );
}

/** The same with signed tokens of an issuer, which were seen before: by auth.jwt, and by oauth-resource. */
async function signed(bench) {
  const issuer = await startTokenIssuer();
  const upstream = await bench.upstream();
  const key = "bench-key-of-the-config-0123456789";
  const aud = "https://gateway.example/mcp";
  const { jwks } = issuer;
  const gateway = await bench.gateway({
    publicUrl: "https://gateway.example",
    servers: { upstream: { url: `http://127.0.0.1:${upstream.port}/mcp` } },
    endpoints: { mcp: { path: "/mcp", servers: ["upstream"], naming: "none" } },
    auth: {
      keys: { bench: { role: "caller", hash: `sha256:${digest(key)}` } },
      jwt: { jwks, issuer: "https://own.example", audience: aud },
    },
    plugins: { "oauth-resource": { issuers: { idp: { issuer: "https://idp.example", jwks } } } },
  });
  const drive = (bearer) => () =>
    bench.drive(gateway, {
      dialect: "legacy",
      call: "echo",
      connections: 16,
      authorization: `Bearer ${bearer}`,
    });
  const samples = await bench.interleave("relayed call by signed token", {
    key: drive(key),
    jwt: drive(await issuer.sign({ iss: "https://own.example", aud, role: "caller" })),
    oauth: drive(await issuer.sign({ iss: "https://idp.example", aud })),
  });
  for (const name of ["jwt", "oauth"]) more(bench, name, samples);
  await bench.release([upstream, gateway]);
  issuer.close();
}

/** A call with the account of its principal at the server, over the same call of a server that wants none. */
async function logins(bench, store) {
  const upstream = await bench.upstream();
  const url = `http://127.0.0.1:${upstream.port}/mcp`;
  const key = "bench-key-of-the-config-0123456789";
  await connect(store, url);
  const gateway = await bench.gateway({
    store,
    listeners: { main: { port: 0 } },
    plugins: { "oauth-client": { secretKeys: [SECRET_KEY] } },
    servers: { plain: { url }, own: { url, auth: { type: "oauth", per: "principal" } } },
    endpoints: {
      plain: { path: "/plain", servers: ["plain"], naming: "none" },
      own: { path: "/own", servers: ["own"], naming: "none" },
    },
    auth: { keys: { bench: { role: "caller", hash: `sha256:${digest(key)}` } } },
  });
  const drive = (path) => () =>
    bench.drive(gateway, {
      path,
      dialect: "modern",
      call: "echo",
      connections: 16,
      authorization: `Bearer ${key}`,
    });
  const cells = { plain: drive("/plain"), own: drive("/own") };
  const samples = await bench.interleave("relayed call by account at the server", cells);
  bench.ratio("auth_cpu_account", samples.own, samples.plain, "cpu");
  await bench.release([upstream, gateway]);
}

/** Puts the tokens of an account into the store, as a login leaves them there. */
async function connect(store, url) {
  const { createGateway, definePlugin } = await import("../../../dist/core/index.js");
  const { Fernet } = await import("../../../dist/core/kit.js");
  const { Store, storeKey } = await import("../../../dist/core/store.js");
  const tokens = {
    access: "t".repeat(1_000),
    at: Date.now(),
    scopes: [],
    issuer: "https://login.example",
    resource: url,
    client: { id: "bench" },
  };
  const sealed = new Fernet([SECRET_KEY]).seal(JSON.stringify(tokens));
  const plugin = definePlugin({
    name: "oauth-client",
    inject: { store: Store },
    setup: (gateway) =>
      gateway.onStart(async () => {
        const key = storeKey("principal key:bench", "own", url);
        await gateway.services.store.kv("tokens").put(key, { sealed });
      }),
  });
  const sqlite = (await import("../../../dist/plugins/sqlite/index.js")).default;
  const plugins = { "oauth-client": plugin, sqlite };
  const config = {
    store,
    listeners: { main: { port: 0 } },
    log: { level: "error" },
    plugins: { "oauth-client": {} },
  };
  const gateway = await createGateway(config, { plugins });
  await gateway.listen();
  await gateway.close({ grace: 0 });
}

/** Ready with so many tokens and teams, and what they take. */
async function size(bench, store) {
  const started = async () => {
    const gateway = await bench.gateway(configOf(store));
    await gateway.stop();
    return gateway.startWall;
  };
  await started();
  const empty = await started();
  await seed(store, fill);
  await started();
  bench.figure("auth_start_full_ms", [await started()]);
  bench.figure("auth_start_empty_ms", [empty]);
  const measured = await bench.target("snapshot", configOf(store), {
    core: 0,
    flags: ["--expose-gc"],
  });
  const { result } = await measured.ask({ command: "measure" });
  await measured.stop();
  bench.figure("auth_snapshot_mb", [result.bytes / 2 ** 20]);
  bench.figure("auth_snapshot_load_ms", [result.ms]);
}

async function fill(db) {
  const at = new Date().toISOString();
  const many = (count, make) => Array.from({ length: count }, (_each, index) => make(index));
  await insert(
    db,
    "library",
    many(WORKSPACES, (index) => ({
      uid: `library-${index}`,
      name: `Library ${index}`,
      workspace_id: `ws-${index}`,
      created_at: at,
    })),
  );
  await insert(
    db,
    "token",
    many(TOKENS, (index) => ({
      id: index.toString(36).padStart(8, "0"),
      user: "ada",
      name: `Token ${index}`,
      prefix: "ppt_",
      hash: digest(String(index)),
      active: 1,
      created_at: at,
    })),
  );
  await insert(
    db,
    "token_library",
    many(TOKENS * 2, (index) => ({
      token: (index >> 1).toString(36).padStart(8, "0"),
      library_uid: `library-${((index >> 1) * 7 + (index & 1)) % WORKSPACES}`,
      position: index & 1,
    })),
  );
  await insert(
    db,
    "team",
    many(TEAMS, (index) => ({
      id: `a3f10000-0000-4000-9000-${index.toString(16).padStart(12, "0")}`,
      name: `Team ${index}`,
      active: 1,
      active_jti: crypto.randomUUID(),
      created_at: at,
      updated_at: at,
    })),
  );
  await insert(
    db,
    "team_workspace",
    many(TEAMS, (index) => ({
      team: `a3f10000-0000-4000-9000-${index.toString(16).padStart(12, "0")}`,
      workspace_id: `ws-${index % WORKSPACES}`,
      created_at: at,
    })),
  );
}

async function insert(db, table, rows) {
  await db.transaction().execute(async (trx) => {
    for (let begin = 0; begin < rows.length; begin += BATCH)
      await trx
        .insertInto(table)
        .values(rows.slice(begin, begin + BATCH))
        .execute();
  });
}
