/** Other gateways, measured where they are installed below test/bench/peers. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { install } from "./installs.mjs";
import { PEERS } from "./peer-list.mjs";
import { Process, freePort } from "./process.mjs";

/** Installs what is not there, one after the other. @returns why what still is not there is not, by name */
export function installPeers(log) {
  const absent = {};
  for (const [name, peer] of Object.entries(PEERS)) {
    log(`peers: ${name}`);
    const reason = install(peer.install);
    if (reason) absent[name] = reason;
  }
  return absent;
}

/** Version of every peer that is installed, by name. */
export function peerVersions() {
  const versions = Object.entries(PEERS).map(([name, peer]) => [name, peer.install.version()]);
  return Object.fromEntries(versions.filter(([, version]) => version !== undefined));
}

/** Names of the installed peers that stand in front of an HTTP server. */
export function httpPeers() {
  return Object.keys(peerVersions()).filter((name) => PEERS[name].http);
}

/**
 * Starts a peer in front of an HTTP server; `ready` once it listens, which is before most have connected their servers.
 * @returns the process, and how the load generator reaches the echo tool
 */
export async function startHttpPeer(name, url) {
  const { http, install: way } = PEERS[name] ?? {};
  if (!http) throw new Error("no gateway of this name in front of an HTTP server is known");
  if (way.version() === undefined) throw new Error("not installed; --peers installs it");
  const home = mkdtempSync(join(tmpdir(), "propylon-bench-"));
  const [port, file] = [await freePort(), join(home, "config.json")];
  const { args, config, env } = http.start({ port, url, file, home });
  if (config) writeFileSync(file, JSON.stringify(config));
  const target = await launch(way, args, { port, home, env });
  await furnish(target, http, url);
  return { target, call: { dialect: "legacy", call: "peerEcho", path: "/mcp", ...http.call } };
}

async function furnish(target, http, url) {
  try {
    await http.furnish?.(target.port, url);
  } catch (error) {
    await target.stop();
    throw error;
  }
}

/** Peers in front of a stdio server, each where installed. */
export async function startStdioPeers(command) {
  const started = {};
  for (const name of Object.keys(peerVersions())) {
    const { stdio, install: way } = PEERS[name];
    if (!stdio) continue;
    const port = await freePort();
    started[name] = await launch(way, stdio(port, command), { port });
  }
  return started;
}

function launch(way, args, options) {
  const [program, ...first] = way.command();
  return Process.launch([...first, ...args], { ...options, program });
}
