import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import module from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { optionsIn } from "../dress.mjs";
import { Process, freePort } from "../process.mjs";

const CLI = fileURLToPath(new URL("../../../dist/plugins/cli.js", import.meta.url));

/** What a hub has, as in production: the file of a build is measured with plugins in it, since they are what it is made for. */
const TEN = { ...optionsIn("", ""), gating: {}, health: {}, progress: {} };
/** What cannot start without more: a database, or a server of messages. */
const AWAY = ["nats", "postgres", "redis"];
/** What the others need to be set up; nobody listens there. */
const NOBODY = "http://127.0.0.1:9";
const OPTIONS = {
  ...TEN,
  oauth: {
    provider: { issuer: NOBODY, clientId: "bench", clientSecret: "bench" },
    roles: { caller: "everyone" },
  },
  "team-auth": { secretKeys: ["bench-secret-key-0123456789-0123456789"] },
};

/**
 * Start-up until it accepts connections, of `propylon start` without plugins, with ten, and with all and SQLite, and of the one file
 * of `propylon build` with ten, against a Node process that does nothing. With one HTTP server. Where Node keeps what it compiled
 * (22.8 and later), the file is started once more as our images start it. With `--before`, beside all of earlier code.
 */
export async function start(bench) {
  const upstream = await bench.upstream();
  const folder = mkdtempSync(join(tmpdir(), "propylon-bench-"));
  const config = join(folder, "gateway.json");
  const write = (port, rest) => {
    const servers = { upstream: { url: `http://127.0.0.1:${upstream.port}/mcp` } };
    const log = { level: "warn" };
    writeFileSync(config, JSON.stringify({ listeners: { main: { port } }, servers, log, ...rest }));
  };
  const ten = { plugins: TEN };
  const all = { plugins: allPlugins(), store: `sqlite:${join(folder, "start.db")}` };
  write(0, ten);
  const started = async (args, rest, env) => {
    const port = await freePort();
    write(port, rest);
    return startOf(Process.launch([...args, config], { port, env }));
  };
  const startsOf = (name, cli) => {
    const server = buildWith(cli, config, join(folder, name));
    return {
      server,
      cells: {
        [`${name} start`]: () => started([cli, "start"], {}),
        [`${name} start, 10 plugins`]: () => started([cli, "start"], ten),
        [`${name} start, all plugins, sqlite`]: () => started([cli, "start"], all),
        [`${name} one-file build, 10 plugins`]: () => started([server], ten),
      },
    };
  };
  const { server, cells } = startsOf("propylon", CLI);
  const { before } = bench.options;
  const earlier = before && startsOf("before", join(before, "dist/plugins/cli.js")).cells;
  const compiled = keepCompiled(server, join(folder, "compiled"));
  const samples = await bench.interleave("start", {
    "empty Node": () => startOf(bench.target("empty", undefined, { execArgv: [] })),
    ...cells,
    ...earlier,
    ...(compiled && {
      "one-file build, compiled before": () => started([server], ten, compiled),
    }),
  });
  const file = samples["propylon one-file build, 10 plugins"];
  bench.ratio("start_vs_node", file, samples["empty Node"], "cpu");
  for (const cell of earlier ? Object.keys(cells) : []) {
    const then = samples[cell.replace("propylon", "before")];
    bench.ratio(`start_before_cpu ${cell}`, samples[cell], then, "cpu");
  }
  const again = samples["one-file build, compiled before"];
  if (again) bench.ratio("start_compiled_vs_node", again, samples["empty Node"], "cpu");
  bench.ratio("start_cli_vs_node", samples["propylon start"], samples["empty Node"], "cpu");
  const many = samples["propylon start, all plugins, sqlite"];
  bench.ratio("start_all_vs_ten", many, samples["propylon start, 10 plugins"], "cpu");
  rmSync(folder, { recursive: true });
  await bench.release([upstream]);
}

/** Every plugin that comes along and starts with nothing beside it. */
function allPlugins() {
  const { exports } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url)));
  const names = Object.keys(exports).flatMap((path) => /^\.\/plugins\/(.+)$/.exec(path)?.[1] ?? []);
  const here = names.filter((name) => !AWAY.includes(name));
  return Object.fromEntries(here.map((name) => [name, OPTIONS[name] ?? {}]));
}

/** Builds a config with a command line. @returns the file */
function buildWith(cli, config, folder) {
  execFileSync(process.execPath, [cli, "build", config, "--out", folder], { stdio: "ignore" });
  return join(folder, "server.mjs");
}

/** Variables of a start that finds what an earlier run of the file has compiled; `undefined` where Node keeps nothing. */
function keepCompiled(server, folder) {
  if (module.enableCompileCache === undefined) return undefined;
  const variables = { NODE_COMPILE_CACHE: folder };
  const env = { ...process.env, ...variables };
  execFileSync(process.execPath, [server, "--help"], { stdio: "ignore", env });
  return variables;
}

/** `cpu` is in microseconds, as in every other row. */
async function startOf(starting) {
  const started = await starting;
  const sample = { wall: started.startWall, cpu: started.startCpu * 1000, rss: started.rss() };
  await started.stop();
  return sample;
}
