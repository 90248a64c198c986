/** Other gateways from npm, measured when test/bench/peers is installed. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Process, freePort } from "./process.mjs";

const FOLDER = fileURLToPath(new URL("peers/", import.meta.url));

/** Installs the peers; they stay out of our own lockfile. */
export function installPeers() {
  const { status } = spawnSync("npm", ["install", "--no-package-lock", "--ignore-scripts"], {
    cwd: FOLDER,
    stdio: "inherit",
  });
  if (status !== 0)
    throw new Error("npm install in test/bench/peers failed; run the benchmark without --peers");
}

/** Name and version of every peer that is installed. */
export function peerVersions() {
  const names = ["mcp-hub", "mcp-proxy", "supergateway"].filter((name) =>
    existsSync(join(FOLDER, "node_modules", name)),
  );
  return Object.fromEntries(names.map((name) => [name, manifest(name).version]));
}

function manifest(name) {
  return JSON.parse(readFileSync(join(FOLDER, "node_modules", name, "package.json"), "utf8"));
}

function program(name) {
  const { bin } = manifest(name);
  return join(FOLDER, "node_modules", name, typeof bin === "string" ? bin : bin[name]);
}

/** mcp-hub in front of an HTTP upstream; `undefined` when it is not installed. */
export async function startHub(_bench, url) {
  if (!peerVersions()["mcp-hub"]) return undefined;
  const home = mkdtempSync(join(tmpdir(), "propylon-bench-"));
  const config = join(home, "hub.json");
  writeFileSync(config, JSON.stringify({ mcpServers: { upstream: { url } } }));
  const port = await freePort();
  const args = [program("mcp-hub"), "--port", String(port), "--config", config];
  // It keeps a list of its workspaces in the home folder.
  const hub = await Process.launch(args, {
    port,
    env: { HOME: home, XDG_STATE_HOME: home, XDG_CONFIG_HOME: home },
  });
  await connected(port);
  return hub;
}

/** The hub listens before it has connected its servers. */
async function connected(port) {
  for (let attempt = 0; attempt < 200; attempt++) {
    const { servers = [] } = await (await fetch(`http://127.0.0.1:${port}/api/servers`)).json();
    if (servers.some(({ status }) => status === "connected")) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("mcp-hub did not connect to the upstream");
}

/** supergateway and mcp-proxy in front of a stdio upstream, each where installed. */
export async function startStdioPeers(_bench, command) {
  const versions = peerVersions();
  const started = {};
  if (versions["supergateway"]) {
    const flags = [
      "--stdio",
      command.join(" "),
      "--outputTransport",
      "streamableHttp",
      "--stateful",
      "--logLevel",
      "none",
    ];
    started["supergateway --stateful"] = await launch("supergateway", flags);
  }
  if (versions["mcp-proxy"])
    started["mcp-proxy"] = await launch("mcp-proxy", [], ["--", ...command]);
  return started;
}

async function launch(name, flags, rest = []) {
  const port = await freePort();
  return Process.launch([program(name), "--port", String(port), ...flags, ...rest], { port });
}
