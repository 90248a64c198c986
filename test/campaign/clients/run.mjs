/**
 * npm run campaign -- clients
 *
 * Official SDKs and agent frameworks in their real loops against the gateway, and servers of the SDKs behind it. Installs
 * from the registries into a folder of its own. `CLIENTS_ONLY=client:go,rust` tries some of them, `CLIENTS_RESTART=SIGKILL` kills the
 * gateway where it would restart it. What each row saw is kept beside
 * what was installed; docs/reference/compatibility.md is written from the last results as soon as every row has one.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { CELLS, CLIENTS, clientRow, SERVED, serverRow, SERVERS } from "./catalogue.mjs";
import { KEY, startGateway } from "./gateway.mjs";
import { here, install } from "./install.mjs";
import { keep, writeMatrix } from "./matrix.mjs";
import { startScriptedModel } from "./model.mjs";

const LIMIT_MS = 300_000;
const only = process.env.CLIENTS_ONLY?.split(",");
const chosen = (list, kind) =>
  list.filter(({ id }) => !only || only.includes(id) || only.includes(`${kind}:${id}`));

/** How the gateway ends before it starts again: SIGTERM, or SIGKILL for a crash. */
const RESTART = process.env.CLIENTS_RESTART ?? "SIGTERM";

/** Runs a client's program; `gateway.restart()` whenever it asks for it. Resolves with its cells. */
async function runClient(command, env, gateway) {
  const child = spawn(command[0], command.slice(1), {
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", process.env.CLIENTS_VERBOSE ? "inherit" : "ignore"],
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
  const cells = {};
  for await (const line of createInterface({ input: child.stdout })) {
    let told;
    try {
      told = JSON.parse(line);
    } catch {
      continue; // Frameworks print what they like.
    }
    if (told.cell) cells[told.cell] = told;
    if (told.restart) {
      await gateway.restart(RESTART);
      child.stdin.write("go on\n");
    }
  }
  clearTimeout(timer);
  return cells;
}

function report(label, cells) {
  const line = CELLS.map((cell) => `${cell}: ${cells[cell]?.result ?? "-"}`).join(", ");
  console.log(`${label}: ${line}`);
  for (const { cell, result, detail } of Object.values(cells))
    if (result === "no") console.log(`  ${cell}: ${detail}`);
}

const demo = { demo: { command: process.execPath, args: [`${here}node/server-1.mjs`, "stdio"] } };

async function tryClients(model) {
  for (const client of chosen(CLIENTS, "client")) {
    const command = install(client);
    const gateway = await startGateway({ servers: demo, model });
    const env = {
      GATEWAY_URL: gateway.url,
      GATEWAY_KEY: KEY,
      MODEL_URL: model.url,
      AGENT_CARD_URL: gateway.card,
    };
    const cells = await runClient(
      [
        ...command,
        ...(client.language === "python" || client.language === "node" ? [] : ["client"]),
      ],
      env,
      gateway,
    );
    await gateway.close();
    keep("client", clientRow(client), cells);
    report(client.label, cells);
  }
}

/** Each server behind the gateway, used by the TypeScript SDK of either era. */
async function tryServers() {
  for (const server of chosen(SERVERS, "server"))
    for (const [transport, era] of SERVED) await tryServer(server, transport, era);
}

async function tryServer(server, transport, era) {
  const [command, ...args] = install(server);
  const own = server.language === "python" || server.language === "node" ? [] : ["server"];
  const listening =
    transport === "http" ? await listen([command, ...args, ...own, "http"]) : undefined;
  const entry = listening ? { url: listening.url } : { command, args: [...args, ...own, "stdio"] };
  const gateway = await startGateway({ servers: { demo: entry } });
  const client = CLIENTS.find(({ id }) => id === era);
  const env = { GATEWAY_URL: gateway.url, GATEWAY_KEY: KEY };
  const cells = await runClient(install(client), env, gateway);
  await gateway.close();
  listening?.child.kill();
  const row = serverRow(server, transport, era);
  keep("server", row, cells);
  report(row, cells);
}

/** Starts a server over HTTP; it prints `{"url": ...}`. */
async function listen([command, ...args]) {
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", process.env.CLIENTS_VERBOSE ? "inherit" : "ignore"],
  });
  for await (const line of createInterface({ input: child.stdout }))
    if (line.startsWith("{")) return { child, url: JSON.parse(line).url };
  throw new Error(`${command} printed no URL.`);
}

const model = await startScriptedModel();
await tryClients(model);
await tryServers();
await model.close();
writeMatrix();
